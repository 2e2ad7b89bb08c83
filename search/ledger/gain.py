"""What going on with a study would bring, at most: small enough to stand in a ledger."""

from pydantic import PositiveInt

from skipstack.data.basis.frozen import Frozen


class Gain(Frozen):
    """``trials`` more, which take ``hours`` at the pace so far, would raise the best score by ``most`` at most, in
    expectation, where the seeds of a trial deviate by ``seed_deviation``.

    ``hours`` is what the study asks about, unless a single trial takes longer.
    """

    trials: PositiveInt
    hours: float
    most: float
    seed_deviation: float
