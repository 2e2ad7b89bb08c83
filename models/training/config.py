"""How a network is trained. The defaults are the recipe of wu2017 (section 5.1.2). Torch-free."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from data.frozen import Frozen

Share = Annotated[float, Field(ge=0, lt=1)]


class Sgd(Frozen):
    """Stochastic gradient descent with classical momentum: v = momentum * v + grad; w = w - learning_rate * v."""

    kind: Literal["sgd"] = "sgd"
    learning_rate: PositiveFloat = 0.02
    momentum: Share = 0.0


class Adam(Frozen):
    """Adam (Kingma and Ba, 2015, algorithm 1)."""

    kind: Literal["adam"] = "adam"
    learning_rate: PositiveFloat = 0.001
    beta1: Share = 0.9
    beta2: Share = 0.999
    epsilon: PositiveFloat = 1e-8


class Adagrad(Frozen):
    """AdaGrad (Duchi, Hazan and Singer, 2011); the learning rate is that of chen2017 (Table 2)."""

    kind: Literal["adagrad"] = "adagrad"
    learning_rate: PositiveFloat = 0.2
    epsilon: PositiveFloat = 1e-10


class Constant(Frozen):
    """The learning rate stays."""

    kind: Literal["constant"] = "constant"


class Halving(Frozen):
    """wu2017: after an epoch with |e_p - e_c| / e_p <= ``tolerance``, halve while the rate is >= ``minimum``.

    e_p and e_c are the dev error rates of the previous and the current epoch, in [0, 1].
    """

    kind: Literal["halving"] = "halving"
    tolerance: PositiveFloat = 0.005
    minimum: PositiveFloat = 0.0005


Optimiser = Annotated[Sgd | Adam | Adagrad, Field(discriminator="kind")]
Schedule = Annotated[Constant | Halving, Field(discriminator="kind")]


class TrainingConfig(Frozen):
    """Epochs at most, sentences a step, the optimiser and what surrounds it."""

    epochs: PositiveInt = 20
    batch_size: PositiveInt = 1
    optimiser: Optimiser = Sgd()
    schedule: Schedule = Halving()
    averaged_over: Literal["tokens", "sentences"] = "tokens"
    """What the loss of a batch is the mean of, as it is learnt from: a token (wu2017 eq. 3) or a sentence (chen2017
    eq. 20), which weighs it about as many times more as sentences are long. What is reported is the mean of a token."""
    clip_norm: PositiveFloat | None = None
    """The largest Euclidean norm of a lane's whole gradient; longer ones are scaled down to it."""
    precision: Literal["float32", "float64"] = "float32"
