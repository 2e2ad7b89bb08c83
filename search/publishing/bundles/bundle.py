"""Bundles: a trained network exported as plain data files, JSON and safetensors. No code in a bundle is run.

    config.json          the trial's config        vocabulary.json  words and characters
    weights.safetensors  the weights of all lanes  tags.json        the labels, in the order of their ids
    metrics.json         counts by split           provenance.json  study, trial, seeds and corpus
    README.md            the model card            manifest.json    size and SHA-256 of the other files

A lane is one seed's copy of the network. Axes of the outputs: R, outputs (always 1, since the lanes of an ensemble give
one common output); T, tokens; U, tags of a sentence; B, sentences.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.data.basis.user_code.files import load_recorded
from skipstack.data.corpora.sources import token_unit
from skipstack.data.formats.characters import in_words
from skipstack.data.formats.format import Unit
from skipstack.data.formats.intents import without_end
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import OUTSIDE, Scheme
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
from skipstack.search.publishing.bundles.checks import (
    CheckedMetrics,
    Provenance,
    Shapes,
    Tags,
    check_extent,
    check_shapes,
    checked,
    validated,
)
from skipstack.search.publishing.bundles.files import WEIGHTS, card_of, parsed, read_files
from skipstack.spaces.trial import TrialConfig

SENTENCES_AT_ONCE = 64
"""The batch size in sentences."""

CPU = torch.device("cpu")

Metrics = dict[str, dict[str, int | float]]
"""The metrics of a network by split and name: the number of ``correct`` tags, the ``total`` number of tags, and the
counts from which the study's measure is computed (``data.tasks.measure.Counts``).
"""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A trained network, or an ensemble, with everything that it needs to annotate text. Users import this class as
    ``skipstack.Model``.

    ``path``: the path of the bundle. ``config``: the trial's config. ``vocabulary``: the words and characters that the
    network knows. ``tags``: the labels that it predicts, in the order of their ids. ``model``: the network.
    ``metrics``: its metrics on dev (unless it was trained on dev) and test. ``provenance``: its study, trial, seeds and
    corpus. ``card``: the model card, in Markdown. ``device``: the device on which it computes.
    """

    path: Path
    config: TrialConfig
    vocabulary: Vocabulary
    tags: tuple[str, ...]
    model: Network
    metrics: Metrics
    provenance: dict[str, Any]
    card: str
    device: torch.device

    @property
    def task(self) -> Task:
        """The task for which the network was trained."""
        return TASKS[self.provenance["task"]]

    @property
    def unit(self) -> Unit:
        """The unit of the tokens of the network's corpus: ``word``, ``character`` or ``text`` (``Unit``)."""
        return token_unit(self.config.data.corpus)

    @property
    def segmentation(self) -> Scheme | None:
        """The scheme by which the tags of characters mark word boundaries; None if tokens are words."""
        return self.provenance["scheme"] if self.unit == "character" else None

    def words(self, tokens: Sequence[str], tags: Sequence[str]) -> list[tuple[str, str]]:
        """Return the words of a tagged sentence, each with its tag (empty if the network only segments text). Tokens
        that are characters are joined into words. ``tokens`` and ``tags`` must have equal lengths.
        """
        segmentation = self.segmentation
        return list(zip(tokens, tags, strict=True)) if segmentation is None else in_words(tokens, tags, segmentation)

    def predict(self, sentences: Iterable[Sequence[str]]) -> list[Sentence]:
        """Annotate sentences (lists of tokens), and return them in the same order with their ``tags``.

        Each token gets a tag. In text classification, the sentence gets a single tag instead, its label. In parsing,
        the tags are relations, and ``heads`` has the number of each token's head (counted from 1; 0 for the root). If
        slots and intents are learned together, ``intent`` is the intent of the sentence. The tags of a language model
        are the next words that it predicts. A CRF or max-margin head can fail to decide, if the label scheme allows no
        sequence of the learnt tags for the sentence, or if a score is no number. The tags are then O, outside of every
        span.

        Raises UserError if ``sentences`` is not iterable, if a sentence is not a list of texts, and if the network
        reads vectors of tokens, which text does not have.
        """
        if not isinstance(sentences, Iterable):
            raise UserError(f"got {shown(sentences)} (allowed: sentences, each a list of tokens)")
        split = []
        for sentence in sentences:
            if isinstance(sentence, str):
                raise UserError(f"got the text {sentence[:40]!r} (allowed: sentences, each a list of tokens)")
            tokens = list(sentence) if isinstance(sentence, Iterable) else [sentence]
            if not all(isinstance(token, str) for token in tokens):
                raise UserError(f"got the sentence {shown(sentence)} (allowed: sentences, each a list of tokens)")
            split.append(tokens)
        return list(self.annotate(split))

    def tag(self, sentences: Iterable[list[str]]) -> Iterator[tuple[list[str], list[str]]]:
        """Annotates sentences like ``annotate``, but yields pairs of tokens and tags, without heads and intents."""
        for sentence in self.annotate(sentences):
            yield list(sentence.words), list(sentence.tags)

    def annotate(self, sentences: Iterable[list[str]]) -> Iterator[Sentence]:
        """Yields the sentences (given as lists of tokens) in the same order, with their tags and, if they are learned,
        heads or the intent. An empty sentence gets no tags, but it gets a label in text classification, or an intent.
        """
        pending = iter(sentences)
        while batch := list(islice(pending, SENTENCES_AT_ONCE)):
            yield from self._annotate_together(batch)

    def tokens(self, sentence: Sequence[str]) -> list[str]:
        """Return the tokens that the network reads of a sentence, with those that its task adds at the end."""
        return [*sentence[: self.config.data.longest], *self.task.ends]

    def read(self, sentences: list[list[str]]) -> tuple[Tokens, LexiconTensors]:
        """Convert sentences, as ``tokens`` returns them, into the network's input: the ids of their words, and the
        features of these words. An empty sentence becomes a single boundary token. Raises UserError if the network also
        reads vectors of tokens.
        """
        if self.model.embedder.reads_vectors:
            raise UserError(
                "the network reads a vector for each token (model.embedder.vector_size), which text has not (allowed: "
                "skipstack verify, which evaluates it on its corpus; or a network with vector_size 0)"
            )
        forms = ("", *dict.fromkeys(word for sentence in sentences for word in sentence))
        ids = {form: place for place, form in enumerate(forms)}
        lengths_B = [max(1, len(sentence)) for sentence in sentences]
        forms_RTB = np.zeros((1, max(lengths_B), len(sentences)), dtype=np.int64)
        for place, sentence in enumerate(sentences):
            forms_RTB[0, : len(sentence), place] = [ids[word] for word in sentence]
        tokens = Tokens(torch.as_tensor(forms_RTB, device=self.device), torch.tensor([lengths_B], device=self.device))
        return tokens, LexiconTensors.on(self.device, lexicon(self.vocabulary, forms, LONGEST_AFFIX))

    def program_inputs(self, sentences: Sequence[Sequence[str]], length: int | None = None) -> dict[str, Tensor]:
        """Convert sentences into the inputs of the program that ``skipstack export --torch-export`` writes
        (``models/views/program.py`` describes the tensors).

        ``length``: the fixed length to which texts are padded; None if the program takes any length.
        """
        return inputs_of(*self.read([self.tokens(sentence) for sentence in sentences]), length)

    @torch.no_grad()
    def _annotate_together(self, sentences: list[list[str]]) -> Iterator[Sentence]:
        decoded = self.model.decode(*self.read([self.tokens(sentence) for sentence in sentences]))
        tags_UB = decoded.tags_RUB[0].tolist()
        heads_TB = None if decoded.heads_RTB is None else decoded.heads_RTB[0].tolist()
        for place, sentence in enumerate(sentences):
            words = (*sentence, *self.task.ends)
            count = 1 if self.task.single_label else len(words)
            ids = [tags_UB[each][place] for each in range(count)]
            tags = tuple(self.tags[tag] if tag >= 0 else OUTSIDE for tag in ids)
            heads = None if heads_TB is None else tuple(heads_TB[each][place] for each in range(count))
            yield without_end(Sentence(words, tags)) if self.task.ends else Sentence(words, tags, heads)

    def measure(self, corpus: PreparedCorpus) -> Metrics:
        """Measure the network on the test split of ``corpus`` and, unless it was trained on dev, also on dev."""
        features = LexiconTensors.on(self.device, corpus.lexicon)
        metrics: Metrics = {}
        for split in ("dev", "test") if self.provenance["trained_on"] == "train" else ("test",):
            evaluation = evaluate(self.model, corpus.stored, split, features, lanes=1)
            counts = evaluation.counts[0].recorded()
            metrics[split] = {"correct": evaluation.correct[0], "total": evaluation.total, **counts}
        return metrics


