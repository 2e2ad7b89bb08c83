"""Where people run it: odd paths, no home, no terminal, no rights, and two studies at the same time."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.install.environments import SMALL, checkout, install, wheel

NOBODY = 65534
INTERPRETERS = (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}")


def can_run(python: str, user: int) -> bool:
    """Whether a user may start an interpreter and read what is installed for it here."""
    code = f"import sys; sys.path.append({str(Path(pytest.__file__).parents[1])!r}); import pytest, sqlite3"
    try:
        ran = subprocess.run([python, "-c", code], cwd="/", user=user, capture_output=True, check=False)
    except OSError:
        return False
    return ran.returncode == 0


@pytest.fixture(scope="module")
def user() -> int:
    """Somebody who is not root, as whom these tests may start programs."""
    return NOBODY if os.getuid() == 0 else os.getuid()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One that everybody may enter, with a space and letters beyond ASCII in its name."""
    with tempfile.TemporaryDirectory(prefix="un été à Kyōto ", ignore_cleanup_errors=True) as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture(scope="module")
def programs(user: int, folder: Path) -> Path:
    """Those of an environment that the user may read."""
    python = next((each for each in INTERPRETERS if can_run(each, user)), None)
    if python is None:
        pytest.skip(f"no interpreter that user {user} may start (tried {', '.join(INTERPRETERS)})")
    return install(wheel(checkout(folder / "source"), folder), folder / "une autre", python)


@pytest.fixture
def place(user: int, folder: Path) -> Path:
    """The user's own folder, with a TMPDIR of 100 characters and more in it."""
    own = folder / "où je travaille"
    long = own / "temporary".ljust(100 - len(str(own)) - 1, "y")
    long.mkdir(parents=True)
    for each in (own, long):
        os.chown(each, user, user)
    return own


def environment(programs: Path, place: Path) -> dict[str, str]:
    """What a batch system leaves: no language, a long TMPDIR, and a home where nothing can be written."""
    (temporary,) = place.glob("temporary*")
    assert len(str(temporary)) >= 100
    path = f"{programs}:/usr/bin:/bin"
    return {"PATH": path, "LC_ALL": "C", "TMPDIR": str(temporary), "HOME": "/dev/null", "OMP_NUM_THREADS": "1"}


def skipstack(programs: Path, place: Path, user: int, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [programs / "skipstack", *arguments],
        cwd=place,
        env=environment(programs, place),
        user=user,
        group=user,
        extra_groups=[],
        start_new_session=True,  # without a terminal
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_studies_at_the_same_time_without_a_home_a_language_a_terminal_or_rights(
    programs: Path, place: Path, user: int
) -> None:
    running = {
        engine: skipstack(programs, place, user, "search", "quickstart", *SMALL, "--engine", engine, "--out", engine)
        for engine in ("ray", "serial")
    }
    for process in running.values():
        out, error = process.communicate(timeout=900)
        assert process.returncode == 0, error
        assert "best: trial" in out
    for engine in running:
        for arguments in (
            ["report", engine],
            ["export", engine, "--best", "1", "--to", f"{engine}-bundle"],
            ["verify", f"{engine}-bundle"],
            ["resume", engine],
        ):
            process = skipstack(programs, place, user, *arguments)
            out, error = process.communicate(timeout=300)
            assert process.returncode == 0, error
            assert "Traceback" not in error
