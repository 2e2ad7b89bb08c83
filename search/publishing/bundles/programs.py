"""Exports the network of a bundle as a torch program (``torch.export``), and checks that network and program agree.

skipstack writes such files but never reads them, since loading one may run code.

Shapes: R lanes, T tokens, U tags of a sentence, B sentences, K possible tags, F features.
"""

import json
import os
import warnings
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor
from torch.export import ExportedProgram

from skipstack.data.basis.atomic_files import refused_where_unwritable, temporary_folder_beside
from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.store.stored import StoredCorpus
from skipstack.models.views.program import LONGEST, exported, takes_any_length, why_not
from skipstack.search.publishing.bundles.bundle import Bundle
from skipstack.spaces.trial import TrialConfig

SUFFIX = ".pt2"
"""The suffix of a torch program's file."""

NOTES = "skipstack.json"
"""The file in a program's archive with its provenance and the result of the comparison."""

COMPARED = 64
"""The minimum number of sentences of a split (dev or test) on which program and network are compared. A larger split
may contribute up to twice as many; a smaller split contributes all its sentences.
"""

ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-10}
"""The tolerated difference of scores by dtype. It is relative to the score's absolute value, or to 1 if 1 is larger."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramComparison:
    """The result of comparing a program with its network. ``sentences``, ``decisions``: the numbers of compared
    sentences and decisions. ``largest_difference``: the largest difference of scores, relative as in ``ROUNDING``.
    """

    sentences: int
    decisions: int
    largest_difference: float


def check_program(config: TrialConfig, to: Path) -> None:
    """Raise UserError if the network cannot be exported as a program, or if ``to`` is not a new, writable .pt2 file."""
    if to.suffix != SUFFIX:
        raise UserError(f"--torch-export: got {to.name} (allowed: a new file whose name ends in {SUFFIX})")
    with refused_where_unwritable(to):
        if to.exists():
            raise UserError(f"--torch-export: {to}: exists (allowed: a new file)")
        with temporary_folder_beside(to):
            pass  # checks that the folder is writable now, not minutes later
    if (reason := why_not(config.model)) is not None:
        raise UserError(f"--torch-export: {reason}")


def write_program(bundle: Bundle, corpus: StoredCorpus, to: Path) -> ProgramComparison:
    """Export a bundle's network as a program, and compare the program with the network on sentences of ``corpus``. If
    the two agree, the program is written to the new file ``to``. Sentences longer than the program's texts are cut. A
    language model's splits are running text, of which the first ``training.window`` tokens are compared.

    Raises UserError if torch cannot export the network, if decisions or scores differ, and as ``check_program`` does.
    """
    check_program(bundle.config, to)
    config, any_length = bundle.config, takes_any_length(bundle.config.model)
    longest = max(int(split.lengths_S.max()) for split in corpus.splits.values())
    if (cut := config.training.window if bundle.task.continues else config.data.longest) is not None:
        longest = min(longest, cut)
    length = None if any_length else max(2, longest)
    longest = min(longest, LONGEST) if any_length else longest
    ends = len(bundle.task.ends)
    read = [tokens for split in ("dev", "test") for tokens in _sentences(corpus, split)]
    sentences = [tokens[: min(len(tokens), longest) - ends] for tokens in read]
    program = _exported(bundle, sentences, length)
    found = _compared(bundle, program, sentences, length)
    notes = {**bundle.provenance, "torch": torch.__version__, "length": length, "compared": asdict(found)}
    with (
        refused_where_unwritable(to),
        temporary_folder_beside(to) as temporary,
    ):  # torch requires a name that ends in SUFFIX
        torch.export.save(program, temporary / to.name, extra_files={NOTES: json.dumps(notes)})
        os.replace(temporary / to.name, to)
    return found


def _sentences(corpus: StoredCorpus, split: str) -> list[list[str]]:
    """Pick sentences of all lengths from a split, including the shortest and the longest, as the network's tokens."""
    chosen = corpus.splits[split]
    order_S = chosen.lengths_S.argsort(kind="stable").tolist()
    step = max(1, len(order_S) // COMPARED)
    bounds = list(pairwise(chosen.offsets_S1.tolist()))
    picked = [*order_S[::step], order_S[-1]]
    return [[corpus.forms[form] for form in chosen.forms_N[slice(*bounds[place])]] for place in picked]


def _exported(bundle: Bundle, sentences: list[list[str]], length: int | None) -> ExportedProgram:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of torch about its own code
            inputs = bundle.program_inputs(sentences, length)
            return exported(bundle.model, inputs, any_length=length is None)
    except Exception as error:
        raise UserError(f"--torch-export: torch cannot export this network: {one_line(error)[:300]}") from error


@torch.no_grad()
def _compared(
    bundle: Bundle, program: ExportedProgram, sentences: list[list[str]], length: int | None
) -> ProgramComparison:
    """Compare a program with its network on three batches: the first sentence, the last sentence, and all sentences.
    The results must not depend on the batch. ``length``: the fixed length of the program's inputs; None for any length.
    """
    run, decisions, largest = program.module(), 0, 0.0
    for batch in (sentences[:1], sentences[-1:], sentences):
        tokens, lexicon = bundle.read([bundle.tokens(sentence) for sentence in batch])
        features_RUBF, counts_RB = bundle.model.read(tokens, lexicon)
        decoded = bundle.model.head.decode(features_RUBF, counts_RB)
        theirs = {"tags_UB": decoded.tags_RUB[0]}
        if decoded.heads_RTB is not None:
            theirs["heads_TB"] = decoded.heads_RTB[0]
        scores_UBK = bundle.model.head.opinion(features_RUBF, counts_RB)[0]
        ours = run(**bundle.program_inputs(batch, length))
        inside_UB = torch.arange(len(scores_UBK), device=bundle.device).unsqueeze(1) < counts_RB[0]
        inside = int(inside_UB.sum())
        decisions += inside
        for name, values_UB in theirs.items():
            if other := int((ours[name][: len(values_UB)] != values_UB)[inside_UB].sum()):
                raise UserError(f"--torch-export: the program decides otherwise on {other} of {inside} tokens")
        largest = max(largest, _difference(ours["scores_UBK"], scores_UBK, inside_UB))
    if not largest <= ROUNDING[scores_UBK.dtype]:
        raise UserError(f"--torch-export: the program's scores are others, by up to {largest:.1e} of them")
    return ProgramComparison(sentences=len(sentences), decisions=decisions, largest_difference=largest)


def _difference(ours_UBK: Tensor, theirs_UBK: Tensor, inside_UB: Tensor) -> float:
    """Return the largest |ours - theirs| / max(1, |theirs|) over all finite scores. If a score is finite in only one of
    the arrays, return infinity. ``inside_UB``: the mask of the tags that exist.
    """
    steps, _, tags = theirs_UBK.shape
    ours, theirs = ours_UBK[:steps, :, :tags][inside_UB], theirs_UBK[inside_UB]
    finite = theirs.isfinite()
    if not bool((ours.isfinite() == finite).all()):
        return float("inf")
    away = (ours - theirs)[finite].abs() / theirs[finite].abs().clamp_min(1)
    return float(away.max())
