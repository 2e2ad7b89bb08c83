"""Finds the errors behind an error: its causes, its contexts, and the members of exception groups."""

from collections.abc import Iterator


def origins(error: BaseException) -> Iterator[BaseException]:
    """Yield ``error`` and all errors behind it, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        further = [current.__cause__, getattr(current, "cause", None)]  # Ray keeps the error of a task in ``cause``
        if not current.__suppress_context__:
            further.append(current.__context__)
        further += getattr(current, "exceptions", ())
        waiting += [each for each in further if isinstance(each, BaseException)]
