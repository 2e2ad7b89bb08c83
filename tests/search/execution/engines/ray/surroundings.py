"""What Ray's parts are in this process, and what a process has one of. It imports nothing of ours."""

import logging
import os
import signal
import sys
import types
from typing import Any

import ray.tune.registry
import ray.tune.utils.log


def surroundings() -> dict[str, Any]:
    """What must be as it was: the parts of Ray's modules and classes by identity, and what the process shares."""
    found: dict[str, Any] = {f"${name}": value for name, value in os.environ.items()}
    found["registry"] = id(ray.tune.registry._global_registry)
    found["verbosity"] = ray.tune.utils.log.verbosity
    for name, module in list(sys.modules.items()):
        if name == "ray" or name.startswith("ray."):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType | type):
                    found[f"{name}.{attribute}"] = id(value)
                if isinstance(value, type) and value.__module__ == name:
                    methods = {key: id(own) for key, own in vars(value).items() if isinstance(own, types.FunctionType)}
                    found[f"the methods of {name}.{attribute}"] = methods
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger) and name.split(".")[0] == "ray":
            found[f"logger {name}"] = logger.level, list(logger.handlers), logger.propagate, list(logger.filters)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        found[number.name] = signal.getsignal(number)
    return found
