"""Loads and validates study files, which describe in YAML a space and how it is searched."""

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from skipstack.data.basis.errors import UserError, nearest_file, unknown
from skipstack.data.basis.explain import LONGEST_VALUE, explain, place, shown
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.user_code.configs import CodeFile, known
from skipstack.data.basis.user_code.files import check_distinct, code_path, read_code
from skipstack.data.corpora.named import find_card, named_corpora
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.study_files.document import (
    Document,
    FileContent,
    Raw,
    ValueSource,
    document,
    presets,
    read_document,
)
from skipstack.search.study.study_files.settings import (
    Known,
    Setting,
    added_constraints,
    corpus_setting,
    given_setting,
    parsed_setting,
)
from skipstack.spaces.activity import check_active
from skipstack.spaces.checks import SpaceError, in_order
from skipstack.spaces.config import DOMAINS, Axis, SpaceConfig
from skipstack.spaces.constraint_functions import ConstraintFunction
from skipstack.spaces.constraints import CONSTRAINTS
from skipstack.spaces.dependents import without_dependents
from skipstack.spaces.domains import Choice
from skipstack.spaces.fields import fields_of
from skipstack.spaces.function import RECORDED, Direction, FunctionConfig, FunctionSource
from skipstack.spaces.function_base import function_base
from skipstack.spaces.paths import read, trial_paths, written
from skipstack.spaces.probing import check_rules
from skipstack.spaces.rules import in_full
from skipstack.spaces.settled import typed_axes
from skipstack.spaces.space import Space
from skipstack.spaces.subject import leaves
from skipstack.spaces.trees import Tree
from skipstack.spaces.trial import TrialConfig

MAPPING = "study"
"""The name, in folders and errors, of a study that is passed as a mapping."""

EXPRESSION = r"\W"
"""The pattern, in the schema for editors, of constraints that are expressions and not names."""

SUFFIXES = (".yaml", ".yml")
Model = TypeVar("Model", bound=BaseModel)


def load_study(
    given: str | Path | Mapping[str, Any],
    *,
    scale: str | None = None,
    corpus: str | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    trials: int | None = None,
    hours: float | None = None,
    epochs: int | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    function: FunctionSource | None = None,
    constraints: Sequence[str | ConstraintFunction] = (),
) -> tuple[StudyConfig, Path]:
    """Load a study from a preset, a YAML file or a mapping.

    Returns its config, and the folder at which relative paths of corpora start: the folder of the file or, for a preset
    or a mapping, the working directory.

    ``given``: the name of a preset, the path of a file, or a mapping. ``scale``: one of ``scales()``; it is appended to
    the name of the study. ``corpus``: a named corpus or ``grammar``. ``overrides``: values that replace values of the
    study, given as texts ``PATH=VALUE`` with the value in YAML, or as a mapping of Python values by path. A path is a
    field of the base (``model.stack.hidden=32``), a field of the search (``search.scheduler=none``), a whole axis
    (``axes.model.stack.depth={choice: [1]}``; null removes it), ``constraints``, ``name`` or ``about``.
    ``constraints+=NAME`` adds a constraint. ``trials``, ``hours``, ``epochs``, ``seeds``, ``seed``: values for the
    fields of these names. ``function``: the function that trials call; None if they train networks. With a function,
    the base has values of the function's arguments, and a study from a mapping has the function's name.
    ``constraints``: constraints that are added to the study's own.

    ``constraints`` are applied first, then ``corpus``, then the numbers from ``trials`` to ``seed``, and ``overrides``
    last, in order. A setting of a field of the base fixes the field: axes at the field or inside it are removed. Axes
    that can no longer be active, because a field was fixed or an axis was replaced or removed, are removed as well
    (``StudyConfig.removed``). Another ``kind`` removes the fields of the old kind. The study's own code files
    (``code``) are loaded, and their code is run.

    Raises UserError for the first mistake, with its file and line or its option.
    """
    if isinstance(given, Mapping):
        name = MAPPING if function is None else function.name
        corpora, file = Path.cwd(), document(given, ValueSource(MAPPING), scale, of_function=function is not None)
    else:
        path, preset = find_study(given)
        if preset and function is not None:
            raise UserError(f"{preset}: a preset trains networks (allowed for a function: a space of its arguments)")
        name, corpora = preset or path.stem, Path.cwd() if preset else path.resolve().parent
        file = read_document(path, str(given), scale, of_function=function is not None)
    if scale is not None and scale not in file.scales:
        none = f"{file.source.name} has no scales (allowed: to leave it out)"
        raise UserError(f"--scale: {unknown('scale', scale, file.scales) if file.scales else none}")
    valid: Known = trial_paths
    if function is not None:
        function, epochs = _with_epochs(function, corpus, epochs), None
        valid = partial(_values, file.raw)
    code = _loaded(file, corpora)
    with known(code):
        numbers = {"trials": trials, "hours": hours, "epochs": epochs, "seeds": seeds, "seed": seed}
        overriding = _overriding(overrides, valid)
        settings = [*_settings(file.raw, corpus, numbers), *overriding]
        name = file.raw["name"] or name
        raw: Raw = {**file.raw, "name": name if scale is None else f"{name}-{scale}"}
        if constraints:
            settings.insert(0, added_constraints(constraints))
        for setting in settings:
            raw = setting.applied(raw)
        own = tuple(each for each in constraints if isinstance(each, ConstraintFunction))
        check = _Check(file.source, settings, constraints=len(file.raw["constraints"]))
        config = check.study(raw, code, own, function)
        told = tuple(str(each) for each in overriding if each.changes_space)
        return config.model_copy(update={"settings": told}), corpora


