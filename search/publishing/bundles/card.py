"""Writes the model card of a bundle: the task, scores, corpus and limits of its network."""

from collections.abc import Iterator, Sequence

from skipstack.data.basis.printable import visible
from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.corpora.named import find_card
from skipstack.data.formats.format import FileCorpus
from skipstack.data.formats.own_reader import OwnFormatCorpus
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmed import Confirmed
from skipstack.search.publishing.bundles.bundle import Bundle


def model_card(
    bundle: Bundle,
    measure: Measure,
    *,
    scored: int,
    searched: Sequence[float],
    confirmed: Sequence[Confirmed],
    given_epochs: int | None = None,
) -> str:
    """Return the model card of a network's bundle, in Markdown.

    ``measure``: the measure by which the study ranks trials. ``scored``: the number of trials with a score, from which
    the network's trial was chosen. ``searched``: the dev scores of this trial's seeds in the search. ``confirmed``: the
    confirmed scores of its config. ``given_epochs``: the number of epochs of a retraining; None if it trained each
    seed up to its best epoch in the search, or if the network was not retrained.
    """
    retrained, several = bundle.provenance["trained_on"] != "train", len(bundle.provenance["seeds"]) > 1
    lines = [*_what(bundle), "## Figures", ""]
    lines += [f"- {split}: {measure.described(counts)}." for split, counts in bundle.metrics.items()]
    lines.append("")
    if retrained:
        lines += _of_retrained(measure, scored, searched, given_epochs, several=several)
    else:
        lines += _of_chosen(scored, several=several)
    what = ("one network of this config" if several else "this config") + ", trained on train alone" * retrained
    lines += [
        each.in_words(measure, what, f"the test split of {visible(each.corpus)}", ".2f") for each in confirmed
    ] or ["Nothing of this config is confirmed: `skipstack ablate` would train it with fresh seeds."]
    return "\n".join([*lines, "", *_data(bundle), *_limits(bundle)])


def _what(bundle: Bundle) -> Iterator[str]:
    origin = bundle.provenance
    yield f"# {visible(origin['study'])}, trial {origin['trial']}"
    yield ""
    yield f"Task: {bundle.task.name.replace('_', ' ')}; it reads {_read(bundle)}."
    made = [f"seed {seed}, after epoch {epoch}" for seed, epoch in zip(origin["seeds"], origin["epochs"], strict=True)]
    yield f"Made by skipstack {origin['code_version']}: {'; '.join(made)}."
    if len(made) > 1:
        yield f"It is an ensemble of these {len(made)} networks, which decide as one: {_joined(bundle)}."
    yield "`skipstack draw BUNDLE` draws the network, `skipstack predict BUNDLE` uses it, and `skipstack verify BUNDLE`"
    yield "measures it again. The files are data: loading them runs no code."
    yield ""


def _joined(bundle: Bundle) -> str:
    """Return the end of the card's sentence on how an ensemble's networks are combined."""
    match bundle.config.model.head.kind:
        case "softmax":
            return "the mean of their likelihoods does"
        case "biaffine":
            return "the mean of their scores of arcs and of relations does"
        case _:
            return "the mean of their scores of a whole tagging does"


def _of_chosen(scored: int, *, several: bool) -> Iterator[str]:
    own = "the networks of all seeds of its trial" if several else "this one network, the best seed of its trial on dev"
    yield f"They are counts of {own}, and have no interval. The trial was"
    yield f"chosen on dev out of {scored} with a score: its figure on dev is too good by what the choice gained."


def _of_retrained(
    measure: Measure, scored: int, searched: Sequence[float], given_epochs: int | None, *, several: bool
) -> Iterator[str]:
    mean = measure.factor * sum(searched) / len(searched)
    seeds = "its one seed" if len(searched) == 1 else f"the mean of its {len(searched)} seeds"
    yield f"The {'networks were' if several else 'network was'} trained again on train and dev together, for as many"
    which = "were best in the search" if given_epochs is None else f"the export asked for ({given_epochs})"
    yield f"epochs as {which} and at their learning rates. Nothing was chosen by what came out: the"
    yield "figure on test is its own, without an interval. On dev, which was learnt from, there is the search's alone."
    yield f"Trained on train alone, the trial reached {measure.label} {mean:.2f} there, {seeds}. It was chosen on dev"
    yield f"out of {scored} with a score: that figure is too good by what the choice gained."


def _data(bundle: Bundle) -> Iterator[str]:
    yield "## Corpus"
    yield ""
    corpus = bundle.config.data.corpus
    match corpus:
        case NamedCorpus():
            card = find_card(corpus.name)
            yield f"- name: {card.name} ({card.about})"
            yield f"- licence: {card.licence}"
            yield f"- origin: {card.origin}"
        case FileCorpus():
            yield f"- files of their owner, in the format {corpus.kind}{_read_by(corpus)}"
            yield "- licence: not known here; whoever passes the network on asks the owner of the files"
        case _:
            yield f"- generated by skipstack: {corpus.kind}"
            yield "- licence: none is needed"
    yield f"- fingerprint: {bundle.provenance['corpus_fingerprint']}"
    yield f"- learnt from: {bundle.provenance['trained_on']}"
    if (vectors := bundle.provenance["vectors_sha256"]) is not None:
        yield f"- pretrained vectors, whose licence is their owner's: SHA-256 {vectors}"
    yield ""


def _read_by(corpus: FileCorpus) -> str:
    """Return the card's clause on the code that reads the user's own corpus format; empty for built-in formats."""
    if not isinstance(corpus, OwnFormatCorpus):
        return ""
    code = corpus.own.code
    return f", which {visible(code.name)} reads, of SHA-256 {code.sha256}: `verify` needs it (`--code`)"


def _limits(bundle: Bundle) -> Iterator[str]:
    yield "## Limits"
    yield ""
    yield "- The figures hold for text like that of the corpus; on other text nothing was measured."
    known = f"{len(bundle.vocabulary.words):,} {_read(bundle)}"
    yield f"- It knows {known}. All others are alike to it, except for their spelling if it reads that."
    yield f"- It always predicts one of its {len(bundle.tags):,} labels (`tags.json`), and never says how sure it is."
    if bundle.provenance["trained_on"] != "train":
        yield "- The labels are those of train: sentences of dev with another one were left out."
    if (longest := bundle.config.data.longest) is not None:
        yield f"- Of a text it reads the first {longest} tokens."
    yield ""


def _read(bundle: Bundle) -> str:
    return "characters" if bundle.unit == "character" else "words"
