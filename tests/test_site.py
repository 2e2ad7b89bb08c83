"""The site builds strictly, loads nothing from other servers, has a search, and documents each public name once."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from pydoc import locate
from typing import Any

import pytest
import yaml

import skipstack
import skipstack.own
from tests.dashboards.web.browsing import CHROMIUM, MILLISECONDS, chromium
from tests.pages import FRONT, ROOT, TYPED

PYTHON = ROOT / "build" / "site-venv" / "bin" / "python"
SHARED = {"Sentence", "UserError"}
"""Names of ``skipstack.own`` that the reference documents under ``skipstack``."""
WIDE = ("index", "calibration", "guide/fields", "results/index", "results/two-jumps", "reference/running", "start")
"""The pages with the widest tables, pictures and code."""
NUMBER = re.compile(r"\d[\d,.]*\d")
ELSEWHERE = re.compile(r"""<(?!a\b)[^>]*\b(?:src|srcset|href|data)=["']?(?:https?:)?//|class="mermaid""")
"""Content loaded from another server: tags other than links, and diagrams, whose program the theme would fetch."""
ELSEWHERE_OF_STYLES = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//""")


def test_the_commands_of_the_first_page_are_run_on_others() -> None:
    assert set(FRONT.commands) <= {command for page in TYPED for command in page.commands}
    assert len(FRONT.commands) == 2


def test_the_figures_of_the_first_page_are_those_of_the_pages_that_it_names() -> None:
    items = re.findall(r"^- (.*?)(?=^- |^$)", FRONT.text, re.MULTILINE | re.DOTALL)
    assert len(items) == 4
    for item in items:
        pages = [FRONT.path.parent / name for name in re.findall(r"\]\(([\w/.-]+)", item)]
        assert {*NUMBER.findall(item)} <= {*NUMBER.findall("\n".join(page.read_text() for page in pages))}


def test_the_site_leads_to_every_page() -> None:
    """Repeats a check of the strict build, without needing its tools."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    docs, ignored = ROOT / config["docs_dir"], config["exclude_docs"].split()
    pages = {f"/{path.relative_to(docs)}" for path in docs.rglob("*.md")}
    pages = {page for page in pages if not page.startswith(tuple(ignored))}
    assert pages == {f"/{page}" for page in _pages(config["nav"]) if (docs / page).exists()}


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from _pages(each)


def test_the_reference_names_every_public_name_once_and_none_that_is_not_there() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    named = re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE)
    assert [name for name, times in _times(named).items() if times != 1] == []
    assert [name for name in named if name.count(".") > 1 and locate(name) is None] == []


def _times(names: Iterable[str]) -> dict[str, int]:
    """Return how often the reference has each public name."""
    counted = Counter(names)
    public = [*skipstack.__all__, *(f"own.{name}" for name in skipstack.own.__all__ if name not in SHARED)]
    return {name: counted[f"skipstack.{name}"] for name in public}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly: a broken link, or a page without a link to it, ends the build."""
    if not PYTHON.exists():
        pytest.skip(f"no {PYTHON.relative_to(ROOT)} (`make site` makes it)")
    folder = tmp_path_factory.mktemp("site")
    command = [PYTHON, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_every_public_name_has_one_heading(site: Path) -> None:
    pages = [page.read_text() for page in (site / "reference").glob("*.html")]
    headings = [name for page in pages for name in re.findall(r'<h\d id="([\w.]+)" class="doc', page)]
    assert [name for name, times in _times(headings).items() if times != 1] == []


@pytest.mark.slow
def test_docstrings_are_read_as_they_are_meant(site: Path) -> None:
    pages = {page.stem: page.read_text() for page in sorted((site / "reference").glob("*.html"))}
    assert "<code>report(score=0.93)</code> ends an epoch" in pages["functions"]
    assert [name for name, page in pages.items() if re.search(r"``|::</p>", page)] == []
    search = re.sub(r"<[^>]+>", "", pages["running"].partition("<h2")[2].partition("<h2")[0])
    assert all(f"{option}: " in search for option in ("study", "replicates", "trials_per_program", "progress"))
    assert "options" not in search.partition("Run a study to its end")[0]


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages, styles = list(site.rglob("*.html")), list(site.rglob("*.css"))
    assert len(pages) > 60
    assert [page for page in pages if ELSEWHERE.search(page.read_text())] == []
    assert [style for style in styles if ELSEWHERE_OF_STYLES.search(style.read_text())] == []


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")
def test_pages_on_a_disk_fit_a_telephone_and_are_searched(site: Path) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.set_default_timeout(MILLISECONDS)
        wrong: list[str] = []
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if _own(request.url, site) else wrong.append(request.url))
        for name in WIDE:
            page.goto((site / f"{name}.html").as_uri())
            if page.evaluate("document.documentElement.scrollWidth") > 390:
                wrong.append(f"{name} is wider than its window")
        page.goto((site / "index.html").as_uri())
        page.locator("label[for=__search]").first.click()
        page.get_by_placeholder("Search").press_sequentially("interrupted")
        found = page.locator(".md-search-result__link[href*='reference/running.html']").first
        found.wait_for()
        found.click()
        page.wait_for_url(re.compile("reference/running.html"))
    assert wrong == []


def _own(url: str, site: Path) -> bool:
    return url.startswith((site.as_uri(), "data:", "blob:", "about:"))