def check_unchanged(
    study: StudyConfig,
    overrides: Mapping[str, Any],
    *,
    trials: int | None,
    epochs: int | None,
    seeds: int | None,
    direction: Direction | None,
) -> None:
    """Raise UserError for the first value that differs from its value in ``study``, a begun study of a function.

    ``overrides``, ``trials``, ``epochs``, ``seeds``: as for ``load_study``. ``direction``: the score's direction.
    """
    base = study.space.base
    assert isinstance(base, FunctionConfig), "the study calls a function"
    dump = study.model_dump(mode="json")
    own = {"epochs": base.epochs, "direction": base.direction}
    raw: Raw = {**dump, **dump["space"], "base": base.values, "changed": {}, **own}
    given = {"epochs": epochs, "direction": direction}
    settings = [
        *_settings(raw, None, {"trials": trials, "seeds": seeds}),
        *(Setting(ValueSource(name), (name,), value) for name, value in given.items() if value is not None),
        *_overriding(overrides, partial(_values, raw)),
    ]
    with known(study.space.code):
        for setting in settings:
            now, whole = setting.applied(raw), _Check(setting.source, [setting], constraints=0).whole
            same = all(now[name] == raw[name] for name in ("base", *own))
            if not same or whole(now).model_dump_json() != whole(raw).model_dump_json():
                has = f"has {_found(study, raw, setting)} (allowed: to leave it out)"
                raise setting.source.error([], f"got {shown(setting.value)} for a study that was begun and {has}")


def _found(study: StudyConfig, raw: Raw, setting: Setting) -> str:
    """Return, as text, the value or the axis that ``study`` has at the path of a setting. ``raw``: the study's data."""
    axis = study.space.axes.get(".".join(setting.path[1:])) if setting.changes_space else None
    if axis is not None:
        return f"an axis of {shorten(str(axis.domain), LONGEST_VALUE, placeholder='...')}"
    found: Any = raw
    for part in setting.path:
        found = found.get(part) if isinstance(found, Mapping) else None
    return shown(found)


def _loaded(file: Document, folder: Path) -> tuple[CodeFile, ...]:
    """Load a study's own code files; their code is run. Raises UserError for a file that cannot be loaded. ``folder``:
    the folder at which relative paths start.
    """
    code: list[CodeFile] = []
    for number, name in enumerate(file.code):
        try:
            code.append(read_code(code_path(name, folder), name))
            check_distinct(code)
        except UserError as error:
            raise file.source.error(("code", number), str(error)) from None
    return tuple(code)


def _settings(raw: Raw, corpus: str | None, numbers: Mapping[str, float | None]) -> list[Setting]:
    """Create the settings of the options that abbreviate a path, in the order in which they are applied. ``numbers``:
    the values by the option's name; None for an option that is not set.
    """
    settings = [] if corpus is None else [corpus_setting(corpus, raw)]
    for option, value in numbers.items():
        if value is not None:
            at = "base.training.epochs" if option == "epochs" else f"search.{option}"
            settings.append(Setting(ValueSource(f"--{option} {value}"), tuple(at.split(".")), value))
    return settings


def _overriding(overrides: Sequence[str] | Mapping[str, Any], valid: Known) -> list[Setting]:
    """Create the settings of ``--set``, or of the library's argument ``settings``."""
    if isinstance(overrides, Mapping):
        return [given_setting(path, value, valid, ValueSource(f"settings {path}")) for path, value in overrides.items()]
    return [parsed_setting(text, valid) for text in overrides]


