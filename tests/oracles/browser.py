"""A browser without a screen: what it makes of a page, and what it writes to the console."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CONSOLE = re.compile(r":CONSOLE[:(]\d+\)?\] (.*)")


def opened(page: Path, *options: str) -> tuple[str, list[str]]:
    """The page as it stands once it is loaded, and the lines of its console. Skips where there is no Chromium."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no Chromium here (Debian: chromium)")
    settings = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"),
        *(
            f"--user-data-dir={page.parent / 'profile'}",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--virtual-time-budget=2000",
        ),
    )
    ran = subprocess.run(
        [program, *settings, *options, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return ran.stdout, CONSOLE.findall(ran.stderr)
