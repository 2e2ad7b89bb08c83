"""The path of a newcomer, each command as it is typed: from a clone to a network that is served.

One thing is not as it is for a newcomer: `make` finds what skipstack needs where these tests do, so that nothing is
downloaded (``environments.lend``).
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skipstack.data.corpora.fetching import MIRROR
from skipstack.data.corpora.named import find_card
from skipstack.data.corpora.synthetic.agreement import AgreementCorpus
from skipstack.data.formats.sentences import SPLITS
from tests.dashboards.compiling import compiled
from tests.dashboards.web.browsing import CHROMIUM, chromium, command, opened
from tests.data.corpora.serving import Server, serving
from tests.install.environments import ROOT, lend, shell
from tests.search.publishing.tracking.servers import answered, predicted, served
from tests.splits import read_splits

pytestmark = pytest.mark.timeout(3600)

CORPUS = "pmb-ccg-en"
CARD = find_card(CORPUS)
TEXTS = ["the old dogs sleep", "cats"]


@dataclass(frozen=True)
class Newcomer:
    """Somebody with a home and a clone, and what the environment says there."""

    home: Path
    environment: dict[str, str]

    @property
    def clone(self) -> Path:
        return self.home / "skipstack"

    @property
    def programs(self) -> Path:
        return self.clone / ".venv" / "bin"

    def types(self, line: str) -> str:
        """What a command prints in the clone, whose environment is activated."""
        return shell(self.clone, line, self.programs, **self.environment)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def newcomer(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """One who has typed the first three lines, and whose corpora come from the test's server."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    home = tmp_path_factory.mktemp("newcomer")
    shell(home, f"git clone --quiet '{ROOT}' skipstack")
    # The tests' own say where corpora lie, which for a newcomer nothing does.
    told = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "SKIPSTACK_DATA_DIR": "",
        "no_proxy": "127.0.0.1",
    }
    made = Newcomer(home, {**told, MIRROR: server.address, **lend(home / "skipstack")})
    assert "best: trial" in made.types("make quickstart")
    assert made.types("cd / && python -c 'import skipstack; print(skipstack.__file__)'").startswith(str(made.clone))
    return made


@pytest.mark.slow
def test_the_dashboard_shows_the_quickstart(newcomer: Newcomer) -> None:
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    with (
        command(newcomer.clone, "dashboard", program=newcomer.programs / "skipstack") as dashboard,
        chromium() as browser,
    ):
        assert dashboard.stdout is not None
        with opened(browser, dashboard.stdout.readline().strip(), 1280) as page:
            page.get_by_role("link", name="quickstart").first.wait_for()


@pytest.fixture(params=["generated", pytest.param("real", marks=pytest.mark.corpus)])
def corpus(request: pytest.FixtureRequest, newcomer: Newcomer, server: Server) -> dict[str, bytes]:
    """The files of a corpus by name, which the server has: real ones; or generated ones, of which the card in the clone
    has the digests.
    """
    if request.param == "real":
        folder: Path = request.getfixturevalue("data_dir") / CARD.folder
        files = {f"{split}.conll": (folder / f"{split}.conll").read_bytes() for split in SPLITS}
        shell(newcomer.clone, "git checkout --quiet data/corpora/named")
    else:
        files = generated()
        card = newcomer.clone / "data" / "corpora" / "named" / f"{CORPUS}.yaml"
        text = card.read_text()
        for name, content in files.items():
            digest = hashlib.sha256(content).hexdigest()
            text, changed = re.subn(rf'(name: {name}, sha256: )"\w+"', rf'\1"{digest}"', text)
            assert changed == 1
        card.write_text(text)
    server.files = {f"/{CARD.folder}/{name}": content for name, content in files.items()}
    return files


def generated() -> dict[str, bytes]:
    """Files in the format of the card."""
    made = AgreementCorpus(kind="agreement", train=300, dev=100, test=100)
    splits = read_splits(made, data_dir=None, folder=Path())
    return {f"{split}.conll": b"\n".join(map(lines, splits[split])) for split in SPLITS}


def lines(sentence: Any) -> bytes:
    pairs = zip(sentence.words, sentence.tags, strict=True)
    return "".join(f"{word}\t{word}\t_\t_\t{tag}\t_\t_\n" for word, tag in pairs).encode()


@pytest.mark.slow
def test_from_a_fetched_corpus_to_a_network_that_is_served(
    newcomer: Newcomer, corpus: dict[str, bytes], tmp_path: Path
) -> None:
    types = newcomer.types
    types(f"rm -rf runs/ccg runs/ccg-best '{newcomer.home}/.cache/skipstack'")
    types(f"skipstack data fetch {CORPUS}")
    fetched = newcomer.home / ".cache" / "skipstack" / "corpora" / CARD.folder
    assert {path.name: path.read_bytes() for path in fetched.iterdir()} == corpus

    slow = "--set training.optimiser.learning_rate=0.00001"  # so that the base is not the best of so few trials
    searched = types(f"skipstack search quickstart --corpus {CORPUS} --trials 4 --epochs 4 {slow} --out runs/ccg")
    best = re.findall(r"best: trial (\d+)", searched)
    assert len(best) == 1

    ablated = types("skipstack ablate runs/ccg --seeds 2")
    assert "±" in ablated

    types("skipstack report runs/ccg --format latex --out ccg.tex")
    compiled(tmp_path, (newcomer.clone / "ccg.tex").read_text())

    types("skipstack export runs/ccg --best 1 --to runs/ccg-best --register tagger")
    assert "as exported" in types("skipstack verify runs/ccg-best")
    said = "\n".join(TEXTS)
    expected = predicted(types(f"echo '{said}' | skipstack predict runs/ccg-best"))
    assert [[word for word, _ in sentence] for sentence in expected] == [text.split() for text in TEXTS]
    store = f"sqlite:///{newcomer.clone / 'runs' / 'ccg' / 'mlflow.db'}"
    with served(tmp_path, "models:/tagger/1", store, newcomer.programs / "python") as address:
        assert answered(address, TEXTS) == expected
