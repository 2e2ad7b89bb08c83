"""A page of results, made from its source and from what is kept of its studies: nothing on it is typed but its words.

A template sees each study by its name (``figures.py``), ``study(PAGE, NAME)``, one of another page, ``paper(TABLE,
ROW)`` with the ``dev`` and ``test`` that a paper prints, ``printed(PAGE)``, the tables of another page
(``printed.py``), what ``computed.py`` computes, and ``sources``, the shortcuts of a composition. Below the title the
page says by itself which version its numbers are of, which commands made them, and what a baseline has.
"""

import re
import shlex
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from skipstack.data.basis.counted import counted, listed
from skipstack.data.basis.errors import UserError, unknown
from skipstack.models.configs.wiring import sources
from skipstack.search.analysis.confirmation.papers import PaperRow, find_table, papers
from tests.results.computed import best_constant_place
from tests.results.coverage import coverage
from tests.results.figures import StudyFigures
from tests.results.inspected import Inspected
from tests.results.kept import Kept
from tests.results.printed import NOT_RUN, printed
from tests.results.source import SOURCES, Source, find_source

WIDTH: Final = 120
"""Of a line of prose."""

VERBATIM = ("|", "#", "    ", "![", "<", "```")
"""The beginnings of blocks whose lines stay as they are."""

SOLID = str.maketrans({" ": "\N{NO-BREAK SPACE}"})


@dataclass(frozen=True)
class Rendered:
    """A page, and its pictures by the names of their files."""

    text: str
    pictures: Mapping[str, str]


class Claim(Extension):
    """``{% claim CONDITION %}sentence{% endclaim %}``: the sentence, which must hold."""

    tags: ClassVar = {"claim"}

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.broken: list[str] = []

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        holds = parser.parse_expression()
        body = parser.parse_statements(("name:endclaim",), drop_needle=True)
        call = self.call_method("claimed", [holds, nodes.Const(line)])
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def claimed(self, holds: bool, line: int, caller: Any) -> str:
        said: str = caller()
        if not holds:
            self.broken.append(f"line {line}: {' '.join(said.split())}")
        return said


def render(source: Source) -> Rendered:
    """The page; of one whose studies are not kept, what there is to run. Raises UserError for figures that there are
    not, and with all claims that do not hold.
    """
    if not source.kept:
        title = source.template.strip().partition("\n")[0]
        how = f"`make results PAGE={source.name}` does, and writes the page from [its source]({_link(source)})"
        said = f"{NOT_RUN}: {how}.**"
        return Rendered(reflowed("\n\n".join([title, said, _commands(source)])), {})
    with TemporaryDirectory() as folder:

        @cache
        def study(page: str, name: str) -> StudyFigures:
            of = source if page == source.name else find_source(page)
            path = Kept(of.data(name)).restored(Path(folder) / page / name)
            return StudyFigures(path, Inspected(of.watched(name)), of.sizes(name))

        return render_with(source, {name: study(source.name, name) for name in source.studies}, study)


