"""Marks the process of the command ``skipstack``, and keeps passwords out of its command line.

Only the command may change settings of the whole process. A library must not, since its process belongs to the user.
"""

import json
import os
import re
import sys
from typing import Final

PASSWORD: Final = re.compile(r"(://[^/@\s:]+:)[^/@\s]+(?=@)")
"""Matches a user and password in an address. The group is the part of the match before the password."""

ARGUMENTS: Final = "SKIPSTACK_ARGUMENTS"
"""The environment variable that holds the typed arguments, if a password is among them."""

_claimed = False


def claim() -> None:
    """Record that this process belongs to the command ``skipstack``, and hide the passwords in its command line.

    If an argument has a password, the process restarts itself with the password masked. The variable ``ARGUMENTS`` then
    has the typed arguments. All users of a machine can list its command lines, and Ray stores them in its cluster. Only
    the owner of a process sees its environment variables.
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
    """Whether ``claim`` was called in this process."""
    return _claimed
