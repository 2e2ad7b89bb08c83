"""Finds the differences between a config and another one, such as its base."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.user_code.configs import known
from skipstack.spaces.paths import left_out, typed
from skipstack.spaces.subject import Scalar, Subject, leaves
from skipstack.spaces.trial import CODE, TrialConfig


def changes(config: Subject, base: Subject) -> dict[str, Scalar]:
    """Return the leaves of ``config``, by dotted path, that ``base`` lacks or that have another value in ``base``."""
    ours, theirs = _flattened(config, base)
    texts = {path: canonical_json(value) for path, value in theirs.items()}
    return {path: value for path, value in ours.items() if texts.get(path) != canonical_json(value)}


def differences(ours: Subject, theirs: Subject) -> Iterator[tuple[str, Scalar, Scalar]]:
    """Yield each path at which two configs differ, with its value in both: None in a config that lacks the path.

    The paths of ``ours`` come first.
    """
    here, there = _flattened(ours, theirs)
    for path in {**here, **there}:
        if here.get(path) != there.get(path):
            yield path, here.get(path), there.get(path)


def _flattened(one: Subject, other: Subject) -> tuple[dict[str, Scalar], dict[str, Scalar]]:
    """Return the leaves of two configs. A field that only one of them leaves out of its JSON text has its default."""
    trees = one.model_dump(mode="json"), other.model_dump(mode="json")
    ours, theirs = (dict(leaves(tree)) for tree in trees)
    for tree, found, others in ((trees[0], ours, theirs), (trees[1], theirs, ours)):
        missing = ((path, value) for path in others if path not in found for value in left_out(tree, path))
        found |= {path: value for path, value in missing if not isinstance(value, list | dict)}
    return ours, theirs


def chosen(changed: Mapping[str, Scalar], config: Subject) -> dict[str, Scalar]:
    """Return the settings that turn a base into ``config``, without settings that merely follow from others.

    ``changed``: the leaves in which ``config`` differs from the base, as ``changes`` returns them. If a mapping, such
    as the optimiser, has another ``kind`` than in the base, its other fields begin with that kind's defaults. So such a
    field is a setting if it differs from these defaults, whatever the base has. The files of users' code are left out,
    since they follow from the kinds.
    """
    if not isinstance(config, TrialConfig):
        return dict(changed)
    own = {path: value for path, value in {**config.flatten(), **changed}.items() if path != CODE}
    defaults: dict[str, Scalar] = {}
    switched = [path.removesuffix(".kind") for path in own if path in changed and path.endswith(".kind")]
    for path in switched:
        with suppress(ValueError), known(config.code):  # raised for a kind with a field that has no default
            defaults |= dict(leaves(typed(path, {"kind": own[f"{path}.kind"]}), path))
    kinds = {f"{path}.kind" for path in switched}
    return {
        path: value
        for path, value in own.items()
        if path in kinds
        or (canonical_json(value) != canonical_json(defaults.get(path)) if _within(path, switched) else path in changed)
    }


def _within(path: str, others: Sequence[str]) -> bool:
    return any(path.startswith(f"{other}.") for other in others)