def render_with(
    source: Source, studies: Mapping[str, StudyFigures], study: Callable[[str, str], StudyFigures]
) -> Rendered:
    """The page of these studies. ``study``: finds one of another page."""
    environment = Environment(
        loader=FileSystemLoader(SOURCES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,  # a page goes on below what it includes
        autoescape=False,
        extensions=[Claim],
    )
    names = {
        "study": study,
        "paper": paper,
        "paper_rows": paper_rows,
        "sources": sources,
        "printed": printed,
        "coverage": coverage,
        "best_constant_place": best_constant_place,
        **studies,
    }
    try:
        body = environment.from_string(source.template).render(names)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise UserError(f"{source.name}.md{f', line {line}' if line else ''}: {error.message}") from error
    claims = environment.extensions[Claim.identifier]
    assert isinstance(claims, Claim)
    if claims.broken:
        told = "; ".join(claims.broken)
        raise UserError(f"{source.name}.md: no longer true, so say what is: {told}")
    title, _, rest = body.strip().partition("\n")
    text = reflowed("\n\n".join([title, *about(source, studies), rest.strip()]))
    return Rendered(text, {name: svg for each in studies.values() for name, svg in each.pictures.items()})


def about(source: Source, studies: Mapping[str, StudyFigures]) -> Iterator[str]:
    """What a page says of itself: the version that its numbers are of, when they came about, by which commands, and the
    baseline.
    """
    if not studies:
        return
    versions = sorted({study.version for study in studies.values()})
    days = sorted({day for study in studies.values() for day in _days(study)})
    records = [each for study in studies.values() for each in (study.record, *study.record.ablations.values())]
    trials = [trial for record in records for trial in record.trials.values()]
    minutes = sum(trial.seconds for trial in trials) / 60
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    yield from filter(None, [notice(versions[0])])
    yield (
        f"{when}, skipstack {' and '.join(versions)}: {counted(len(trials), 'trial')}, "
        f"{counted(sum(trial.epochs for trial in trials), 'epoch')}, {minutes:.0f} min of training and evaluation. "
        f"`make results PAGE={source.name}` made this page from [its source]({_link(source)}), whose every "
        "figure is taken from the studies."
    )
    yield _commands(source)
    yield _baselines(studies)


def _baselines(studies: Mapping[str, StudyFigures]) -> str:
    """The scores on test that take no network. Studies of one corpus have them in common."""
    (guess,) = {study.guess for study in studies.values()}
    found = {
        name: f"{listed([each.text for each in study.baselines])} {study.record.measure.unit}"
        for name, study in studies.items()
    }
    alike = set(found.values())
    told = alike if len(alike) == 1 else [f"{each} (`{name}`)" for name, each in found.items()]
    return f"Without a network, on test: the {guess} has {', '.join(told)}."


def notice(of: str) -> str:
    """What a page says whose numbers are of an earlier version; nothing if they are of this one."""
    if of == (now := version("skipstack")):
        return ""
    return f"**The numbers of this page are version {of}'s and were never run on version {now}.**"


def _link(source: Source) -> str:
    return f"sources/{source.name}.md"


def _commands(source: Source) -> str:
    written = [f"    python -m tests.results.windows {corpus} {name}" for name, corpus in source.windows.items()]
    commands = [line for study in source.studies for each in source.commands(study) for line in shown(each)]
    return "\n".join([*written, *commands])


def shown(arguments: tuple[str, ...]) -> Iterator[str]:
    """A command as a block of a page, in lines that fit."""
    parts = ["skipstack"]
    for word in arguments:
        value = parts[-1].startswith("--") and not word.startswith("-")  # stays with its option
        parts.append(f"{parts.pop()} {shlex.quote(word)}" if value else shlex.quote(word))
    lines, indent, more = [parts[0]], "    ", " \\"
    for part in parts[1:]:
        if len(f"{indent}  {lines[-1]} {part}{more}") > WIDTH:
            lines.append(part)
        else:
            lines[-1] += f" {part}"
    for place, line in enumerate(lines):
        yield f"{indent}{'  ' * (place > 0)}{line}{more * (place + 1 < len(lines))}"


def paper(table: str, row: str) -> PaperRow:
    """The row of a paper's table, or of what else it shows, as printed."""
    rows = {each.label: each for each in paper_rows(table)}
    if row not in rows:
        raise UserError(unknown("row", row, rows))
    return rows[row]


def paper_rows(table: str) -> Sequence[PaperRow]:
    """The rows of a paper's table, or of what else it shows, as printed."""
    name, _, label = table.partition("/")
    others = papers()[name].others if name in papers() else {}
    return others[label].rows if label in others else find_table(table).rows


def reflowed(text: str) -> str:
    """The page with lines that fit, where they are prose, and a single empty line between its blocks."""
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", text)]
    return "\n\n".join("\n".join(_lines(block)) for block in blocks if block.strip()) + "\n"


def _lines(block: str) -> Iterator[str]:
    if block.startswith(VERBATIM):
        yield from (line.rstrip() for line in block.splitlines())
        return
    for item in re.split(r"\n(?=- )", block):
        inner = "  " if item.startswith("- ") else ""
        solid = re.sub(r"`[^`]*`|\S+ ± [\d.–]+", lambda found: found[0].translate(SOLID), " ".join(item.split()))
        for line in textwrap.wrap(
            solid, WIDTH, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False
        ):
            yield line.replace("\N{NO-BREAK SPACE}", " ")


def _days(study: StudyFigures) -> Iterator[str]:
    times = [event.time for event in study.frames.past]
    for time in (times[0], times[-1]):
        yield datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")
