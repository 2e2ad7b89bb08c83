"""A trial's folder on a machine that does not see the study's own: a temporary folder, where others may clean up."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from skipstack.search.execution.engines.ray.carrying.parcels import Version, versions
from skipstack.search.execution.engines.ray.carrying.scratch import is_named
from skipstack.search.execution.workers.attempts import ATTEMPT


class Place:
    """A ``folder``, removed after the ``with`` block. An earlier removal by others does not count as the trial's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor = os.open(folder, os.O_RDONLY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)

    def files(self) -> dict[str, Version]:
        """The files that the trial has left there. Raises OSError, as for a failing disk, if the folder was removed."""
        found = files_of(self.folder)
        if not is_named(self.folder, self._descriptor):  # maybe while its files were looked at
            raise OSError(errno.ESTALE, "the folder was removed in the midst of a trial", str(self.folder))
        return found

    @contextmanager
    def removal_as_lost_disk(self) -> Iterator[None]:
        """Raise the OSError of ``files`` in place of any other error in the block that the folder's removal caused."""
        try:
            yield
        except Exception:
            self.files()
            raise


def files_of(folder: Path) -> dict[str, Version]:
    """The files that a trial has left in its folder on this machine."""
    return {name: version for name, version in versions(folder).items() if name != ATTEMPT}
