"""Tries other versions of the libraries: `make compat`, or `python -m tests.compat [SET ...] [--python python3.12]`.

Each set has an environment in ``build/compat``, which is made anew where what it was made from has changed; that of the
newest versions, every day. The variables of pip (``PIP_EXTRA_INDEX_URL``) and of the tests are passed on.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.compat.page import Seen, keep, page
from tests.compat.sets import PROJECT, SETS, libraries
from tests.compat.steps import STEPS, FailedError, Tried
from tests.pages import ROOT

FOLDER = ROOT / "build" / "compat"

ASKED = """
import json, platform, sys
from importlib.metadata import version
print(json.dumps([platform.python_version(), {name: version(name) for name in sys.argv[1:]}]))
"""


def installed(name: str, python: str, today: str) -> Path:
    """The programs of the environment of a set. Raises FailedError where pip finds no versions that fit."""
    folder, wanted = FOLDER / name, "".join(f"{line}\n" for line in SETS[name]())
    what = "\n".join([python, wanted or today, *((ROOT / file).read_text() for file in ("pyproject.toml", "setup.py"))])
    stamp, digest = folder / "stamp", hashlib.sha256(what.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return folder / "bin"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", folder], check=True)
    constraints = folder / "constraints.txt"
    constraints.write_text(wanted)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--progress-bar", "off", "--constraint", constraints]
    ran = subprocess.run([*pip, "--editable", ".[all,dev]"], cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise FailedError(why_not(ran.stdout + ran.stderr))
    stamp.write_text(digest)
    return folder / "bin"


def why_not(said: str) -> str:
    """What pip says of ranges that have nothing in common, or else its errors, in one line."""
    conflict = re.search(r"^The conflict is caused by:\n(.*?)\n\n", said, re.MULTILINE | re.DOTALL)
    lines = conflict[1].splitlines() if conflict else re.findall("^ERROR: (.*)", said, re.MULTILINE)
    return "; ".join(line.strip() for line in lines)


def seen_of(name: str, python: str) -> Seen:
    """Install a set, and take all steps."""
    today = datetime.now(UTC).date().isoformat()
    try:
        programs = installed(name, python, today)
    except FailedError as error:
        return Seen(
            date=today, python="–", skipstack=PROJECT["version"], versions={}, steps={}, uninstallable=str(error)
        )
    asked = [programs / "python", "-c", ASKED, *libraries()]
    version, versions = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    steps: dict[str, tuple[bool, str]] = {}
    with tempfile.TemporaryDirectory(prefix="compat-") as folder:
        for step, take in STEPS.items():
            began = time.monotonic()
            try:
                steps[step] = True, take(Tried(programs, Path(folder)))
            except FailedError as error:
                steps[step] = False, str(error)
            passed, words = steps[step]
            print(
                f"{name}: {step}: {'' if passed else 'FAILED: '}{words} ({time.monotonic() - began:.0f} s)", flush=True
            )
    return Seen(date=today, python=version, skipstack=PROJECT["version"], versions=versions, steps=steps)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.compat", description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"by default all: {', '.join(SETS)}")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the environments")
    given = parser.parse_args()
    if unknown := set(given.sets) - set(SETS):
        parser.error(f"unknown set {', '.join(sorted(unknown))} (allowed: {', '.join(SETS)})")
    every = {}
    for name in given.sets or SETS:
        every[name] = seen_of(name, given.python)
        keep(name, every[name])
    print(page(every))
    sys.exit(not all(seen.passed for seen in every.values()))


if __name__ == "__main__":
    main()
