"""How a process of its own tells what it counted."""

import json
import os
from typing import NoReturn


def tell(found: object) -> NoReturn:
    """Print it as JSON, and end at once: while torch's thread for the gradients of the simulated device is still
    starting, an ordinary end of the process aborts now and then (measured: 10 of 25).
    """
    print(json.dumps(found), flush=True)
    os._exit(0)
