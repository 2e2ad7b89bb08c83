"""Runs every command of the README and of the guide, and checks that names on the pages exist."""

import ast
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from skipstack.data.basis.fields import describe, fields, kinds
from skipstack.data.basis.user_code.files import read_code
from skipstack.data.corpora.config import DataConfig
from skipstack.data.corpora.fetching import MIRROR
from skipstack.data.corpora.named import find_card, named_corpora
from skipstack.data.labels.schemes import PREFIXES
from skipstack.models.conformance.formats import FORMAT_CHECKS
from skipstack.models.conformance.suite import conformance
from skipstack.models.layers.cell import LayerSizes
from skipstack.models.parts.cells import gates
from skipstack.search.analysis.confirmation.papers import tables
from skipstack.search.strategy.proposers.conformance import PROPOSER_SUITE
from skipstack.search.strategy.schedulers.conformance import SCHEDULER_SUITE
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.study_files.document import presets
from skipstack.spaces.constraints import CONSTRAINTS
from skipstack.spaces.paths import trial_paths
from tests.data.corpora.serving import serving
from tests.install.environments import hostile
from tests.install.environments import shell as run
from tests.oracles import networks
from tests.pages import GUIDE, README, ROOT, TYPED, WRITTEN, Page

SHORT = "--engine serial --trials 2 --epochs 2"
SMALL = "--set data.corpus.train=60 --set data.corpus.dev=30 --set data.corpus.test=30"


def needs_corpora(command: str) -> bool:
    return not named_corpora().keys().isdisjoint(command.split())


def needs_a_cluster(command: str) -> bool:
    return "ray start" in command or "--address" in command


def is_plain(command: str) -> bool:
    return not (needs_corpora(command) or needs_a_cluster(command) or command.startswith("make"))


def shortened(command: str) -> str:
    """Shorten a search, and use the engine without Ray. ``tests/install/test_hostile_folder.py`` runs a full search on
    Ray.
    """
    if command.startswith("skipstack search"):
        generated = SMALL if command.split()[2] in presets() else ""
        return f"{command} {SHORT} {generated}"
    trains = command.startswith(("skipstack extend", "skipstack ablate"))
    return f"{command} --engine serial" if trains else command


PLAIN = [page for page in TYPED if any(map(is_plain, page.commands))]
REAL = [command for page in TYPED for command in page.commands if needs_corpora(command)]
CLUSTER = [command for page in TYPED for command in page.commands if needs_a_cluster(command)]


