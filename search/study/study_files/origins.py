"""Finds the origin of each field that a study sets: its file, a preset that the file extends, or a scale of these.
Files are merged as in ``document.py``. Each value carries its origin, so that the two are replaced together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skipstack.search.study.study_files.document import FileContent, Scale, merged, presets
from skipstack.search.study.study_files.study_file import find_study
from skipstack.search.study.study_files.yaml_lines import read_yaml
from skipstack.spaces.subject import Scalar, leaves

DEFAULT = "default"
"""The origin that tables show for fields that no file sets; ``origins`` leaves these fields out."""


@dataclass(frozen=True, slots=True)
class _Authored:
    """A ``value`` with its origin, ``author``, which comparisons ignore."""

    value: Scalar | tuple[Any, ...]
    author: str = field(compare=False)


def origins(name_or_path: str | Path, scale: str | None = None) -> Mapping[str, str]:
    """Return the origin of each field of the base and of the search that a study sets, by dotted path.

    Paths in the base do not begin with ``base``. An origin is the name of the study's preset or file, or of a preset
    that it extends. For a value from a scale, the name of the scale follows, as in ``tagger (small)``. Call this only
    for a study that ``load_study`` has loaded without an error.
    """
    path, preset = find_study(name_or_path)
    tree = _authored_tree(path, preset or path.name, scale)
    found: list[tuple[str, Any]] = [*leaves(tree["base"]), *leaves(tree["search"], "search")]
    return {dotted: value.author for dotted, value in found}


def _authored_tree(path: Path, name: str, scale: str | None) -> Mapping[str, Any]:
    data, _ = read_yaml(path.read_text(encoding="utf-8"), name)
    file = FileContent.model_validate(data or {})
    below: Mapping[str, Any] = {"base": {}, "search": {}}
    if file.extends is not None:
        below = _authored_tree(presets()[file.extends], file.extends, scale)
    tree = _over(below, file, name)
    return _over(tree, file.scales[scale], f"{name} ({scale})") if scale in file.scales else tree


def _over(below: Mapping[str, Any], above: FileContent | Scale, author: str) -> Mapping[str, Any]:
    parts = {"base": above.base, "search": above.search}
    return {part: merged(below[part], _with_author(own, author)) for part, own in parts.items()}


def _with_author(value: Any, author: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_author(item, author) for key, item in value.items()}
    return _Authored(value, author)