def load_bundle(path: Path, device: torch.device, code: Sequence[Path] = (), *, reads_corpus: bool = False) -> Bundle:
    """Load the bundle at ``path``, a folder or a .zip, which may be untrusted. No code in it is run, and nothing is
    unpacked.

    ``device``: the device on which the network computes. ``code``: the files of the user's own code, if the network
    needs any. They are run. Their hashes must be those recorded in the bundle. ``reads_corpus``: whether the code of
    the corpus's format is needed and loaded, too.

    Raises UserError, with a message of one line, if there is no bundle, or if a code file is missing or differs from
    the recorded file. Raises it also if a file of the bundle is missing, damaged, invalid, larger than the manifest
    says, or a link out of the bundle (``search/publishing/bundles/files.py``), and for weights that are not finite or
    do not fit the config. Shapes are checked before any weight is allocated.
    """
    files = read_files(path)
    provenance = checked(path, files, "provenance.json", Provenance)
    config, found = _config(path, files)
    load_recorded(config.code if reads_corpus else config.network_code, code)
    try:
        vocabulary = Vocabulary.from_json(files["vocabulary.json"].decode("utf-8"))
    except (UserError, UnicodeDecodeError) as error:
        raise UserError(f"{path / 'vocabulary.json'}: {error}") from None
    tags = checked(path, files, "tags.json", Tags).root
    metrics = checked(path, files, "metrics.json", CheckedMetrics).root
    card = card_of(path, files)
    task = TASKS[provenance.task]
    task.check_cut_off(config.data.minimum_tag_count)
    task.check_longest(config.data.longest)
    dtype = dtype_of(config.training)
    try:
        sizes = Sizes.of(vocabulary, tags, provenance.scheme, task)
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
    return Bundle(path, config, vocabulary, tags, model, metrics, provenance.model_dump(), card, device)


def bundle_config(path: Path) -> TrialConfig:
    """Read the config of an untrusted bundle. Raises UserError if the bundle is damaged or missing."""
    return _config(path, read_files(path))[0]


def _config(path: Path, files: Mapping[str, bytes]) -> tuple[TrialConfig, Shapes]:
    """Read the config and the shapes of the weights. Raises UserError if they are invalid or do not fit together."""
    value = parsed(f"{path / 'config.json'}", files["config.json"])
    found = shapes(files[WEIGHTS], f"{path / WEIGHTS}")
    check_extent(path, value, found)
    return validated(path, "config.json", value, TrialConfig), found


def _shapes(model: Network, lanes: int) -> Shapes:
    """Return the shapes of the weights of ``lanes`` lanes. ``model``: a network with 0 lanes, hence without weights."""
    return {name: (lanes, *weight.shape[1:]) for name, weight in model.state_dict().items()}


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
