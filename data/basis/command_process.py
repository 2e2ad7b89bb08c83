"""The process of the command ``skipstack``, which may be set up in ways that a library must not set up a user's."""

import json
import os
import re
import sys
from typing import Final

PASSWORD: Final = re.compile(r"(://[^/@\s:]+:)[^/@\s]+(?=@)")
"""A password in an address; the group is the part of the address before it."""

ARGUMENTS: Final = "SKIPSTACK_ARGUMENTS"
"""The environment variable that holds the typed arguments, if a password is among them."""

_claimed = False


def claim() -> None:
    """Record that this process is the command's. If a password was typed, restart the command without it in its line.

    Every user who may list the processes of a machine sees their command lines, and Ray stores these in its cluster;
    only the owner of a process sees its environment variables.
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
