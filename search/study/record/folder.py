"""The files and folders in a study's folder: the ledger, the corpora, and the files of the trials."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skipstack.data.basis.atomic_files import atomic_folder, fsync_path, refused_where_unwritable
from skipstack.data.basis.errors import UserError, missing_here
from skipstack.search.ledger.events import CorpusPrepared, VectorsPrepared

CHECKPOINT = "checkpoint.safetensors"
"""The file in a trial's folder from which a running trial is resumed: its state after the latest epoch."""

BEST = "best.safetensors"
"""The file in a trial's folder with the weights of all lanes (one per seed) at the trial's best epoch."""

CALL_CHECKPOINTS = "checkpoints"
"""The folder in a trial's folder with the checkpoints of a user's function (``call_checkpoints.py``)."""

ARTIFACTS = "artifacts"
"""The folder in a trial's folder with the files that the calls of a user's function asked to keep."""

MODELS = "models"
"""The folder in a trial's folder with the models that a user's function reported (``call_models.py``)."""

LOG = "log.txt"
"""The file in a trial's folder with the output, the warnings and the tracebacks of the trial's processes."""

GROUP = "seeds-from-{}"
"""The folder in a trial's folder with the files of a group of seeds while it is trained. Only the second and later
groups of racing seeds have one; its name ends with the number of seeds before the group.
"""

TRIALS, ABLATIONS = "trials", "ablations"
"""The folder of the search's trials, and the folder of ablations: each ablation's number names a folder of trials."""


class StudyFolder:
    """The paths in a study's folder. ``ablation``: the ablation that the trials belong to; None for the search."""

    def __init__(self, path: Path, ablation: int | None = None) -> None:
        self.path = path
        self.ablation = ablation
        self.ledger = path / "ledger"
        self.corpora = path / "corpora"
        self.trials = path / TRIALS if ablation is None else path / ABLATIONS / str(ablation)
        self.frames = path / "frames"
        self.asked = path / "asked"
        self.runs_database = path / "mlflow.db"

    def trial(self, number: int) -> Path:
        """Return the folder of a trial."""
        return self.trials / f"{number:06d}"

    def log(self, number: int) -> Path:
        """Return the log file of a trial."""
        return self.trial(number) / LOG

    def log_command(self, number: int) -> str | None:
        """Return the command that prints the log of a trial; None if the log is empty or missing."""
        try:
            if not self.log(number).stat().st_size:
                return None
        except OSError:
            return None
        own = [] if self.ablation is None else ["--ablation", str(self.ablation)]
        return shlex.join(["skipstack", "log", str(self.path), str(number), *own])

    def log_named(self, number: int) -> str:
        """Return the end of a line about a trial: the command that prints its log; empty if there is no log."""
        command = self.log_command(number)
        return "" if command is None else f"; its log: `{command}`"

    def fsync_weights(self, number: int) -> None:
        """Flush the best weights of a trial to the disk. Call this before the trial's end is written to the ledger,
        since an end is final. Files that another machine wrote are on a shared disk once that machine has closed them.
        """
        best = self.trial(number) / BEST
        for path in (best, best.parent, self.trials) if best.exists() else ():
            fsync_path(path)

    def stored(self, prepared: CorpusPrepared | VectorsPrepared) -> Path:
        """Return the folder in which a prepared corpus or pretrained vectors are stored. Raises UserError if its name
        leads out of the corpora's folder. The name comes from a ledger, which is not trusted.
        """
        name = prepared.store
        if Path(name).name != name or name in ("", "..") or "\0" in name:
            raise UserError(f"{self.ledger}: got the store {name!r} (allowed: a name in {self.corpora})")
        return self.corpora / name

    @classmethod
    def existing(cls, path: Path) -> "StudyFolder":
        """Return the folder of an existing study. Raises UserError if there is no study at ``path``."""
        folder = cls(path)
        if not folder.ledger.is_dir():
            raise missing_here(path, "study", "a folder that `skipstack search --out` made")
        return folder


def delete_checkpoints(folder: Path) -> None:
    """Delete all files from which the trial in ``folder`` would continue. Another process may do the same meanwhile."""
    (folder / CHECKPOINT).unlink(missing_ok=True)
    for further in [*folder.glob(GROUP.format("*")), folder / CALL_CHECKPOINTS]:
        while further.exists():
            with suppress(FileNotFoundError):  # the other process has deleted it
                shutil.rmtree(further)


def make_trial_folder(folder: Path) -> None:
    """Create the folder of a trial, or a folder in it, unless it exists. Raises FileNotFoundError if the study's folder
    was moved or deleted, so that it is not created again without its ledger.
    """
    study = next((parent.parent for parent in folder.parents if parent.name in (TRIALS, ABLATIONS)), None)
    if study is not None:
        study.stat()
    folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[StudyFolder]:
    """Yield a temporary study folder to fill. If no error occurs, it is renamed to ``path`` at the end. Raises
    UserError if ``path`` is taken, at the beginning or at the end, and if no folder can be created there.
    """
    with refused_where_unwritable(path):
        _check_free(path)
        _check_name(path)
        try:
            with atomic_folder(path) as temporary:
                yield StudyFolder(temporary)
        except OSError:
            _check_free(path)  # another search may have taken the path meanwhile
            raise


def _check_free(path: Path) -> None:
    if StudyFolder(path).ledger.exists():
        resume = shlex.join(["skipstack", "resume", str(path)])
        raise UserError(f"{path}: holds a study already (allowed: a new folder, or `{resume}`)")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{path}: is not an empty folder (allowed: a new folder for the study)")
    if path.is_symlink() and not path.exists():
        raise UserError(f"{path}: is a link to {path.readlink()}, where nothing is (allowed: a new folder)")
    if path.resolve() == Path.cwd():
        raise UserError(f"{path}: is the working directory (allowed: a new folder, such as one in it)")


def _check_name(path: Path) -> None:
    if path.name in ("", ".."):
        raise UserError(f"{path}: does not name a new folder (allowed: a path that ends in its name)")
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise UserError(f"{path}: is not UTF-8 (allowed: a path of UTF-8 alone, since records name it)") from None


def free_name(parent: Path, name: str) -> Path:
    """Return the first unused path under ``parent`` of ``name``, ``name-2``, ...; a ``/`` in the name becomes ``-``."""
    stem = name.replace("/", "-")
    path, number = parent / stem, 2
    while path.exists():
        path, number = parent / f"{stem}-{number}", number + 1
    return path
