"""Reads an address of the dashboard as a view: a page, a study, and the choices that the reader made on the page."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from skipstack.dashboards.formats.page import TrialKey
from skipstack.dashboards.web.page_names import TRIAL
from skipstack.data.basis.errors import UserError, unknown

DIGITS: Final = 12
"""The maximum number of digits of a number in an address."""


@dataclass(frozen=True, slots=True)
class View:
    """The page, the study and the choices that an address asks for.

    ``page``: the path of the page, from ``page_names``. ``studies``: the folders of all studies by name. ``query``: the
    values of each parameter of the address, in their order. ``acts``: whether the reader may act on studies
    (``acting.py``).
    """

    page: str
    studies: Mapping[str, Path]
    query: Mapping[str, tuple[str, ...]]
    acts: bool = False

    @property
    def study(self) -> str:
        """The name of the study in the address or, without one, of the only study. Raises UserError if the address
        names an unknown study, or none although there is not exactly one.
        """
        name = self.one("study") or (next(iter(self.studies)) if len(self.studies) == 1 else "")
        if not name:
            raise UserError("no study is chosen (allowed: one of the list of studies)")
        if name not in self.studies:
            raise UserError(unknown("study", name, self.studies))
        return name

    @property
    def path(self) -> Path:
        """The folder of the study."""
        return self.studies[self.study]

    def every(self, name: str) -> tuple[str, ...]:
        """The values of a parameter; empty if the address does not have it."""
        return self.query.get(name, ())

    def one(self, name: str, default: str = "") -> str:
        """The last value of a parameter, or the ``default`` if the address does not have it."""
        return self.every(name)[-1] if self.every(name) else default

    def chosen(self, name: str, options: Collection[str], kind: str) -> tuple[str, ...]:
        """The values of a parameter, each of which must be one of ``options``. Raises UserError for another value.
        ``kind``: the noun for a value in the error.
        """
        for value in self.every(name):
            if value not in options:
                raise UserError(unknown(kind, value, options))
        return self.every(name)

    def number(self, name: str, default: int) -> int:
        """The last value of a parameter as a whole number; ``default`` without the parameter. Raises UserError if the
        value is not made of digits, or has more than ``DIGITS``.
        """
        text = self.one(name, str(default))
        if not is_number(text):
            raise UserError(f"{name}: got {text!r} (allowed: a number from 0)")
        return int(text)

    def without(self, *names: str) -> Mapping[str, tuple[str, ...]]:
        """The parameters of the address without some, such as those that a form sets."""
        return {name: values for name, values in self.query.items() if name not in names}

    def address(self, **changed: str | Iterable[str]) -> str:
        """The address of this view with other values of some parameters; an empty value removes the parameter."""
        return _address(self.page, {**self.query, **{name: _several(value) for name, value in changed.items()}})

    def to(self, page: str) -> str:
        """The address of another page about the same study."""
        return _address(page, {"study": self.every("study")})

    def file(self, name: str) -> str:
        """The address of a file, with the choices of this view."""
        return _address(f"/files/{name}", self.query)

    def trial(self, trial: TrialKey) -> str:
        """The address of a trial's page."""
        ablation, number = trial
        own = {} if ablation is None else {"ablation": (str(ablation),)}
        return _address(TRIAL, {"study": (self.study,), **own, "trial": (str(number),)})


def is_number(text: str) -> bool:
    """Whether a text is a whole number, of up to ``DIGITS`` digits: Python converts no number of thousands."""
    return text.isdecimal() and len(text) <= DIGITS


def _several(value: str | Iterable[str]) -> tuple[str, ...]:
    values = (value,) if isinstance(value, str) else tuple(value)
    return tuple(each for each in values if each)


def _address(page: str, query: Mapping[str, Iterable[str]]) -> str:
    pairs = [(name, value) for name, values in query.items() for value in values]
    return f"{page}?{urlencode(pairs)}" if pairs else page