def _with_epochs(function: FunctionSource, corpus: str | None, epochs: int | None) -> FunctionSource:
    """Return the function with ``epochs`` as its maximum number of epochs; unchanged if ``epochs`` is None. Raises
    UserError if there is a ``corpus``, since functions read none, and for a number of epochs that is not allowed.
    """
    if corpus is not None:
        raise UserError(
            f"--corpus {corpus}: got it for a function, which reads its own data (allowed: to leave it out)"
        )
    if epochs is not None and epochs < 1:
        raise UserError(f"--epochs {epochs}: got {epochs} (allowed: 1 or more)")
    if epochs is not None and epochs > function.epochs == 1:
        raise UserError(
            f"--epochs {epochs}: got {epochs} for a function that returns its one score (allowed: to leave it out, or "
            "a second parameter, by which it reports)"
        )
    return function if epochs is None else function.model_copy(update={"epochs": epochs})


def _values(raw: Raw) -> Mapping[str, Any]:
    """Return a mapping whose keys are the paths that a study of a function may set. Its values are not used."""
    return {**dict(leaves(raw["base"])), **raw["axes"]}


def scales(name_or_path: str | Path) -> tuple[str, ...]:
    """Return the names of the scales at which a study can be loaded."""
    path, _ = find_study(name_or_path)
    return read_document(path, str(name_or_path)).scales


def find_study(name_or_path: str | Path) -> tuple[Path, str | None]:
    """Find a study file. Return its path and the name of the preset, or None if it is no preset. A file takes
    precedence over a preset of the same name. Raises UserError if there is neither.
    """
    path, name = Path(name_or_path), str(name_or_path)
    if path.is_file():
        if path.suffix == ".py":
            raise UserError(
                f"{name}: got Python (allowed: a study file in YAML, or a preset; a function is searched in Python, by "
                "skipstack.search(SPACE, FUNCTION))"
            )
        return path, None
    if name in presets():
        return presets()[name], name
    if name and StudyFolder(path).ledger.exists():
        again = shlex.join(["skipstack", "extend", name, "--trials", "N"])
        raise UserError(f"{name}: a study that was begun (allowed: a study file, or a preset; `{again}` adds trials)")
    if name and path.is_dir():
        raise UserError(f"{name}: a folder without a study (allowed: a study file in YAML, or a preset)")
    if path.suffix in SUFFIXES:
        near = nearest_file(path)
        nearest = f"nearest: {near}; " if near else ""
        raise UserError(f"no study file {name} ({nearest}allowed: a YAML file, or a preset: {', '.join(presets())})")
    if name in named_corpora():
        raise UserError(f"{name}: a corpus (allowed: a study file, or a preset, with --corpus {name})")
    files = (name + suffix for suffix in SUFFIXES)
    raise UserError(unknown("study", name, presets(), next((file for file in files if Path(file).is_file()), None)))


class _Whole(Frozen):
    """The content of a complete study, without its base."""

    name: Annotated[str, Field(min_length=1)]
    about: str
    axes: dict[str, Axis]
    constraints: tuple[str, ...]
    search: SearchConfig


