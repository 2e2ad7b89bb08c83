"""Pages of results: made from a study and nothing else, and what somebody alters on one does not stay unseen."""

import argparse
import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem
from scipy.stats import t as t_distribution

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.formats.token_vectors import read_token_vectors
from skipstack.search.analysis.confirmation.differences import difference_table
from skipstack.search.ledger import events as ledger_events
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.one_network import network_identity
from skipstack.spaces.space import Space
from tests.benchmarks.schedulers.recording import as_one_file
from tests.pages import ROOT
from tests.results import __main__ as results
from tests.results import windows
from tests.results.coverage import coverage
from tests.results.figures import StudyFigures
from tests.results.inspected import Inspected
from tests.results.kept import Kept, without_times
from tests.results.page import render
from tests.results.printed import PrintedPage, printed
from tests.results.sized import count
from tests.results.source import RESULTS, Source, find_source, read_source, sources

SOURCES = sources()

PAGES = [path for path in sorted(RESULTS.glob("*.md")) if path.stem != "README" and printed(path.stem).was_run]

PAGE = """---
studies:
  echoes:
    - search distance --engine serial --epochs 1 --seeds 2 --trials 2 --set data.corpus.train=64
      --set data.corpus.dev=40 --set data.corpus.test=40
---
# How far back

{% claim echoes["LSTM", 2].test.value >= 0 %}
- A plain layer has {{ echoes["LSTM", 2].test }}, {{ echoes["LSTM", 4].beside(echoes["LSTM", 2]) }} less far, and
  {{ echoes["LSTM", 2].curve | join(", ") }} on dev, under {{ echoes.base.training.epochs }} epoch; the table has
  {{ echoes.row("4", "data.corpus.distance").test }}.
{% endclaim %}

{{ echoes.trend_table("network") }}
{{ echoes.report("--confirmed") }}
"""


DIGITS = """---
studies:
  digits:
    - search gui2019/numbers --engine serial --epochs 1 --seeds 1 --trials 3 --set model.stack.hidden=8
      --set axes.data.corpus=null --set data.corpus.train=40 --set data.corpus.dev=20 --set data.corpus.test=20
inspected:
  digits: [LSTM, lambda 1]
sized: [digits]
---
# Steps back

An epoch and its network: {{ digits["LSTM"].updates }}, {{ digits["LSTM"].millions }}.

{{ digits.watched.norms(10, 1) }}
A skip reads the state asked for in {{ digits.watched.found("lambda 1", 11) }} % of texts.
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The source of a page that was made from nothing."""
    return made_in(tmp_path_factory.mktemp("made"))


def made_in(folder: Path, page: str = PAGE) -> Source:
    path = folder / "sources" / "echo.md"
    path.parent.mkdir()
    path.write_text(page)
    source = read_source(path)
    results.make(source, folder / "runs")
    return source


@contextmanager
def altered(file: Path, content: bytes) -> Iterator[None]:
    kept = file.read_bytes()
    file.write_bytes(content)
    try:
        yield
    finally:
        file.write_bytes(kept)


@pytest.mark.slow
def test_a_page_from_nothing_is_the_same_bit_for_bit_but_for_times(made: Source, tmp_path: Path) -> None:
    both = made, made_in(tmp_path)
    alike = [list(without_times(Kept(each.data("echoes")).events)) for each in both]
    assert alike[0] == alike[1]
    pages = []
    for source, timeless in zip(both, alike, strict=True):
        with altered(source.data("echoes"), as_one_file(timeless)):
            pages.append(render(source).text)
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_a_page_has_the_commands_and_figures_of_its_studies(made: Source) -> None:
    page = made.page.read_text()
    plain, farther = re.findall(r"^\| LSTM \| (.*) \| (.*) \|$", page, re.MULTILINE)[0]
    assert f"A plain layer has {plain}" in page
    assert f"the table has {farther}." in " ".join(page.split())
    assert re.search(r"^    skipstack search distance .*\\$", page, re.MULTILINE)
    assert render(made).text == page


