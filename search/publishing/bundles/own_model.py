"""Bundles of kind ``own``: the files of the model that a user's function reported. Loading one runs and unpickles
nothing.

config.json      the trial's config              scores.json      metrics of each call at the model's epoch
model/...        the files of the model          provenance.json  study, trial, call and epoch of the model
README.md        the card                        versions.json    packages that the function's process had loaded
manifest.json    size and SHA-256 of the other files
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from pydantic import JsonValue, NonNegativeInt, RootModel

from skipstack.data.basis.atomic_files import atomic_folder, refused_where_unwritable
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import Frozen
from skipstack.search.publishing.bundles.checks import checked
from skipstack.search.publishing.bundles.files import MODEL, OWN_FILES, card_of, check_sealed, manifest_of, unsealed
from skipstack.search.publishing.bundles.sources import source_at
from skipstack.spaces.function import FunctionConfig, FunctionSource


class OwnProvenance(Frozen):
    """The origin of a function's model.

    ``study``, ``trial``: the study's name and the trial's number. ``trials``: the number of trials with a score, from
    which this trial was chosen. ``config_identity``: the hash of the trial's config. ``function``: the function's name
    and source. ``seed``: the seed of the call that reported the model. ``replicate``: the call's replicate; empty if
    the study has no replicates. ``epoch``: the epoch after which the model was reported. ``best_epoch``: the trial's
    best epoch. ``code_version``: the version of skipstack.
    """

    study: str
    trial: NonNegativeInt
    trials: NonNegativeInt
    config_identity: str
    function: FunctionSource
    seed: int
    replicate: dict[str, JsonValue]
    epoch: NonNegativeInt
    best_epoch: NonNegativeInt
    code_version: str

    @property
    def call(self) -> str:
        """The call in words, such as ``seed 3`` or ``seed 0, fold 2``."""
        return ", ".join(f"{name} {value}" for name, value in {"seed": self.seed, **self.replicate}.items())


class Scores(RootModel[dict[str, dict[str, float]]]):
    """The content of ``scores.json``: the finite metrics at the model's epoch, by call and metric name."""


class Versions(RootModel[dict[str, str]]):
    """The content of ``versions.json``: the versions of Python and of packages, by name."""


@final
@dataclass(frozen=True, slots=True)
class OwnModel:
    """A bundle of the model that a user's function reported. ``skipstack.load_own`` reads it; ``save`` writes the
    model's files.

    ``path``: the path of the bundle. ``config``: the values with which the function was called. ``scores``: the metrics
    that each call of the trial reported, by the call in words and the metric's name. ``provenance``: the origin of the
    model. ``versions``: the versions of the packages that the function's process had loaded. ``card``: the bundle's
    card, in Markdown. ``files``: the size in bytes of each file of the model, by its path in the bundle's folder
    ``model``.
    """

    path: Path
    config: FunctionConfig
    scores: Mapping[str, Mapping[str, float]]
    provenance: OwnProvenance
    versions: Mapping[str, str]
    card: str
    files: Mapping[str, int]

    @property
    def values(self) -> Mapping[str, Any]:
        """The values with which the function was called, by name: values of axes, and fixed values of the base."""
        return self.config.values

    def save(self, to: str | Path) -> Path:
        """Write the model's files into the new folder ``to``, and check their hashes. Returns the path of the reported
        file or folder in ``to``. Raises UserError if ``to`` exists or cannot be written, or if the bundle is damaged.
        """
        to = Path(to)
        if to.exists():
            raise UserError(f"{to}: exists (allowed: a new folder for the files of the model)")
        with source_at(self.path) as source, refused_where_unwritable(to), atomic_folder(to) as beside:
            for name, sealed in manifest_of(self.path, source).files.items():
                if name not in OWN_FILES:
                    file = beside / name.removeprefix(f"{MODEL}/")
                    file.parent.mkdir(parents=True, exist_ok=True)
                    check_sealed(self.path, name, source, sealed, file)
        return to / next(iter(self.files)).partition("/")[0]


def load_own(path: Path) -> OwnModel:
    """Read the bundle of kind ``own`` at ``path``, a folder or a .zip, which may be untrusted. The hash of every file
    is checked; no file is run, unpickled or unpacked.

    Raises UserError, with a message of one line, for the bundle of a network, and for a file that is missing, damaged,
    larger than the manifest says, or outside the bundle.
    """
    with source_at(path) as source:
        manifest = manifest_of(path, source)
        if manifest.kind != "own":
            raise UserError(
                f"{path}: is the bundle of a network (allowed: skipstack.load, or one of a function's model)"
            )
        texts = {name: unsealed(path, name, source, manifest.files[name]) for name in OWN_FILES}
        files = {name: sealed for name, sealed in manifest.files.items() if name not in OWN_FILES}
        if not files:
            raise UserError(f"{path}: has no file of a model (allowed: one or more below {MODEL}/)")
        for name, sealed in files.items():
            check_sealed(path, name, source, sealed)
    return OwnModel(
        path=path,
        config=checked(path, texts, "config.json", FunctionConfig),
        scores=checked(path, texts, "scores.json", Scores).root,
        provenance=checked(path, texts, "provenance.json", OwnProvenance),
        versions=checked(path, texts, "versions.json", Versions).root,
        card=card_of(path, texts),
        files={name.removeprefix(f"{MODEL}/"): sealed.bytes for name, sealed in files.items()},
    )
