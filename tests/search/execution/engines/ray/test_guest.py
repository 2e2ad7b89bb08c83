"""An engine is a guest in the user's process: what is the user's works before and after a study as without one."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.search.execution.engines.ray.notebook import TRIALS

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("default")]  # ray's own warnings are not ours to mend

RUN = ("the run is whole", *(f"trial {number} begins" for number in range(TRIALS)))
INTERRUPTED = ("the run is interrupted",)
RESTORED = ("the restored run is whole", f"trial {TRIALS - 1} begins")
STUDY = ("the study is finished: True",)


@pytest.mark.parametrize(
    ("steps", "printed"),
    [
        (
            ("a_study", "a_run_of_the_users", "an_interrupted_run", "its_restoration"),
            (*STUDY, *RUN, *INTERRUPTED, *RESTORED),
        ),
        (
            ("a_run_of_the_users", "an_interrupted_run", "a_study", "its_restoration"),
            (*RUN, *INTERRUPTED, *STUDY, *RESTORED),
        ),
        (
            ("a_study_that_fails", "a_study_that_is_interrupted", "an_interrupted_run", "its_restoration"),
            ("the study fails: the corpus has gone", "the study is interrupted", *INTERRUPTED, *RESTORED),
        ),
        (
            ("a_study_on_the_users_own_ray", "a_study", "a_run_of_the_users"),
            (
                *("the counter is at 1", *STUDY, "the counter is at 2"),
                "another cluster: --address 127.0.0.1",
                *(*STUDY, *RUN),
            ),
        ),
        (("a_run_during_a_study",), (*RUN, "the study and the run are whole: True")),
    ],
)
def test_in_one_process_the_users_own_runs_are_as_without_a_study(
    steps: Sequence[str], printed: Sequence[str], tmp_path: Path
) -> None:
    """Each step checks itself, and that a study leaves all as it was; here is seen what workers print, too."""
    said = ran_notebook(tmp_path, *steps)
    assert [line for line in printed if line not in said] == []


def test_what_one_process_left_another_restores_that_has_imported_the_engine_alone(tmp_path: Path) -> None:
    first = ran_notebook(tmp_path, "a_study", "an_interrupted_run")
    assert [line for line in (*STUDY, *INTERRUPTED) if line not in first] == []
    second = ran_notebook(tmp_path, "a_run_of_the_users", "its_restoration")
    assert [line for line in (*RUN, *RESTORED) if line not in second] == []


def ran_notebook(tmp_path: Path, *steps: str) -> str:
    """What a notebook prints that takes these steps, in a process of its own."""
    notebook = [sys.executable, "-m", "tests.search.execution.engines.ray.notebook", str(tmp_path), *steps]
    unset = ("RAY_", "TUNE_", "PYTHONBREAKPOINT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    # In a home of its own, loops would be compiled anew; and Ray's workers would let all others go first.
    compiled = {"XDG_CACHE_HOME": str(Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser())}
    environment |= {"RAY_DEDUP_LOGS": "0", "RAY_worker_niceness": "0", "HOME": str(tmp_path), **compiled}
    # `ray.init()` would join the cluster that a file in /tmp/ray names, also one that was killed long ago.
    with tempfile.TemporaryDirectory(prefix="skg-") as temporary:  # a short path, since that of a socket has a maximum
        environment["TMPDIR"] = temporary
        ran = subprocess.run(
            notebook, cwd=Path(__file__).parents[5], env=environment, capture_output=True, text=True, check=False
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
