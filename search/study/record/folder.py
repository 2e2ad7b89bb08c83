"""The paths in a study's folder: the ledger, the corpora, the weights of the trials."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skipstack.data.basis.atomic_files import atomic_folder, fsync_path, refused_where_unwritable
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import CorpusPrepared, VectorsPrepared

CHECKPOINT = "checkpoint.safetensors"
"""The file in a trial's folder with the last epoch of a running trial, from which it is resumed."""

BEST = "best.safetensors"
"""The file in a trial's folder with the weights of all lanes at the trial's best epoch."""

CALL_CHECKPOINTS = "checkpoints"
"""The folder in a trial's folder with the checkpoints from which the calls of a user's function go on
(``search/execution/workers/call_checkpoints.py``).
"""

ARTIFACTS = "artifacts"
"""The folder in a trial's folder with the files that a user's function gave to be kept, by its calls."""

MODELS = "models"
"""The folder in a trial's folder with the models that a user's function gave with its reports
(``search/study/record/call_models.py``).
"""

LOG = "log.txt"
"""The file in a trial's folder with the output and warnings of its processes, and its tracebacks."""

GROUP = "seeds-from-{}"
"""The folder in a trial's folder with the files of further seeds while they are trained, if seeds race."""

TRIALS, ABLATIONS = "trials", "ablations"
"""The folders in a study's folder: one with its trials, and one with a folder of trials for each ablation's number."""


class StudyFolder:
    """The paths of one study's folder; with ``ablation`` n, those of its n-th ablation, which has its own trials."""

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
        """The folder of one trial's weights."""
        return self.trials / f"{number:06d}"

    def log(self, number: int) -> Path:
        """The log of one trial."""
        return self.trial(number) / LOG

    def log_command(self, number: int) -> str | None:
        """The command that prints the log of one trial; None if the log is empty or missing."""
        try:
            if not self.log(number).stat().st_size:
                return None
        except OSError:
            return None
        own = [] if self.ablation is None else ["--ablation", str(self.ablation)]
        return shlex.join(["skipstack", "log", str(self.path), str(number), *own])

    def log_named(self, number: int) -> str:
        """The end of a line about one trial, with the command that prints its log; empty if there is no log."""
        command = self.log_command(number)
        return "" if command is None else f"; its log: `{command}`"

    def fsync_weights(self, number: int) -> None:
        """Bring the best weights of a trial to the disk, before the ledger has its end, which is final.

        Files that another machine wrote are on a shared disk once that machine closed them.
        """
        best = self.trial(number) / BEST
        for path in (best, best.parent, self.trials) if best.exists() else ():
            fsync_path(path)

    def corpus(self, prepared: CorpusPrepared) -> Path:
        """The store of a prepared corpus."""
        return self._stored(prepared.store)

    def vectors(self, prepared: VectorsPrepared) -> Path:
        """The store of pretrained vectors."""
        return self._stored(prepared.store)

    def _stored(self, name: str) -> Path:
        """The folder ``name`` from a ledger, which is not trusted. Raises UserError if it leads out of the corpora."""
        if Path(name).name != name or name in ("", "..") or "\0" in name:
            raise UserError(f"{self.ledger}: got the store {name!r} (allowed: a name in {self.corpora})")
        return self.corpora / name

    @classmethod
    def existing(cls, path: Path) -> "StudyFolder":
        """The folder of an existing study. Raises UserError if there is none."""
        folder = cls(path)
        if not folder.ledger.is_dir():
            raise UserError(f"{path}: no study here (allowed: a folder that `skipstack search --out` made)")
        return folder


def delete_checkpoints(folder: Path) -> None:
    """Delete all that a trial in ``folder`` would go on from; another process may be deleting it, too."""
    (folder / CHECKPOINT).unlink(missing_ok=True)
    for further in [*folder.glob(GROUP.format("*")), folder / CALL_CHECKPOINTS]:
        while further.exists():
            with suppress(FileNotFoundError):  # the other was faster
                shutil.rmtree(further)


def make_trial_folder(folder: Path) -> None:
    """Make the folder of a trial, or one in it, unless it is there. Raises FileNotFoundError if the study's folder is
    gone: one that was moved or deleted must not appear again beside its ledger.
    """
    study = next((parent.parent for parent in folder.parents if parent.name in (TRIALS, ABLATIONS)), None)
    if study is not None:
        study.stat()
    folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[StudyFolder]:
    """A temporary study folder to fill, which takes the name ``path`` if nothing fails.

    Raises UserError if something already lies at ``path``, also if it came there meanwhile, and if no folder can be
    made there.
    """
    with refused_where_unwritable(path):
        _check_free(path)
        _check_name(path)
        try:
            with atomic_folder(path) as temporary:
                yield StudyFolder(temporary)
        except OSError:
            _check_free(path)  # another search may have been first
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
    """The first of ``name``, ``name-2``, ``name-3``, ... that does not exist under ``parent``."""
    stem = name.replace("/", "-")
    path, number = parent / stem, 2
    while path.exists():
        path, number = parent / f"{stem}-{number}", number + 1
    return path
