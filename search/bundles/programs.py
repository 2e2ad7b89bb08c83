"""The network of a bundle as a program of torch's own, held against the network before it is written.

Nothing of skipstack reads such a file: loading one may run code of whoever wrote it, as loading a bundle never does.

Shapes: T time, U tags of a sentence, B sentences, K tags.
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

from skipstack.data.basis.atomic_files import temporary_folder_beside
from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.store.stored import StoredCorpus
from skipstack.models.views.program import exported, takes_any_length, why_not
from skipstack.search.bundles.bundle import Bundle
from skipstack.spaces.trial import TrialConfig

SUFFIX = ".pt2"

NOTES = "skipstack.json"
"""The file in a program's archive that says what it is of."""

COMPARED = 64
"""Sentences of dev, and of test, on which it is held against the network."""

ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-10}
"""By how much of it, and of 1 at least, a score may be another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What the program and the network were compared on, and by how much their scores differ at most."""

    sentences: int
    decisions: int
    largest_difference: float


def check_program(config: TrialConfig, to: Path) -> None:
    """Raise UserError where a network of this config cannot be a program, or none can be written ``to`` a new file."""
    if to.suffix != SUFFIX:
        raise UserError(f"--torch-export: got {to.name} (allowed: a new file whose name ends in {SUFFIX})")
    if to.exists():
        raise UserError(f"--torch-export: {to}: exists (allowed: a new file)")
    if (reason := why_not(config.model)) is not None:
        raise UserError(f"--torch-export: {reason}")


def write_program(bundle: Bundle, corpus: StoredCorpus, to: Path) -> Comparison:
    """Write the program of a bundle's network ``to`` a new file, once it decides as the network does on ``corpus``.

    Raises UserError where torch cannot export the network, and where the program decides otherwise.
    """
    check_program(bundle.config, to)
    any_length = takes_any_length(bundle.config.model)
    length = None if any_length else max(2, *(int(split.lengths_S.max()) for split in corpus.splits.values()))
    if length is not None and bundle.config.data.longest is not None:
        length = max(2, min(length, bundle.config.data.longest))
    sentences = [each for split in ("dev", "test") for each in _sentences(corpus, split)]
    program = _exported(bundle, sentences, length)
    found = _compared(bundle, program, sentences, length)
    notes = {**bundle.provenance, "torch": torch.__version__, "length": length, "compared": asdict(found)}
    with temporary_folder_beside(to) as temporary:  # torch wants a name that ends in SUFFIX
        torch.export.save(program, temporary / to.name, extra_files={NOTES: json.dumps(notes)})
        os.replace(temporary / to.name, to)
    return found


def _sentences(corpus: StoredCorpus, split: str) -> list[list[str]]:
    """Some of a split, of all lengths that it has, the shortest and the longest one among them."""
    chosen = corpus.splits[split]
    order_S = chosen.lengths_S.argsort(kind="stable").tolist()
    step = max(1, len(order_S) // COMPARED)
    bounds = list(pairwise(chosen.offsets_S1.tolist()))
    picked = [*order_S[::step], order_S[-1]]
    return [[corpus.forms[form] for form in chosen.forms_N[slice(*bounds[place])]] for place in picked]


def _exported(bundle: Bundle, sentences: list[list[str]], length: int | None) -> ExportedProgram:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, of its own code
            inputs = bundle.program_inputs(sentences, length)
            return exported(bundle.model, inputs, any_length=length is None)
    except Exception as error:
        raise UserError(f"--torch-export: torch cannot export this network: {one_line(error)[:300]}") from error


@torch.no_grad()
def _compared(bundle: Bundle, program: ExportedProgram, sentences: list[list[str]], length: int | None) -> Comparison:
    """Sentence by sentence and all together: a program may not depend on what it is given at once."""
    run, decisions, largest = program.module(), 0, 0.0
    for batch in (sentences[:1], sentences[-1:], sentences):
        tokens, lexicon = bundle.read(batch)
        features_RUBF, counts_RB = bundle.model.read(tokens, lexicon)
        decoded = bundle.model.head.decode(features_RUBF, counts_RB)
        theirs = {"tags_UB": decoded.tags_RUB[0]}
        if decoded.heads_RTB is not None:
            theirs["heads_TB"] = decoded.heads_RTB[0]
        scores_UBK = bundle.model.head.opinion(features_RUBF, counts_RB)[0]
        ours = run(**bundle.program_inputs(batch, length))
        inside_UB = torch.arange(len(scores_UBK), device=bundle.device).unsqueeze(1) < counts_RB[0]
        decisions += int(inside_UB.sum())
        for name, values_UB in theirs.items():
            if other := int((ours[name][: len(values_UB)] != values_UB)[inside_UB].sum()):
                raise UserError(f"--torch-export: the program decides otherwise on {other} of {decisions} tokens")
        largest = max(largest, _difference(ours["scores_UBK"], scores_UBK, inside_UB))
    if not largest <= ROUNDING[scores_UBK.dtype]:
        raise UserError(f"--torch-export: the program's scores are others, by up to {largest:.1e} of them")
    return Comparison(sentences=len(sentences), decisions=decisions, largest_difference=largest)


def _difference(ours_UBK: Tensor, theirs_UBK: Tensor, inside_UB: Tensor) -> float:
    """The largest of |ours - theirs| / max(1, |theirs|), among those that are finite, of all sentences."""
    steps, _, tags = theirs_UBK.shape
    ours, theirs = ours_UBK[:steps, :, :tags][inside_UB], theirs_UBK[inside_UB]
    finite = theirs.isfinite()
    if not bool((ours.isfinite() == finite).all()):
        return float("inf")
    away = (ours - theirs)[finite].abs() / theirs[finite].abs().clamp_min(1)
    return float(away.max())
