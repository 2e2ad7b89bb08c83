"""Rules: a study's own constraints, which are expressions over axes or Python functions of their values.

A rule names axes and fields of the base. It holds if one of these axes is inactive. It also holds if one of these
fields does not exist, because another kind is chosen.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.basis.explain import shown
from skipstack.data.basis.user_code.configs import loaded
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.constraint_functions import given_function
from skipstack.spaces.constraints import CONSTRAINTS
from skipstack.spaces.domains import Json
from skipstack.spaces.expressions import is_name, parsed
from skipstack.spaces.function import FUNCTION
from skipstack.spaces.paths import inside, present, read
from skipstack.spaces.short_names import meant, names, only
from skipstack.spaces.subject import leaves
from skipstack.spaces.trees import Tree
from skipstack.spaces.trial import CODE, TrialConfig

DOT: Final = "__"
"""The text that stands for a dot in the name of a function's parameter: ``stack__depth`` means ``stack.depth``."""

Decide = Callable[[Mapping[str, Json]], object]


class UndecidedError(UserError):
    """Raised if a rule is neither true nor false at a point: it cannot be computed, or its result is no boolean."""


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """A study's own constraint.

    ``text``: the expression, or the name of the function.
    ``function``: the file of the Python function; None for an expression.
    ``paths``: the path that each name in the rule means.
    ``axes``: the axes that vary these paths.
    ``decide``: computes the rule from the value of each name; None if the function's code is not loaded.
    """

    text: str
    function: str | None
    paths: Mapping[str, str]
    axes: tuple[str, ...]
    decide: Decide | None

    @property
    def about(self) -> str:
        """The rule's function and paths, in words. Empty for an expression, since its text already shows them."""
        return "" if self.function is None else f"a function of {self.function}, of {', '.join(self.paths.values())}"

    def refusal(self, tree: Tree, active: Iterable[str]) -> str | None:
        """Return why the config ``tree`` breaks the rule, or why the rule is undecided. None if the rule holds."""
        try:
            return None if self.holds(tree, active) else f"constraint {self.text}"
        except UndecidedError as error:
            return str(error)

    def holds(self, tree: Tree, active: Iterable[str]) -> bool:
        """Whether the config ``tree``, with axes ``active``, keeps the rule. Raises UndecidedError if undecided."""
        if self.decide is None:
            raise UndecidedError(f"constraint {self.text}: its code is not loaded")
        if not all(axis in active for axis in self.axes) or not all(
            present(tree, path) for path in self.paths.values()
        ):
            return True
        values = {name: read(tree, path) for name, path in self.paths.items()}
        try:
            found = self.decide(values)
        except Exception as error:  # noqa: BLE001 (any error of the user's function, or of values that do not fit)
            raise UndecidedError(f"{self._at(values)} cannot be computed: {one_line(error)}") from None
        if not isinstance(found, bool | np.bool_):
            raise UndecidedError(f"{self._at(values)}: got {shown(found)} (allowed: true or false)")
        return bool(found)

    def _at(self, values: Mapping[str, Json]) -> str:
        return f"constraint {self.text} at {', '.join(f'{name} {shown(value)}' for name, value in values.items())}"


def rules_of(text: str, config: SpaceConfig, base: Tree, has: Callable[[str], bool]) -> list[Rule]:
    """Return a list with the rule that a constraint's text means. The list is empty for a built-in named constraint.

    ``base``: the base as a tree. ``has``: returns whether configs can have a path. Raises UserError for a text that is
    not a constraint.
    """
    if text in CONSTRAINTS:
        return []
    meaning = _Names(config, base, has)
    return [_function(text, config, meaning) or _expression(text, config, meaning)]


def in_full(rules: Sequence[Rule], constraints: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a space's constraints with whole paths in place of short names.

    Texts with whole paths keep their meaning if other axes are added. A path that no expression can have, such as
    ``layer-1.size``, keeps its short name. ``rules``: the rules among the constraints.
    """
    own = {
        rule.text: parsed(rule.text).renamed(
            {name: path if is_name(path) else name for name, path in rule.paths.items()}
        )
        for rule in rules
        if rule.function is None
    }
    return tuple(own.get(text, text) for text in constraints)


def functions_of(config: SpaceConfig) -> list[str]:
    """Return the names of the Python functions that may be constraints of the space."""
    own = [record.name for record in config.constraint_functions]
    return own + [name for file in config.code for name in file.constraints]


def _expression(text: str, config: SpaceConfig, meaning: "_Names") -> Rule:
    if text.isidentifier() and not meaning.all_of(text):
        ours = CONSTRAINTS if isinstance(config.base, TrialConfig) else meaning.short
        raise UserError(unknown("constraint", text, [*functions_of(config), *ours]))
    try:
        expression = parsed(text)
        if not expression.names:
            raise UserError("got no axis (allowed: an expression with names of axes)")
        paths = {name: meaning.of(name) for name in expression.names}
    except UserError as error:
        raise UserError(f"constraint {shown(text)}: {error}") from None
    return Rule(text, None, paths, meaning.axes(paths.values()), expression.compute)


def _function(text: str, config: SpaceConfig, meaning: "_Names") -> Rule | None:
    """Return the rule of the function ``text``, if any. Raises UserError for a parameter that means no path."""
    parameters: Sequence[str]
    for record in config.constraint_functions:
        if record.name == text:
            where, parameters, function = record.file or "a Python session", record.parameters, given_function(record)
            break
    else:
        file = next((file for file in config.code if text in file.constraints), None)
        if file is None:
            return None
        where, parameters = file.name, file.constraints[text]
        function = loaded[file.sha256].constraints[text] if file.sha256 in loaded else None
    try:
        paths = {name: meaning.of(name, name.replace(DOT, ".")) for name in parameters}
    except UserError as error:
        raise UserError(f"constraint {text} of {where}: {error}") from None
    decide = None if function is None else lambda values: function(**values)
    return Rule(text, where, paths, meaning.axes(paths.values()), decide)


class _Names:
    """Resolves names to paths. A name is a path, or an unambiguous end of an axis's path or, failing that, of a field's
    path.
    """

    def __init__(self, config: SpaceConfig, base: Tree, has: Callable[[str], bool]) -> None:
        self._axes = tuple(config.axes)
        self._fields = [path for path, _ in leaves({key: base[key] for key in base if key not in (CODE, FUNCTION)})]
        self._has = has
        self._base = base

    @property
    def short(self) -> Sequence[str]:
        """The short names of the axes. If the space has no axes, the short names of the fields of the base."""
        return names(self._axes or self._fields)

    def of(self, name: str, dotted: str | None = None) -> str:
        """Return the path that a name means. ``dotted``: another spelling, tried if ``name`` means no path.

        Raises UserError if the name means no path, or several.
        """
        return only(name, self.all_of(name) or self.all_of(dotted or name), self.short)

    def all_of(self, name: str) -> list[str]:
        """Return all paths that a name may mean."""
        if name in self._axes or (self._has(name) and not self._is_mapping(name)):
            return [name]
        return meant(name, self._axes) or meant(name, self._fields)

    def axes(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return the axes that vary a field in ``paths``, or a mapping that contains one."""
        return tuple(dict.fromkeys(axis for path in paths for axis in self._axes if inside(path, axis)))

    def _is_mapping(self, path: str) -> bool:
        return present(self._base, path) and isinstance(read(self._base, path), Mapping)
