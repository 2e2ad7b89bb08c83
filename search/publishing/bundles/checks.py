"""Checks the contents of a bundle's files, and the network's size, before the network is built."""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    RootModel,
    ValidationError,
    model_validator,
)

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.printable import UNSEEN
from skipstack.data.labels.schemes import Scheme
from skipstack.data.tasks.tasks import TaskName
from skipstack.search.publishing.bundles.files import parsed

PARTS = ("depth", "highways", "sets")
"""Config fields that count components of a network. Each component has a tensor, so weights limit these fields."""

FARTHEST = 1000
"""The maximum of ``reach``: how many time steps back the farthest state is read. Weights do not limit this field."""

TrainedOn = Literal["train", "train and dev"]
"""The splits on which a network was trained."""

Shapes = Mapping[str, tuple[int, ...]]
"""The shapes of the weights by name."""


def _of_one_line(tag: str) -> str:
    if UNSEEN.search(tag):
        raise ValueError(f"got the tag {tag!r} (allowed: tags on one line, without control characters)")
    return tag


class Provenance(Frozen):
    """The origin of a network's bundle, and the kind of its tags.

    ``study``, ``trial``: the study's name and the trial's number. ``config_identity``: the hash of the trial's config.
    ``seeds``: the seed of each network in the bundle, one or more. ``epochs``: the number of epochs for which each
    network was trained, in the same order. ``trained_on``: the splits used for training. ``corpus_fingerprint``: the
    hash of the corpus's content. ``scheme``: the scheme of the tags; None if they have none. ``task``: the corpus's
    task. ``code_version``: the version of skipstack. ``vectors_sha256``: the hash of the pretrained vectors; None
    without any.
    """

    study: str
    trial: NonNegativeInt
    config_identity: str
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    epochs: tuple[NonNegativeInt, ...]
    trained_on: TrainedOn = "train"
    corpus_fingerprint: str
    scheme: Scheme | None
    task: TaskName
    code_version: str
    vectors_sha256: str | None = None

    @model_validator(mode="after")
    def _have_epochs_each(self) -> Self:
        if len(self.epochs) != len(self.seeds):
            raise ValueError(f"got epochs of {len(self.epochs)} networks, allowed: of {len(self.seeds)}, as of seeds")
        return self


class Tags(RootModel[tuple[Annotated[str, AfterValidator(_of_one_line)], ...]]):
    """The content of ``tags.json``: the labels that the network predicts, in the order of their ids."""

    @model_validator(mode="after")
    def _differ(self) -> Self:
        twice = [tag for tag, count in Counter(self.root).items() if count > 1]
        if twice:
            raise ValueError(f"got the tag {twice[0]!r} twice, allowed: once")
        return self


class CheckedMetrics(RootModel[dict[str, dict[str, NonNegativeInt | NonNegativeFloat]]]):
    """The content of ``metrics.json``: non-negative numbers by split and name."""


Read = TypeVar("Read", bound=BaseModel)


def checked(path: Path, files: Mapping[str, bytes], name: str, model: type[Read]) -> Read:
    """Parse and validate the JSON file ``name`` of the bundle at ``path``. Raises UserError if it is invalid."""
    return validated(path, name, parsed(f"{path / name}", files[name]), model)


def validated(path: Path, name: str, value: Any, model: type[Read]) -> Read:
    """Validate the parsed content ``value`` of the bundle's file ``name``. Raises UserError if it is invalid."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise UserError(" ".join(explain(error, model, file=f"{path / name}").split())) from None


def check_extent(path: Path, config: Any, found: Shapes) -> None:
    """Raise UserError if an untrusted config describes a network too large for weights of the shapes ``found``. Fields
    in ``PARTS`` must not exceed the number of tensors, ``reach`` must not exceed ``FARTHEST``, and other integers must
    not exceed the total number of elements.

    Call this before the config is validated, since validation takes time in proportion to the depth.
    """
    elements = sum(prod(shape) for shape in found.values())
    for place, number in _integers(config.get("model") if isinstance(config, Mapping) else None, ()):
        most = {"reach": FARTHEST, **dict.fromkeys(PARTS, len(found))}.get(place[-1], elements)
        if number > most:
            where = f"{path / 'config.json'}: {'.'.join(('model', *place))}"
            raise UserError(f"{where}: got {number} (allowed: {most:,} at most, by the weights; they do not fit)")


def _integers(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yields the integers in a JSON value, each with the keys that lead to it."""
    match value:
        case bool():
            return
        case int():
            yield place or ("",), value
        case Mapping():
            for key, each in value.items():
                yield from _integers(each, (*place, str(key)))
        case list():
            for each in value:
                yield from _integers(each, place)


def check_shapes(found: Shapes, wanted: Shapes) -> None:
    """Raise ValueError unless the tensors ``found`` in a file have exactly the names and shapes ``wanted``."""
    for name in dict.fromkeys([*wanted, *found]):
        if wanted.get(name) != found.get(name):
            raise ValueError(f"{name[:60]}: got {found.get(name, 'nothing')}, allowed: {wanted.get(name, 'nothing')}")