@pytest.mark.slow
def test_a_study_that_is_kept_is_not_run_again(made: Source, tmp_path: Path) -> None:
    results.make(made, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert results.is_kept(made, "echoes")
    assert not results.is_kept(replace(made, studies={"echoes": ("search distance",)}), "echoes")


@pytest.mark.slow
def test_a_number_altered_in_what_is_kept_is_seen(made: Source) -> None:
    file, page = made.data("echoes"), made.page.read_text()
    content = bytearray(file.read_bytes())
    content[len(content) // 4] ^= 1
    with altered(file, bytes(content)), pytest.raises(UserError, match=r"000001\.jsonl\.gz"):
        render(made)
    with altered(file, as_one_file(map(_luckier, Kept(file).events))):  # whose checksums are right
        assert render(made).text != page


def _luckier(event: ledger_events.Event) -> ledger_events.Event:
    if not isinstance(event, ledger_events.Tested):
        return event
    metrics = {name: tuple(value + 0.01 for value in values) for name, values in event.metrics.items()}
    return event.model_copy(update={"metrics": metrics, "sentences": None})


@pytest.mark.slow
def test_a_claim_that_does_not_hold_is_named_with_its_line_and_its_sentence(made: Source) -> None:
    template = made.template.replace(">= 0", "> 100")
    with pytest.raises(UserError, match=r"^echo\.md: no longer true, so say what is: line 9: - A plain layer has \d"):
        render(replace(made, template=template))
    unknown = made.template.replace('"LSTM", 4', '"LSTM", 3')
    with pytest.raises(UserError, match=r"unknown trial 'LSTM, 3' \(nearest: 'LSTM, \d+'"):
        render(replace(made, template=unknown))


def _kept_bytes(source: Source) -> int:
    return sum(source.data(each).stat().st_size for each in source.studies if source.kept)


@pytest.mark.first(2)
@pytest.mark.parametrize("source", sorted(SOURCES, key=_kept_bytes), ids=lambda source: source.name)
def test_a_page_is_what_its_source_and_its_studies_make(source: Source) -> None:
    found = render(source)
    assert source.page.read_text() == found.text, f"out of date: run `make results PAGE={source.name}`"
    for name, svg in found.pictures.items():
        assert _rounded((RESULTS / name).read_text()) == _rounded(svg), name


def _rounded(svg: str) -> str:
    """A picture with its coordinates to a thousandth of a pixel, since further digits differ between processors."""
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.3f}", svg)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_no_figure_of_a_source_is_typed_and_its_commands_are_those_that_ran(source: Source) -> None:
    assert source.typed_numbers() == []
    assert [study for study in source.studies if source.kept and not results.is_kept(source, study)] == []


@pytest.mark.parametrize("part", sorted((RESULTS / "sources").glob("*.jinja")), ids=lambda part: part.stem)
def test_no_figure_of_what_pages_share_is_typed(part: Path) -> None:
    assert Source(name=part.stem, studies={}, template=part.read_text()).typed_numbers() == []


def asked(command: str) -> StudyConfig:
    """The study that `skipstack search` makes of a source's command today."""
    parser = argparse.ArgumentParser()
    for name in ("engine", "scale", "corpus"):
        parser.add_argument(f"--{name}")
    for name in ("trials", "epochs", "seeds"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--set", dest="overrides", action="append", default=[])
    _, preset, *options = shlex.split(command)
    given = vars(parser.parse_args(options))
    return load_study(preset, **{name: value for name, value in given.items() if name != "engine"})[0]


@pytest.mark.first(8)
@pytest.mark.parametrize("source", [source for source in SOURCES if source.kept], ids=lambda source: source.name)
def test_its_commands_make_the_trials_that_are_kept_also_by_todays_presets(source: Source, tmp_path: Path) -> None:
    for name, commands in source.studies.items():
        trials = read_study(Kept(source.data(name)).restored(tmp_path / name)).trials.values()
        space = Space(asked(commands[0]).space)
        if space.finite:  # of others, the command names the axes
            made = {network_identity(space.config(point)) for point in space.everything() if space.allowed(point)}
            assert {network_identity(trial.config) for trial in trials} <= made, name


def test_a_typed_number_is_found_wherever_it_stands_in_prose() -> None:
    def typed(template: str) -> list[str]:
        return Source(name="x", studies={}, template=template).typed_numbers()

    assert typed("A skip reaches 98.4 on test, +0.14 more; **12,000** texts, {{ a }}7") == [
        "98.4",
        "0.14",
        "12,000",
        "7",
    ]
    assert typed("- 3 seeds\n# Depth 5") == ["3", "5"]
    named = "gui2019's Table 5, Tables 4, 5 and 7, version 0.1.0, `T = 21`, [page](wu2017-2.md), {{ study[4] }}\n"
    assert typed(f"{named}\n    skipstack search x --seeds 3\n") == []


def test_nothing_is_kept_that_no_page_shows() -> None:
    kept = {path for path in (RESULTS / "data").rglob("*") if path.is_file()}
    files = [Kept(source.data(study)) for source in SOURCES if source.kept for study in source.studies]
    watched = {source.watched(study) for source in SOURCES if source.kept for study in source.inspected}
    sizes = {source.sizes(study) for source in SOURCES if source.kept for study in source.sized}
    assert kept == {path for each in files for path in (each.file, each.script)} | watched | sizes
    assert sum(path.stat().st_size for path in kept) < 4_000_000


def test_the_coverage_names_every_page_of_a_papers_preset_once() -> None:
    table = coverage()
    rows = [line for line in table.splitlines() if "wu2017-gates-small.md" in line]
    assert len(rows) == 1
    assert "| small | 0.3.0 | 0 of 6 as in the paper |" in rows[0]


def test_a_gain_that_stands_beside_several_tables_is_counted_once() -> None:
    found = [line.split(" | ")[-1].strip(" |") for line in coverage().splitlines() if "chen2017-systems-small" in line]
    assert sorted(found) == ["1 of 1 as in the paper", "not compared", *["the same as in table 4 (ctb)"] * 3]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_of_scores_says_what_is_reached_without_a_network(path: Path) -> None:
    assert "Without a network, on test: the " in path.read_text()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], StudyFigures]:
    """Finds a kept study of a page."""
    folder = tmp_path_factory.mktemp("kept")

    @cache
    def found(page: str, study: str) -> StudyFigures:
        return StudyFigures(Kept(find_source(page).data(study)).restored(folder / page / study))

    return found


