"""Label schemes by their definitions, a token at a time, and every set of spans of a short sentence.

IOB1 is Ramshaw and Marcus (1995), IOB2 Ratnaparkhi (1998), as Tjong Kim Sang and Veenstra (1999) name them; BIOES is
also IOBES, and BILOU (Ratinov and Roth, 2009) is BIOES with L (last) for E and U (unit) for S.
"""

from collections.abc import Iterator, Sequence

Extent = tuple[int, int, str]
"""The first token of a span, the token after its last, and its type."""

LETTERS = {"bilou": str.maketrans("ES", "LU"), "bmes": str.maketrans("I", "M"), "bmeso": str.maketrans("I", "M")}
"""The letters in which these schemes differ from BIOES."""


def tags(spans: Sequence[Extent], length: int, scheme: str) -> tuple[str, ...]:
    """The tag of each token, by its place in its span."""
    around = {place: span for span in spans for place in range(span[0], span[1])}
    return tuple(
        f"{_letter(place, around, scheme)}-{around[place][2]}" if place in around else "O" for place in range(length)
    )


def _letter(place: int, around: dict[int, Extent], scheme: str) -> str:
    start, stop, name = around[place]
    first, last = place == start, place == stop - 1
    match scheme:
        case "io":
            return "I"
        case "bio":
            return "B" if first else "I"
        case "iob1":
            return "B" if first and place - 1 in around and around[place - 1][2] == name else "I"
        case _:
            letter = "S" if first and last else "B" if first else "E" if last else "I"
            return letter.translate(LETTERS.get(scheme, {}))


def touching(spans: Sequence[Extent]) -> bool:
    """Whether a span directly follows another of its type: I and O alone cannot tell the two apart."""
    return any((stop, name) == (other, same) for _, stop, name in spans for other, _, same in spans)


def everything(length: int, types: Sequence[str]) -> Iterator[list[Extent]]:
    """Every set of disjoint spans of a sentence of ``length`` tokens."""

    def after(start: int) -> Iterator[list[Extent]]:
        yield []
        for first in range(start, length):
            for stop in range(first + 1, length + 1):
                for name in types:
                    yield from ([(first, stop, name), *others] for others in after(stop))

    return after(0)
