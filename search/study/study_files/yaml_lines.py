"""Reads YAML as plain data, with the line of each value, and writes plain data as YAML.

Only the part of YAML that corresponds to JSON is accepted. Scalars are read as in YAML 1.2. So ``no``, ``off`` and
``none`` are text, and ``1e-3`` is a number. Unlike in YAML 1.2, hexadecimal, octal and infinite numbers are text.
Aliases, scalars with custom tags, and repeated keys are errors.
"""

import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

import yaml

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.data.basis.printable import UNSEEN

Lines = dict[tuple[str | int, ...], int]
"""The line of each path, counted from 1. For a value in a mapping, it is the line of its key."""

LONGEST = 1_000_000
"""The maximum number of characters in a file."""


class _Loader(yaml.SafeLoader):
    """PyYAML's parser, but with the scalars of YAML 1.2 instead of 1.1, and without aliases."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        # Aliases are refused, since a few nested ones could expand to more than the memory holds.
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            alias = "an alias (*) is not allowed here (allowed: the value itself)"
            raise yaml.MarkedYAMLError(problem=alias, problem_mark=mark)
        return super().compose_node(parent, index)


_INTEGER, _NUMBER, _TRUTH, _NULL, _TEXT = (
    f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null", "str")
)
# The first pattern that matches determines the type. The lists have the characters with which a scalar may begin.
_Loader.add_implicit_resolver(_INTEGER, re.compile(r"[-+]?[0-9]+$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    _NUMBER, re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"), list("-+.0123456789")
)
_Loader.add_implicit_resolver(_TRUTH, re.compile(r"(true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver(_NULL, re.compile(r"(null|Null|NULL|~|)$"), ["n", "N", "~", ""])


class _Dumper(yaml.SafeDumper):
    """PyYAML's writer, but without aliases, and with quotes around each text that ``_Loader`` would read as something
    else, or that has invisible characters.
    """

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar(_TEXT, text, style='"' if UNSEEN.search(text) else None)


_Dumper.add_representer(str, _represent_text)

PROBLEMS = {
    "found character '\\t' that cannot start any token": "got a tab (allowed: blanks to indent, quotes around a tab)",
    "but found another document": "a second document begins here (allowed: one)",
    "mapping values are not allowed here": "got a ': ' too many (allowed: one in a line; quotes around others)",
    "could not find expected ':'": "got a line without a ': ' (allowed: a key and a value, as in `trials: 3`)",
    "but got '<stream end>'": "but the text ends",
}
"""Plain descriptions of frequent mistakes, by PyYAML's message or the end of that message."""


def read_yaml(text: str, file: str) -> tuple[Any, Lines]:
    """Read a YAML text. Returns its data (None for an empty text), and the line of each value by its path.

    ``file``: the name of the file in errors. Raises UserError for invalid YAML, and for a text of more than ``LONGEST``
    characters. The error begins with the file and, if known, the line.
    """
    if len(text) > LONGEST:
        raise UserError(f"{file}: got {len(text)} characters (allowed: {LONGEST})")
    try:
        node = yaml.compose(text, Loader=_Loader)
        lines: Lines = {}
        data = None if node is None else _plain(node, (), lines, file)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(str(error.problem or error.context).split())
        if error.context == "while scanning a quoted scalar" and error.context_mark and "end of stream" in what:
            mark, what = error.context_mark, "a quote is opened here and never closed"
        theirs = next((each for each in PROBLEMS if what.endswith(each)), "")
        what = what.removesuffix(theirs) + PROBLEMS.get(theirs, "")
        known = f":{mark.line + 1}" if mark else ""
        raise UserError(f"{file}{known}: broken YAML: {what}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UserError(f"{file}:{line}: broken YAML: character {error.character!r} is not allowed") from None
    except RecursionError:
        raise UserError(f"{file}: broken YAML: mappings and lists lie too deep in one another") from None
    return data, lines


def write_yaml(data: Any) -> str:
    """Write plain data (JSON values) as YAML. ``read_yaml`` reads the same data. An innermost mapping or list
    is written on one line if it fits.
    """
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    return text


def _plain(node: yaml.Node, path: tuple[str | int, ...], lines: Lines, file: str) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return {key: _plain(value, (*path, key), lines, file) for key, value in _items(node, path, lines, file)}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*path, number), lines, file) for number, item in enumerate(node.value)]
    return _scalar(node, file)


def _items(
    node: yaml.MappingNode, path: tuple[str | int, ...], lines: Lines, file: str
) -> Iterator[tuple[str, yaml.Node]]:
    first: dict[str, int] = {}
    for key_node, value in node.value:
        line = key_node.start_mark.line + 1
        key = _scalar(key_node, file) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            raise UserError(f"{file}:{line}: got a key that is not text (allowed: names; quote it if it is one)")
        if key in first:
            raise UserError(f"{file}:{line}: key {key!r} is given twice (first on line {first[key]})")
        first[key] = lines[*path, key] = line
        yield key, value


def _scalar(node: yaml.Node, file: str) -> Any:
    value = str(node.value)
    try:
        match node.tag:
            case tag if tag == _TEXT:
                return value
            case tag if tag == _INTEGER:
                return int(value)
            case tag if tag == _NUMBER and isfinite(number := float(value)):
                return number
            case tag if tag == _TRUTH:
                return {"true": True, "false": False}[value.lower()]
            case tag if tag == _NULL:
                return None
            case _:
                pass
    except (ValueError, KeyError):
        pass
    line = node.start_mark.line + 1
    tag = node.tag.replace("tag:yaml.org,2002:", "!!")
    marked = "" if tag == "!!float" else f" of {tag}"
    raise UserError(f"{file}:{line}: got {shown(value)}{marked} (allowed: text, finite numbers, true, false, null)")