class _Check:
    """Validates a complete study.

    An error names the last of the ``settings`` that sets the wrong value, a mapping that contains it, or a field inside
    it. Without such a setting, the error names the ``file``. ``constraints``: the number of constraints in the file,
    without those that settings add.
    """

    def __init__(self, file: ValueSource, settings: Sequence[Setting], *, constraints: int) -> None:
        self._file = file
        self._settings = settings
        self._constraints = constraints

    def study(
        self,
        raw: Raw,
        code: tuple[CodeFile, ...],
        functions: tuple[ConstraintFunction, ...],
        function: FunctionSource | None,
    ) -> StudyConfig:
        """Return the validated config of the study with the data ``raw``. Raises UserError for a mistake.

        ``code``: the user's code files. ``functions``: the constraints that are Python functions. ``function``: the
        function that trials call; None if they train networks.
        """
        network = self._valid(TrialConfig, raw["base"], ("base",)) if function is None else None
        whole = self.whole(raw)
        base = self._called(function, raw["base"], whole) if network is None else network
        config = SpaceConfig(
            code=code, base=base, axes=whole.axes, constraints=whole.constraints, constraint_functions=functions
        )
        try:
            with known(code):
                tree = base.model_dump(mode="json")
                fields = fields_of(config, tree)
                config = config.model_copy(update={"axes": in_order(config.axes, fields)})
                config, removed = without_dependents(config, tree, fields, raw["changed"])
            space = Space(config)
            check_active(space)
            check_rules(space, config.constraints)
        except SpaceError as error:
            raise self._author(error.where).error(error.where, str(error)) from None
        if network is not None:
            self._check_corpora(network, space)
            config = config.model_copy(update={"axes": typed_axes(space, config.axes)})
        config = config.model_copy(update={"constraints": in_full(space.rules, config.constraints)})
        return StudyConfig(name=whole.name, about=whole.about, space=config, search=whole.search, removed=removed)

    def whole(self, raw: Raw) -> _Whole:
        """Return the validated content of the study with the data ``raw``, without its base. Raises UserError for a
        mistake.
        """
        return self._valid(_Whole, {key: raw[key] for key in _Whole.model_fields}, ())

    def _called(self, function: FunctionSource | None, values: Raw, whole: "_Whole") -> FunctionConfig:
        """Return the base config of a study whose trials call a function. If the objectives of the search have
        directions, the first objective gives the function's score its name and direction.
        """
        assert function is not None, "other trials train a network"
        for score, direction in [*whole.search.reported.items()][:1]:
            function = function.model_copy(update={"score": score, "direction": RECORDED[direction]})
        try:
            return function_base(function, values, whole.axes)
        except UserError as error:
            raise self._author(("base",)).error(["base"], str(error)) from None

    def _author(self, path: Sequence[str | int]) -> ValueSource:
        near = [each for each in self._settings if all(a == b for a, b in zip(each.path, path, strict=False))]
        if path[:1] == ("constraints",) and len(path) > 1 and isinstance(path[1], int) and path[1] < self._constraints:
            near = [each for each in near if not each.adds]
        return near[-1].source if near else self._file

    def _valid(self, model: type[Model], value: object, under: tuple[str, ...]) -> Model:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            author = self._author((*under, *place(error, model)))
            inside = {path: line for path, line in (author.lines or {}).items() if path[: len(under)] == under}
            lines = {path[len(under) :]: line for path, line in inside.items()}
            raise UserError(explain(error, model, lines=lines, file=author.name)) from None

    def _check_corpora(self, base: TrialConfig, space: Space) -> None:
        """Check the names and options of corpora in the base and on the axes, without reading their files."""
        tree = base.model_dump(mode="json")
        self._check_corpus(tree, ("base", "data", "corpus"))
        for path in ("data.corpus", "data.corpus.name", "data.corpus.tags", "data.corpus.held_out"):
            domain = space.domains.get(path)
            for value in domain.values if isinstance(domain, Choice) else ():
                self._check_corpus(written(tree, path, value), ("axes", path, "choice"))

    def _check_corpus(self, tree: Tree, where: tuple[str, ...]) -> None:
        corpus: Any = read(tree, "data.corpus")
        if corpus["kind"] != "named" or corpus["name"] is None:
            return
        try:
            card = find_card(corpus["name"])
            card.layer(corpus["tags"])
            card.divided(corpus["held_out"])
        except UserError as error:
            raise self._author(where).error(where, str(error)) from None


def schema(code: tuple[CodeFile, ...] = ()) -> dict[str, Any]:
    """Return the JSON schema of a study file, for editors, with all valid paths of axes and all names of constraints.
    ``code``: the user's code files, whose components and constraints are included.
    """
    with known(code):
        tree: dict[str, Any] = _optional(FileContent.model_json_schema())
        paths = list(trial_paths())
    own = [*CONSTRAINTS, *(name for file in code for name in file.constraints)]
    tree["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    tree["title"] = "A study file of skipstack"
    for part in (tree, tree["$defs"]["Scale"]):
        part["properties"]["axes"]["propertyNames"] = {"enum": paths}
        part["properties"]["constraints"]["anyOf"][0]["items"] = {
            "anyOf": [{"enum": own}, {"type": "string", "pattern": EXPRESSION}]
        }
    tree["$defs"]["Axis"]["oneOf"] = [{"required": [kind]} for kind in DOMAINS]
    return tree


def _optional(schema: Any) -> Any:
    """Return the schema for partial values: no field is required, and unions need no ``kind``."""
    match schema:
        case Mapping():
            renamed = {"oneOf": "anyOf"} if "discriminator" in schema else {}
            kept = {renamed.get(key, key): value for key, value in schema.items() if key != "discriminator"}
            if isinstance(kept.get("required"), list):
                del kept["required"]
            return {key: _optional(value) for key, value in kept.items()}
        case list():
            return [_optional(item) for item in schema]
        case _:
            return schema
