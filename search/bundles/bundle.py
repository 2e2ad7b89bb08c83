"""Bundles: a trained network as files that load anywhere. Data only, JSON and safetensors: loading runs no code.

    config.json          the trial's config        vocabulary.json  words and characters
    weights.safetensors  the weights, lane by lane tags.json        the labels, in the order of their ids
    metrics.json         counts by split           provenance.json  where it comes from
    README.md            the model card            manifest.json    size and SHA-256 of the others

Shapes: R lanes (one: the lanes of an ensemble decide as one), T time, U tags of a sentence, B sentences.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from skipstack.data.basis.code_files import load_recorded
from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.sources import token_unit
from skipstack.data.formats.characters import in_words
from skipstack.data.formats.format import Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme
from skipstack.data.store.features import lexicon
from skipstack.data.store.prepared import PreparedCorpus
from skipstack.data.store.vocabulary import Vocabulary
from skipstack.data.tasks.task import Task
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.model import Network, Tokens
from skipstack.models.networks.trained import trained
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.training.checkpoint import shapes, unpacked
from skipstack.models.training.evaluate import evaluate
from skipstack.models.training.loop import dtype_of
from skipstack.models.views.program import inputs_of
from skipstack.search.bundles.checks import (
    Counts,
    Provenance,
    Shapes,
    Tags,
    check_extent,
    check_shapes,
    checked,
    validated,
)
from skipstack.search.bundles.files import WEIGHTS, parsed, read_files
from skipstack.spaces.trial import TrialConfig

SENTENCES_AT_ONCE = 64
"""Sentences that ``predict`` reads before it answers."""

CPU = torch.device("cpu")

Metrics = dict[str, dict[str, int | float]]
"""By split: ``correct`` tags of ``total``, and what the ranking measure records (``data.tasks.measure.Counts``)."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A trained network with everything it needs to read text: ``skipstack.Model`` is another name of it.

    ``task``: what its tags are of; ``unit``: what a token is; ``metrics``: its counts by split, on dev and test, but
    for a dev that it learnt from; ``provenance``: the study, trial, seeds and corpus that it comes from.
    """

    path: Path
    config: TrialConfig
    vocabulary: Vocabulary
    tags: tuple[str, ...]
    model: Network
    metrics: Metrics
    provenance: dict[str, Any]
    device: torch.device

    @property
    def task(self) -> Task:
        """What its tags are for."""
        return TASKS[self.provenance["task"]]

    @property
    def unit(self) -> Unit:
        """What a token is of the text that it reads: words, or the characters that it finds words in."""
        return token_unit(self.config.data.corpus)

    @property
    def segmentation(self) -> Scheme | None:
        """The scheme in which characters are parts of words; None where tokens are words."""
        return self.provenance["scheme"] if self.unit == "character" else None

    def words(self, tokens: Sequence[str], tags: Sequence[str]) -> list[tuple[str, str]]:
        """The words of a tagged sentence, each with its tag, which is empty where words are found but not tagged."""
        segmentation = self.segmentation
        return list(zip(tokens, tags, strict=True)) if segmentation is None else in_words(tokens, tags, segmentation)

    def predict(self, sentences: Iterable[Sequence[str]]) -> list[Sentence]:
        """Each sentence, given as its tokens, with its ``tags``, in the order they come.

        A tag a token; where texts are classified, a single one, the label; where sentences are parsed, the tags are
        relations, and ``heads`` has the number of each token's head, from 1, or 0 for the root. A language model's
        tags are the words that it expects next. Raises UserError for a text that is not split into tokens.
        """
        split = []
        for sentence in sentences:
            if isinstance(sentence, str):
                raise UserError(f"got the text {sentence[:40]!r} (allowed: sentences, each a list of tokens)")
            split.append(list(sentence))
        return list(self.annotate(split))

    def tag(self, sentences: Iterable[list[str]]) -> Iterator[tuple[list[str], list[str]]]:
        """Each sentence, given as its tokens, with its tags, in the order they come; as ``annotate``, without heads."""
        for sentence in self.annotate(sentences):
            yield list(sentence.words), list(sentence.tags)

    def annotate(self, sentences: Iterable[list[str]]) -> Iterator[Sentence]:
        """Each sentence, given as its tokens, with its tags, and where it is parsed its heads, in the order they come.

        An empty one has no tags; where texts are classified, each has one.
        """
        pending = iter(sentences)
        while batch := list(islice(pending, SENTENCES_AT_ONCE)):
            yield from self._annotate_together(batch)

    def read(self, sentences: list[list[str]]) -> tuple[Tokens, LexiconTensors]:
        """Sentences as the network takes them, with the features of their words; an empty one is its boundary."""
        forms = ("", *dict.fromkeys(word for sentence in sentences for word in sentence))
        ids = {form: place for place, form in enumerate(forms)}
        lengths_B = [max(1, len(sentence)) for sentence in sentences]
        forms_RTB = np.zeros((1, max(lengths_B), len(sentences)), dtype=np.int64)
        for place, sentence in enumerate(sentences):
            forms_RTB[0, : len(sentence), place] = [ids[word] for word in sentence]
        tokens = Tokens(torch.as_tensor(forms_RTB, device=self.device), torch.tensor([lengths_B], device=self.device))
        return tokens, LexiconTensors.on(self.device, lexicon(self.vocabulary, forms, LONGEST_AFFIX))

    def program_inputs(self, sentences: Sequence[Sequence[str]], length: int | None = None) -> dict[str, Tensor]:
        """What the program that ``skipstack export --torch-export`` writes of this network reads of ``sentences``.

        ``length``: that of the program, if it has one: texts are padded to it. (The tensors:
        ``models/views/program.py``.)
        """
        longest = self.config.data.longest
        return inputs_of(*self.read([list(sentence[:longest]) for sentence in sentences]), length)

    @torch.no_grad()
    def _annotate_together(self, sentences: list[list[str]]) -> Iterator[Sentence]:
        longest = self.config.data.longest
        decoded = self.model.decode(*self.read([sentence[:longest] for sentence in sentences]))
        tags_UB = decoded.tags_RUB[0].tolist()
        heads_TB = None if decoded.heads_RTB is None else decoded.heads_RTB[0].tolist()
        for place, sentence in enumerate(sentences):
            count = 1 if self.task.single_label else len(sentence)
            tags = tuple(self.tags[tags_UB[each][place]] for each in range(count))
            heads = None if heads_TB is None else tuple(heads_TB[each][place] for each in range(count))
            yield Sentence(tuple(sentence), tags, heads)

    def measure(self, corpus: PreparedCorpus) -> Metrics:
        """What it reaches on dev and test of the corpus that it was trained on; not on a dev that it learnt from."""
        features = LexiconTensors.on(self.device, corpus.lexicon)
        metrics: Metrics = {}
        for split in ("dev", "test") if self.provenance["trained_on"] == "train" else ("test",):
            evaluation = evaluate(self.model, corpus.stored, split, features, lanes=1)
            counts = evaluation.counts[0].recorded()
            metrics[split] = {"correct": evaluation.correct[0], "total": evaluation.total, **counts}
        return metrics


def load_bundle(path: Path, device: torch.device, code: Sequence[Path] = ()) -> Bundle:
    """The bundle at ``path``, a folder or a .zip, of whoever. Nothing in it is run or unpacked.

    A network with pieces of one's own needs the ``code`` that they come from, which is run: the very files that the
    bundle names by their hashes.

    Raises UserError, one line, where these are not given, where there is no bundle, where a file is missing, damaged,
    larger than announced or leads elsewhere (``search/bundles/files.py``), and where weights do not fit the config:
    found by their shapes, before anything is allocated.
    """
    files = read_files(path)
    provenance = checked(path, files, "provenance.json", Provenance)
    config, found = _config(path, files)
    load_recorded(config.network_code, code)
    try:
        vocabulary = Vocabulary.from_json(files["vocabulary.json"].decode("utf-8"))
    except (UserError, UnicodeDecodeError) as error:
        raise UserError(f"{path / 'vocabulary.json'}: {error}") from None
    tags = checked(path, files, "tags.json", Tags).root
    metrics = checked(path, files, "metrics.json", Counts).root
    task = TASKS[provenance.task]
    task.check_cut_off(config.data.minimum_tag_count)
    task.check_longest(config.data.longest)
    sizes = Sizes.of(vocabulary, tags, provenance.scheme, task)
    dtype = dtype_of(config.training)
    try:
        empty = build(config.model, sizes=sizes, lanes=[], dtype=dtype, device=CPU)[0]
        check_shapes(found, _shapes(empty, len(provenance.seeds)))
        weights = unpacked(files[WEIGHTS], f"{path / WEIGHTS}")
        model = trained(config.model, sizes=sizes, weights=weights, dtype=dtype, device=device)
    except UserError:
        raise
    except (RuntimeError, ValueError, MemoryError) as error:
        raise UserError(f"{path}: the weights do not fit the config ({_first_line(error)})") from None
    if not all(bool(torch.isfinite(weight).all()) for weight in weights.values()):
        raise UserError(f"{path / WEIGHTS}: got a weight that is no number (allowed: finite ones)")
    return Bundle(path, config, vocabulary, tags, model, metrics, provenance.model_dump(), device)


def bundle_config(path: Path) -> TrialConfig:
    """The config of the bundle at ``path``, of whoever; no network is built. Raises UserError as ``load_bundle``."""
    return _config(path, read_files(path))[0]


def _config(path: Path, files: Mapping[str, bytes]) -> tuple[TrialConfig, Shapes]:
    """The config, and the shapes of the weights, by which it is no larger than it says."""
    value = parsed(f"{path / 'config.json'}", files["config.json"])
    found = shapes(files[WEIGHTS], f"{path / WEIGHTS}")
    check_extent(path, value, found)
    return validated(path, "config.json", value, TrialConfig), found


def _shapes(model: Network, lanes: int) -> Shapes:
    """Those of the weights of so many lanes, of a network of none: nothing was allocated for it."""
    return {name: (lanes, *weight.shape[1:]) for name, weight in model.state_dict().items()}


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
