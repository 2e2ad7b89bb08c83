"""Shows the inside of a trained network on a typed sentence: ``skipstack inspect`` on a page."""

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from skipstack.dashboards.web.downloads import bundle_file
from skipstack.dashboards.web.elements import code, form, heading, kept, picture, report, select, sentence, text_field
from skipstack.dashboards.web.section import Element, Section
from skipstack.dashboards.web.shared import Shared
from skipstack.dashboards.web.snapshot import Snapshot
from skipstack.dashboards.web.view import View
from skipstack.data.basis.errors import UserError
from skipstack.search.study.record.folder import BEST, StudyFolder

if TYPE_CHECKING:
    from skipstack.search.publishing.bundles.bundle import Bundle


def inspecting(view: View, of: Snapshot, ranked: Sequence[int]) -> Sequence[Section]:
    """The fields for a sentence and a network, and the network's tags, gates, choices and gradients on this sentence.

    ``ranked``: the trials with a score, the best first. Only networks with weights in the study's folder are offered.
    """
    here = [str(number) for number in ranked if _weights(of, number).exists()]
    if not here:
        none = sentence("The weights of the trials are not here.", pale=True)
        return [Section("inspect", lambda: [heading("Inside a network"), none])]
    number, text = view.one("inspect", here[0]), view.one("text")
    fields = form(
        kept(view.without("inspect", "text")),
        select("inspect", "Network of trial", {each: each for each in here}, number),
        text_field("text", "Sentence, words separated by blanks", text, placeholder="the old dogs sleep"),
        name="inspect",
    )
    inside = Section("inside", partial(_inside, view, of, number if number in here else "", text), when="soon")
    return [
        Section("inspect", lambda: [heading("Inside a network"), fields]),
        *([inside] if text.strip() else []),
    ]


def _inside(view: View, of: Snapshot, number: str, text: str) -> Iterator[Element]:
    from skipstack.dashboards.reports.insight import insight_report
    from skipstack.dashboards.reports.pictures import insight_picture
    from skipstack.data.formats.plain_lines import tokens_in
    from skipstack.search.publishing.bundles.inspection import inspected

    if not number:
        yield sentence(f"inspect: got {view.one('inspect')!r} (allowed: a trial with weights in the study's folder)")
        return
    try:
        bundle = _bundle(of, int(number))
        tokens = tokens_in(text, bundle.unit)
        with ONE:
            (predicted,) = bundle.annotate([tokens])
            seen = list(inspected(bundle, [tokens]))
    except UserError as error:
        yield sentence(str(error))
        return
    yield code(bundle.task.written(predicted, bundle.task.forms[0], bundle.segmentation))
    yield report(insight_report(seen), titled=False)
    yield picture(insight_picture.picture(seen), "The network on the sentence, in numbers above")


def _weights(of: Snapshot, number: int) -> Path:
    return StudyFolder(of.path).trial(number) / BEST


def _bundle(of: Snapshot, number: int) -> "Bundle":
    import torch

    from skipstack.search.publishing.bundles.bundle import load_bundle

    def load() -> "Bundle":
        with tempfile.TemporaryDirectory(prefix="skipstack-bundle-") as scratch:
            archive = Path(scratch) / "bundle.zip"
            archive.write_bytes(bundle_file(of, number))
            return load_bundle(archive, torch.device("cpu"))

    weights = _weights(of, number)
    return BUNDLES(weights, load, weights.stat().st_mtime_ns)


BUNDLES: Final = Shared[Path, "Bundle"](4)
"""The networks that were inspected last, by the path of their weights."""

ONE: Final = Lock()
"""Held while a network processes a sentence, since threads share the networks in ``BUNDLES``."""