def test_rows_of_two_studies_are_paired_if_these_share_corpus_and_seeds(
    kept: Callable[[str, str], StudyFigures],
) -> None:
    attention = kept("gui2019-ner-small", "ner").row("attention")
    three = kept("gui2019-ner-small", "beside")["three"]
    found = attention.beside(three)
    ours, theirs = attention.own.trial, three.trial
    assert found.value == pytest.approx(100 * np.mean([ours.test[seed] - theirs.test[seed] for seed in range(5)]))
    table = difference_table(ours, theirs)
    assert table is not None, "paired by seed and by document"
    assert (found.value, found.low) == pytest.approx((-three.beside(attention).value, -three.beside(attention).high))
    with pytest.raises(UserError, match="got trials of two corpora"):
        attention.beside(kept("gui2019-imdb-small", "beside")["three"])
    with pytest.raises(UserError, match=r"got trials of the seeds \(0, 1, 2, 3, 4\) and \(0, 1, 2\)"):
        kept("wu2017-depth-small", "depth")["1"].beside(kept("recipes", "recipes")[1, "<NA>", 1.0, "Adam"])


def test_on_the_papers_test_set_a_page_compares_by_seeds_alone(kept: Callable[[str, str], StudyFigures]) -> None:
    atis = kept("dinarelli2016-atis", "atis")
    found = atis.against("dinarelli2016/table-3")["J-RNN"].test
    scores = [100 * score for score in atis["j", 10].trial.test.values()]
    assert (found.low, found.high) == pytest.approx(t_distribution.interval(0.95, 4, np.mean(scores), sem(scores)))
    assert found.holds(92.8)
    assert not found.holds(93.61)


def test_an_ablation_has_its_rows_and_its_cost(kept: Callable[[str, str], StudyFigures]) -> None:
    tagger = kept("tagger-wsj", "tagger")
    ablation, own = tagger.ablation(1), tagger.record.ablations[1]
    assert ablation.row("winner").gain == tagger.row("winner").gain
    assert ablation.seeds == [5, 5]
    assert ablation.tuning.value == 0
    assert ablation.comparison.value == pytest.approx(sum(trial.seconds for trial in own.trials.values()) / 60)


@pytest.mark.corpus
@pytest.mark.parametrize("source", [source for source in SOURCES if source.sized], ids=lambda source: source.name)
def test_the_kept_sizes_are_those_of_the_corpora(source: Source, data_dir: Path) -> None:
    for study in source.sized:
        assert source.sizes(study).read_text() == count(Kept(source.data(study)), data_dir)


def test_figures_of_a_printed_page_are_taken_by_row_and_column() -> None:
    page = PrintedPage(
        "x",
        "| of | row | test % | gain | over |\n|---|---|---:|---:|---|\n"
        "| `a` | * `b\\_c` | 9.50 | -0.55 ± 0.27 | base |\n",
    )
    row = page.row("b_c", "gain")
    assert row.marked
    assert str(row["gain"]) == "-0.55 ± 0.27"
    assert (row["gain"].low, row["gain"].high) == pytest.approx((-0.82, -0.28))
    assert row["test %"].low == float("-inf"), "no claim rests on an interval that is not there"
    with pytest.raises(UserError, match="unknown row 'b'"):
        page.row("b", "gain")


