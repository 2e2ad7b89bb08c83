"""The source of a page of results (``docs/results/sources/NAME.md``): which studies it is about, and what it says.

Its head, in YAML between two lines ``---``, has for each study the commands that make it, without ``skipstack`` and
without the study's folder; under ``inspected`` the trials whose networks are watched; under ``sized`` the studies whose
networks and epochs are counted; and under ``windows`` the folders of vectors of tokens that studies read, each with a
named corpus. Below stands the page, as a template of Jinja: what stands in ``{{ … }}`` is taken from the studies
(``tests/results/page.py``), and a sentence between ``{% claim CONDITION %}`` and ``{% endclaim %}`` must hold.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from skipstack.data.basis.errors import UserError, unknown
from skipstack.search.ledger.lines import SUFFIX
from tests.pages import ROOT

RESULTS: Final = ROOT / "docs" / "results"
SOURCES: Final = RESULTS / "sources"

HEAD = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)

BRACES = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
NO_FIGURES = re.compile(
    r"^    .*$|`[^`]*`|\]\([^)]*\)"
    r"|\b(?:Tables?|Figures?|eq\.) \d+(?:(?:,| and) \d+)*|\b\d+\.\d+\.\d+\b|\b\w*[A-Za-z]\w*\b",
    re.MULTILINE,
)
"""What may have digits though nobody measured them: commands, code, links, what papers call their tables, versions, and
names such as gui2019 and F1."""

NUMBER = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A page's ``name``, the commands of its studies by name, its template, and the folder of the pages.

    ``inspected``: of a study, the trials whose networks are watched on texts of test (``inspected.py``). ``sized``: the
    studies of which the page says how large networks and epochs are (``sized.py``). ``windows``: for each folder of
    vectors of tokens, the corpus of these tokens (``windows.py``).
    """

    name: str
    studies: Mapping[str, tuple[str, ...]]
    template: str
    inspected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sized: tuple[str, ...] = ()
    windows: Mapping[str, str] = field(default_factory=dict)
    folder: Path = RESULTS

    @property
    def page(self) -> Path:
        return self.folder / f"{self.name}.md"

    def data(self, study: str) -> Path:
        """The file of what is kept of a study, from which the page is made."""
        return self.folder / "data" / self.name / f"{study}{SUFFIX}"

    def watched(self, study: str) -> Path:
        """The file of what its networks did."""
        return self.folder / "data" / self.name / f"{study}.inspected.parquet"

    def sizes(self, study: str) -> Path:
        """The file of how large its networks and epochs are."""
        return self.folder / "data" / self.name / f"{study}.sizes.json"

    @property
    def kept(self) -> bool:
        """Whether something is kept of each of its studies."""
        files = [*map(self.data, self.studies), *map(self.watched, self.inspected), *map(self.sizes, self.sized)]
        return all(file.exists() for file in files)

    def commands(self, study: str) -> Iterator[tuple[str, ...]]:
        """The arguments of ``skipstack`` that make the study, in a folder of its name, in order."""
        for command in self.studies[study]:
            verb, *others = shlex.split(command)
            yield (verb, *others, "--out", study) if verb == "search" else (verb, study, *others)

    def script(self, study: str) -> str:
        """Those commands as a shell runs them."""
        return "".join(f"{shlex.join(('skipstack', *each))}\n" for each in self.commands(study))

    def typed_numbers(self) -> list[str]:
        """The numbers in its prose that are taken from nowhere."""
        prose = NO_FIGURES.sub("", BRACES.sub("", self.template))
        return NUMBER.findall(prose)


def read_source(path: Path) -> Source:
    """Read a source. Raises UserError where its head is none."""
    text = path.read_text()
    found = HEAD.match(text)
    if found is None:
        raise UserError(f"{path.name}: has no head (allowed: YAML between two lines ---, with the page's studies)")
    head = yaml.safe_load(found[1])
    studies = {name: _commands(path, name, commands) for name, commands in head["studies"].items()}
    inspected = {name: tuple(trials) for name, trials in head.get("inspected", {}).items()}
    sized = tuple(head.get("sized", ()))
    for key, named in (("inspected", inspected), ("sized", sized)):
        if unheard := set(named) - studies.keys():
            raise UserError(f"{path.name}: {key}: {unknown('study', min(unheard), studies)}")
    blank = "\n" * found[0].count("\n")  # a mistake is told with its line in the file
    template = blank + text[found.end() :]
    return Source(
        name=path.stem,
        studies=studies,
        template=template,
        inspected=inspected,
        sized=sized,
        windows=head.get("windows", {}),
        folder=path.parents[1],
    )


def _commands(path: Path, study: str, given: Sequence[str]) -> tuple[str, ...]:
    if not study.isidentifier():
        raise UserError(
            f"{path.name}: got the study {study!r} (allowed: a name that templates can use, as `two_jumps`)"
        )
    verbs = [shlex.split(command)[0] for command in given]
    if verbs[0] != "search" or not set(verbs[1:]) <= {"extend", "ablate"}:
        raise UserError(f"{path.name}: {study}: got {', '.join(verbs)} (allowed: search, then extend and ablate)")
    return tuple(given)


def find_source(name: str) -> Source:
    """The source of the page called ``name``. Raises UserError if there is none."""
    names = sorted(path.stem for path in SOURCES.glob("*.md"))
    if name not in names:
        raise UserError(unknown("page", name, names))
    return read_source(SOURCES / f"{name}.md")


def sources() -> list[Source]:
    """All of them; the first page, which is made of the others, last."""
    return sorted(map(read_source, SOURCES.glob("*.md")), key=lambda source: (source.name == "README", source.name))
