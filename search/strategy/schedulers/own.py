"""Users' own schedulers: their base class, and the scheduler that calls them.

A scheduler of one's own is a class in a file of own code beside the study::

    class Plateau(OwnScheduler):
        class Config(Frozen):
            kind: Literal["plateau"] = "plateau"

        def continues(self, trial: int, curves: Mapping[int, Curve]) -> bool:
            scores = [score for _, score in curves[trial]]
            return len(scores) < 3 or max(scores[-2:]) > max(scores[:-2])
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, final

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import OwnConfig, Part, loaded
from skipstack.data.basis.user_code.files import errors_placed
from skipstack.search.strategy.proposers.proposer import Curve
from skipstack.search.strategy.schedulers.scheduler import Decision, Scheduler


class OwnScheduler(ABC):
    """The base of users' schedulers. A scheduler has a class ``Config``, a subclass of ``Frozen`` with a ``kind``.

    ``config``: its config. ``epochs``: the number of epochs of a trial that completes. The constructor may raise
    UserError for a number of epochs that the scheduler does not support.

    An instance is created for each decision. So a decision depends on the arguments of ``continues`` alone, and the
    reports in a ledger give the same decisions again.
    """

    part: ClassVar[Part] = "scheduler"

    def __init__(self, config: Any, epochs: int) -> None:
        self.config = config
        self.epochs = epochs

    @abstractmethod
    def continues(self, trial: int, curves: Mapping[int, Curve]) -> bool:
        """Whether ``trial`` continues after its last report; if not, it is stopped for good.

        ``curves``: maps the number of each trial to its reports so far, pairs of an epoch and its score, ascending by
        epoch from 1. Higher scores are better. Trials are in the order of their first reports. Running trials are among
        them, and so are trials that have ended for any reason. All scores are finite.

        This is not called after the last epoch of a trial, nor after a score that is not finite: in both cases the
        trial ends anyway. The base config of the study continues, whatever is returned.
        """


@final
class OwnCodeScheduler(Scheduler):
    """Calls a scheduler of the user's own for each decision. It stops trials after any epoch, and
    pauses none.

    ``own``: the config of the user's scheduler. ``maximum`` and ``spared``: as for ``Scheduler``. The user's code is
    needed only for decisions, so a study can be read without it. Raises UserError for any error of the user's code,
    with the file and, if known, the line.
    """

    def __init__(self, own: OwnConfig, maximum: int, spared: frozenset[int] = frozenset()) -> None:
        super().__init__(maximum, spared)
        self._own = own
        self._curves: dict[int, Curve] = {}
        if own.code.sha256 in loaded:
            with errors_placed(own):
                own.build(maximum)  # may refuse the number of epochs

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        self._completed(trial, amount, score)
        with errors_placed(self._own):
            continues = self._own.build(self.maximum).continues(trial, MappingProxyType(self._curves))
            if continues not in (True, False):
                raise UserError(f"continues returned {continues!r} (allowed: True or False)")
        return Decision("continue" if continues else "stop")

    def _completed(self, trial: int, amount: float, score: float) -> None:
        self._curves[trial] = (*self._curves.get(trial, ()), (self.spending.last(trial), score))