def readers_folder(path: Path) -> Path:
    """Make a reader's folder: the pages' study files, a corpus of the reader's, and vectors; also packages of the
    reader's with the names of skipstack's packages.
    """
    hostile(path)
    for page in TYPED:
        for name, study in page.files.items():
            (path / name).write_text(study)
    sentence = "the\tDET\nold\tADJ\ndogs\tNOUN\nsleep\tVERB\n\n"
    for split in ("train", "dev", "test"):
        (path / f"{split}.tsv").write_text(sentence * 8)
        (path / f"{split}.txt").write_text("the old dogs sleep\nDET ADJ NOUN VERB\n\n" * 8)
    (path / "requests.txt").write_text(Page(GUIDE / "corpora.md").blocks("text")[0] * 8)
    (path / "glove.6B.100d.txt").write_text(f"the{' 0.5' * 100}\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a reader types the commands."""
    return readers_folder(tmp_path_factory.mktemp("a reader's") / "folder")


@pytest.fixture(scope="module")
def quickstart(folder: Path) -> Path:
    """The folder after the quickstart study, which all pages assume."""
    run(folder, shortened("skipstack search quickstart --out runs/quickstart"))
    return folder


@pytest.fixture(scope="module")
def studies(quickstart: Path) -> Path:
    """The folder after the quickstart and the study of a paper."""
    small = "--scale small --corpus grammar --seeds 1"
    run(quickstart, shortened(f"skipstack search wu2017/topologies {small} --out runs/topologies"))
    return quickstart


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_plain_commands_of_the_readme_succeed_one_after_another(folder: Path) -> None:
    assert PLAIN[0] == README
    for command in filter(is_plain, README.commands):
        assert run(folder, shortened(command)) or "> " in command


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", PLAIN[1:], ids=str)
def test_the_plain_commands_of_a_page_of_the_guide_succeed_one_after_another(studies: Path, page: Page) -> None:
    """A page needs only these common studies and its own commands."""
    for command in filter(is_plain, page.commands):
        written = command.startswith(("skipstack report", "skipstack draw")) and "--out" in command
        into_a_file = "> " in command or written
        assert run(studies, shortened(command)) or into_a_file


def test_no_command_is_run_twice() -> None:
    commands = [command for page in TYPED for command in page.commands]
    assert len(commands) > 40
    assert len(set(commands)) == len(commands)


@pytest.mark.slow
def test_the_python_of_the_guide_finds_the_trials(quickstart: Path) -> None:
    code = Page(GUIDE / "tracking.md").script("runs = mlflow.search_runs(")
    ran = subprocess.run([sys.executable, "-c", code], cwd=quickstart, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "tags.skipstack.trial" in ran.stdout
    trials = read_study(quickstart / "runs" / "quickstart").trials  # including those that `extend` added
    assert len(ran.stdout.splitlines()) == 1 + len(trials)


OWN = Page(GUIDE / "own-training.md")
MOVING = Page(GUIDE / "moving.md")
SHEET = Page(GUIDE / "cheat-sheet.md")
FRAMEWORKS = Page(GUIDE / "frameworks.md")
STUDIES = {"runs/forests": OWN, "runs/digits": OWN, "runs/after": MOVING, "runs/kept": OWN, "runs/function": SHEET}
"""The guide's pages with scripts that search a function, by the folders of their studies."""
OTHERS = {"runs/rings": "pytorch_lightning", "runs/texts": "transformers"}
"""The optional libraries of the guide's scripts that train with them, by the folders of their studies."""


def few(code: str, options: str = "") -> str:
    """Return the script with four trials, and with these options of the search."""
    return re.sub(r"\b(n_trials|num_samples|trials)=\d+", rf"\1=4{options}", code)


def script(folder: Path, text: str) -> str:
    """Run a reader's script in a folder, as on a machine without a Ray cluster, and return its output."""
    (folder / "script.py").write_text(text)
    env = {
        **os.environ,
        "RAY_ADDRESS": "local",
    }  # otherwise Ray would wait for a killed cluster that has left its address
    ran = subprocess.run(
        [sys.executable, "script.py"], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("study", STUDIES)
def test_the_functions_of_the_guide_are_searched(study: str, tmp_path: Path) -> None:
    code = STUDIES[study].script(study)
    said = script(tmp_path, few(code, "" if "serial" in code else ', engine="serial"'))
    assert "trial" in said
    assert len(read_study(tmp_path / study).trials) in (4, 8)
    assert read_study(tmp_path / study).finished


def test_our_script_is_no_longer_than_theirs() -> None:
    def lines(script: str) -> int:
        return sum(1 for line in script.splitlines() if line.strip())

    theirs = [MOVING.script("SuccessiveHalvingPruner"), MOVING.script("ASHAScheduler")]
    assert lines(OWN.script("runs/digits")) <= min(map(lines, theirs))


@pytest.mark.slow
def test_the_functions_of_the_guide_are_searched_by_optuna(tmp_path: Path) -> None:
    assert "'alpha': " in script(tmp_path, few(MOVING.script("SuccessiveHalvingPruner")))


@pytest.mark.slow
def test_the_guide_s_study_of_optuna_is_searched_by_our_parts(tmp_path: Path) -> None:
    best = ast.literal_eval(script(tmp_path, MOVING.script("optuna_sampler")))
    assert math.hypot(best["x"] - 2, best["y"]) < 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_guide_exports_a_function_s_model_and_logs_within_a_trial(tmp_path: Path) -> None:
    call, score = script(tmp_path, OWN.script("load_own")).splitlines()[-2:]
    assert call.startswith("seed ")
    assert "{'digits.pkl': " in call
    assert 0.8 < float(score) <= 1
    script(tmp_path, Page(GUIDE / "tracking.md").script("report.mlflow_run"))
    assert len(list(tmp_path.rglob("losses.png"))) == 2


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_the_functions_of_the_guide_are_searched_by_ray(tmp_path: Path) -> None:
    assert "'alpha': " in script(tmp_path, few(MOVING.script("ASHAScheduler")))
    assert "'x': " in script(tmp_path, few(MOVING.script("tune_searcher")))
    script(tmp_path, few(OWN.script("runs/digits")))
    assert read_study(tmp_path / "runs" / "digits").finished


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.parametrize("study", OTHERS)
def test_the_functions_of_other_libraries_train_on_half_a_gpu(study: str, tmp_path: Path) -> None:
    """Ray is told of a GPU that does not exist; the functions train on the CPU."""
    pytest.importorskip(OTHERS[study], reason="an example of the guide trains by it")
    pretended = "import ray\nray.init(num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False)\n"
    script(tmp_path, pretended + few(FRAMEWORKS.script(study), ", gpus_per_trial=0.5"))
    trials = read_study(tmp_path / study).trials.values()
    assert all(trial.reports for trial in trials)
    assert any(trial.whole for trial in trials)


def test_the_gate_that_the_guide_adds_computes_what_its_twin_does() -> None:
    written, _, twin = Page(GUIDE / "adding-a-gate.md").blocks("python")
    ours, theirs = dict(vars(gates)), dict(vars(networks))
    exec(written, ours)
    exec(f"twin = {{{twin}}}", theirs)
    gate = ours["HardSigmoidGate"](LayerSizes(lanes=1, directions=1, below=4, hidden=3)).double()
    generator = torch.Generator().manual_seed(0)
    for parameter in gate.parameters():
        torch.nn.init.normal_(parameter, 0, 3, generator=generator)
    below, skip = (torch.randn(1, 1, 1, size, generator=generator, dtype=torch.float64) for size in (4, 3))
    weights = {name: parameter.detach().numpy()[0, 0] for name, parameter in gate.named_parameters()}
    x, skipped = below.numpy()[0, 0, 0], skip.numpy()[0, 0, 0]
    moment = networks.Moment(weights, x, x, skipped, skipped, 0.5, None)
    (of_twin,) = (each(moment) for each in theirs["twin"].values())
    assert np.abs(np.diag(gate.values(below, skip).detach().numpy()[0, 0, 0]) - of_twin).max() < 1e-10


@pytest.mark.slow
def test_the_format_of_the_guide_passes_every_check(tmp_path: Path) -> None:
    file = tmp_path / "my_formats.py"
    file.write_text(Page(GUIDE / "own-code.md").files[file.name])
    found = conformance(read_code(file, file.name))
    assert [(each.check, each.outcome) for each in found] == [(name, "holds") for name in FORMAT_CHECKS]


@pytest.mark.slow
def test_the_proposer_and_the_scheduler_of_the_guide_pass_every_check(tmp_path: Path) -> None:
    suites = {"proposer": PROPOSER_SUITE, "scheduler": SCHEDULER_SUITE}
    for part, suite in suites.items():
        file = tmp_path / f"my_{part}s.py"
        file.write_text(Page(GUIDE / "own-code.md").files[file.name])
        found = conformance(read_code(file, file.name), suites)
        assert [(each.check, each.outcome) for each in found] == [(name, "holds") for name in suite.checks]


def test_the_page_of_all_fields_is_what_the_configs_say(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "docs" / "fields.py"), run_name="__main__")
    assert capsys.readouterr().out == (GUIDE / "fields.md").read_text(), "out of date: run `make docs`"


def test_the_index_of_the_guide_and_the_readme_name_every_page() -> None:
    pages = {path.name for path in GUIDE.glob("*.md")} - {"README.md"}
    assert pages == set(re.findall(r"\(([\w-]+\.md)\)", (GUIDE / "README.md").read_text()))
    assert pages <= set(re.findall(r"\(docs/guide/([\w-]+\.md)\)", (ROOT / "README.md").read_text()))


def test_the_tables_of_the_guide_leave_nothing_out() -> None:
    def first_cells(page: str) -> set[str]:
        return set(re.findall(r"^\| `([^`:]+)", (GUIDE / page).read_text(), re.MULTILINE))

    assert first_cells("studies.md") >= set(CONSTRAINTS)
    assert first_cells("corpora.md") >= (set(kinds(fields(DataConfig)["corpus"])) - {"named"}) | set(PREFIXES)
    proposers = set(re.findall(r"\w+", describe(fields(SearchConfig)["proposer"])))
    assert first_cells("searching.md") & proposers == proposers - {"a", "mapping", "with", "kind", "or"}
    papers = (GUIDE / "papers.md").read_text()
    assert [name for name in presets() if f"`{name}`" not in papers] == []
    measured = {path.name for path in (ROOT / "docs" / "results").glob("*.md")} - {"README.md"}
    assert measured == set(re.findall(r"results/([^)`]+\.md)", papers))


def test_the_page_of_the_papers_names_their_tables_presets_and_fields() -> None:
    page = Page(GUIDE / "papers.md").text
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `")}
    for name, table in tables().items():
        assert f"`{name}`" in rows[table.preset], name
    named = set(re.findall(r"`((?:data|model|training)\.[\w.]+)`", page))
    assert len(named) > 25
    assert named <= trial_paths().keys()
    corpora = [row.split("|") for row in page.partition("stands in here")[2].partition("\n\n")[0].splitlines()[2:]]
    for _, _, sold, fetched, _ in corpora:
        cards = [[find_card(name) for name in named_corpora() if f"`{name}`" in cell] for cell in (sold, fetched)]
        assert all(card.obtain for card in cards[0])
        assert not any(card.obtain for card in cards[1])
        assert bool(cards[1]) == ("skipstack data fetch" in fetched)


def test_the_minutes_of_the_papers_studies_are_those_of_their_pages() -> None:
    rows = re.findall(r"^\| `.*\|$", Page(GUIDE / "papers.md").text.partition("## Beyond the tables")[0], re.MULTILINE)
    pages = {row: re.findall(r"results/([\w-]+\.md)", row) for row in rows}
    assert sum(map(bool, pages.values())) > 20
    for row, names in pages.items():
        texts = [(ROOT / "docs" / "results" / name).read_text() for name in names]
        found = [re.findall(r" (\d+) min of training and evaluation", text)[0] for text in texts]
        assert [minutes for minutes in found if not re.search(rf"[|;] {minutes}\b", row)] == [], row


@pytest.mark.parametrize("page", WRITTEN, ids=str)
def test_what_a_page_names_is_there(page: Page) -> None:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", page.text):
        assert (page.path.parent / link).exists(), link
    for name in re.findall(r"`((?:data|models|spaces|search|dashboards|tests|docs|skipstack)/[\w./-]*)`", page.text):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", WRITTEN, ids=str)
def test_lines_fit_and_speak_of_no_folder_outside_the_project(page: Page) -> None:
    prose = [line for line in page.text.splitlines() if not line.startswith(("|", "skipstack "))]
    assert [line for line in prose if len(line) > 120] == []
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work)\b", page.text)


def test_the_terms_of_the_glossary_are_in_order() -> None:
    terms = re.findall(r"^\| ([^|]+) \|", (GUIDE / "glossary.md").read_text(), re.MULTILINE)[1:]
    assert terms == sorted(terms, key=str.casefold)


@pytest.mark.corpus
@pytest.mark.timeout(1800)
def test_the_commands_on_real_corpora_succeed(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads come from a local mirror, a web server with the folder of the real corpora."""
    folder = readers_folder(tmp_path / "a reader's")
    monkeypatch.setenv("SKIPSTACK_DATA_DIR", str(folder / "fetched"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as server:
        monkeypatch.setenv(MIRROR, server.address)
        for path in data_dir.glob("*_*/*"):
            server.files[f"/{path.relative_to(data_dir)}"] = path.read_bytes()
        _run_on_real_corpora(folder, data_dir)


def _run_on_real_corpora(folder: Path, data_dir: Path) -> None:
    for command in REAL:
        there = command.replace("--data-dir corpora", f"--data-dir {data_dir}")
        run(folder, f"{there} --trials 1 --epochs 1" if "search" in command else there)


@pytest.fixture
def head() -> Iterator[None]:
    """Start the guide's Ray head on this machine, and end it after the test."""
    (start,) = (command for command in CLUSTER if command.startswith("ray start"))
    ray = str(Path(sys.executable).parent / start.split()[0])
    process = subprocess.Popen([ray, *start.split()[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    started = time.monotonic()
    for line in process.stdout:
        if "Ray runtime started" in line:
            break
        assert time.monotonic() - started < 60
    time.sleep(2)
    yield
    process.terminate()
    process.communicate(timeout=30)


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("head")
def test_the_commands_on_a_cluster_succeed(folder: Path) -> None:
    for command in CLUSTER:
        if not command.startswith("ray start"):
            shutil.rmtree(folder / "runs" / "cluster", ignore_errors=True)
            assert "best: trial" in run(folder, f"{command} {SHORT} {SMALL}")