def test_what_networks_do_is_counted_over_texts(tmp_path: Path) -> None:
    rows = [
        ("LSTM", 1, "3", 0, 0, 4, 1.0),
        ("skip", 1, "3", 0, 7, 3, 1.0),  # of eleven digits, a last 3 points at the fourth, seven steps back
        ("skip", 1, "3", 0, 1, 1, 1.0),
        ("skip", 1, "9", 0, 7, 1, 1.0),
        ("skip", 1, "3", 2, 1, 4, 0.5),
        ("skip", 1, "9", 2, 1, 1, 0.0),
    ]
    file = tmp_path / "seen.parquet"
    pd.DataFrame(rows, columns=["trial", "layer", "word", "before", "back", "texts", "norm"]).to_parquet(file)
    seen = Inspected(file)
    assert (seen.found("skip", 11).value, seen.found("LSTM", 11).value) == (60.0, 0.0)
    assert seen.norm("skip", 2).text == "40.0"
    assert (seen.read("skip", 7).text, seen.read("skip", 1).text) == ("40.0", "60.0")
    assert "| skip | 100.0 |" in seen.norms(0)


def test_a_vector_of_a_token_tells_the_words_around_it_and_no_more(tmp_path: Path) -> None:
    words = [*"aBabababab", "", *"abab", ""]
    (tmp_path / "text.tsv").write_text("".join(f"{word}\tN\n" if word else "\n" for word in words))
    files = dict.fromkeys(SPLITS, str(tmp_path / "text.tsv"))
    columns = DataConfig.model_validate({"corpus": {"kind": "columns", "word": 0, "tag": 1, **files}}).corpus
    windows.write(columns, tmp_path / "windows")
    lengths = dict.fromkeys(SPLITS, np.array([10, 4]))
    first = read_token_vectors(tmp_path / "windows", lengths).values["train"]
    assert np.array_equal(first[3], first[5])  # three words before and three behind are the same
    assert not np.array_equal(first[2], first[4])  # the sentence begins two words before
    assert np.array_equal(first[[0, 9]], first[[10, 13]])  # so are their ends
    assert len({vector.tobytes() for vector in first}) == 10
    assert np.square(first[3:7]).mean() == pytest.approx(1, rel=0.3)
    assert np.square(first[[0, 9]]).mean() == pytest.approx(4 / 7, rel=0.3)


@pytest.mark.slow
def test_the_networks_that_a_source_names_are_watched(tmp_path: Path) -> None:
    source = made_in(tmp_path, DIGITS)
    assert results.is_kept(source, "digits")
    assert not results.is_kept(replace(source, inspected={"digits": ("lambda 0.5",)}), "digits")
    steps = Inspected(source.watched("digits")).steps
    of_each = steps.groupby(["trial", "before"])["texts"].sum()
    assert of_each.to_dict() == {(name, before): 20 for name in ("LSTM", "lambda 1") for before in range(11)}
    assert set(steps[steps["trial"] == "LSTM"]["back"]) == {0}
    watched = Inspected(source.watched("digits"))
    assert sum(watched.share("LSTM", step).value for step in range(1, 12)) == pytest.approx(100)
    assert f"| LSTM | {watched.share('LSTM', 11)} |" in watched.shares(11)
    assert set(steps[steps["trial"] == "lambda 1"]["back"]) <= set(range(1, 11))
    # 4 gates of 8 units from 10 digits, 8 units and a constant; the 9 labels that 40 texts have, from 8 and a constant.
    updates, parameters = 1, 4 * 8 * (10 + 8 + 1) + 9 * (8 + 1)
    sizes = json.loads(source.sizes("digits").read_text())["0"]
    assert sizes == {"updates": updates, "parameters": parameters}
    assert f"An epoch and its network: {updates}, {parameters / 1e6:.2f}." in source.page.read_text()


def test_a_source_that_is_mistaken_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    for text, told in [
        ("# A page\n", "has no head"),
        ("---\nstudies: {two-jumps: [search x]}\n---\n", "got the study 'two-jumps'"),
        ("---\nstudies: {a: [ablate]}\n---\n", "a: got ablate"),
        ("---\nstudies: {ab: [search x]}\ninspected: {ac: [y]}\n---\n", "inspected: unknown study 'ac' (nearest: 'ab'"),
        ("---\nstudies: {ab: [search x]}\nsized: [ac]\n---\n", "sized: unknown study 'ac' (nearest: 'ab'"),
    ]:
        path.write_text(text)
        with pytest.raises(UserError, match=re.escape(told)):
            read_source(path)
    with pytest.raises(UserError, match="unknown page 'distnace'"):
        find_source("distnace")


def test_a_page_that_there_is_not_is_refused_in_a_line_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        results.main(["--kept", "two-jump"])
    assert ended.value.code == 2
    assert "error: unknown page 'two-jump' (nearest: 'two-jumps'; allowed: " in capsys.readouterr().err


def test_the_makefile_makes_a_page() -> None:
    assert "python -m tests.results $(PAGE)" in (ROOT / "Makefile").read_text()
