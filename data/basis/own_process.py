"""The process of the command ``skipstack``, which is its own: it may be set up as no guest may set up a user's."""

import json
import os
import re
import sys
from typing import Final

PASSWORD: Final = re.compile(r"(://[^/@\s:]+:)[^/@\s]+(?=@)")
"""In an address, with what stands before it."""

ARGUMENTS: Final = "SKIPSTACK_ARGUMENTS"
"""The variable that has what was typed, where a password stands in it."""

_claimed = False


def claim() -> None:
    """Say that this process is the command's. Where a password was typed, the command is started anew without it.

    Whoever may list the processes of a machine sees how they were started, and Ray keeps that in its cluster; only
    their owner sees their variables.
    """
    global _claimed
    _claimed = True
    if (typed := os.environ.pop(ARGUMENTS, None)) is not None:
        sys.argv[1:] = json.loads(typed)
    elif any(map(PASSWORD.search, sys.argv[1:])):
        os.environ[ARGUMENTS] = json.dumps(sys.argv[1:])
        started = [PASSWORD.sub(r"\1***", each) for each in sys.orig_argv[1:]]
        os.execv(sys.executable, [sys.executable, *started])


def is_claimed() -> bool:
    """Whether this process is the command's."""
    return _claimed
