"""Why a row is not measured."""


class SkippedError(Exception):
    """A row cannot be measured on this machine, or in the time that is left."""
