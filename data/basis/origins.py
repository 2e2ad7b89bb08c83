"""The origins of an error: the errors that it was raised from, and those that it holds."""

from collections.abc import Iterator


def origins(error: BaseException) -> Iterator[BaseException]:
    """The error, those that it was raised from, and those in a group, each once."""
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
