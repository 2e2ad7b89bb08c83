"""How a network is trained. The defaults are the recipe of wu2017 (section 5.1.2). Torch-free."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from skipstack.data.basis.frozen import Frozen

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


class LazyAdam(Frozen):
    """Adam that leaves alone the vectors which a batch does not look up, so that large vocabularies cost little.

    Of a table of vectors (words, affixes, characters of an LSTM), a row that no token of the batch reads stays as it
    is, and its two moving averages stay as they are, too. In Adam such rows have a gradient of 0: their averages fade,
    and they move on along what is left of them for some steps. So rare words move less than under Adam, and their
    averages remember the sentences that had them, however long ago. The correction for the start counts all updates, as
    Adam does. All other weights, and all rows in a step that gives each a gradient (``l2``), are Adam's.
    """

    kind: Literal["lazy_adam"] = "lazy_adam"
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

    e_p and e_c are the dev error rates of the previous and the current epoch: what accuracy, F1 or LAS lack to 1, in
    [0, 1]. A language model has no such rate; there they are its perplexities.
    """

    kind: Literal["halving"] = "halving"
    tolerance: PositiveFloat = 0.005
    """The share of the error rate; after a change smaller than that the rate is halved."""
    minimum: PositiveFloat = 0.0005
    """A rate below this one is not halved again."""


class Linear(Frozen):
    """dinarelli2016: in epoch e of E, the rate times (E - e + 1) / E; after the last epoch it would be 0."""

    kind: Literal["linear"] = "linear"


class Decay(Frozen):
    """From the epoch after ``after`` on, the rate times ``factor`` before each (Zaremba et al., 2014)."""

    kind: Literal["decay"] = "decay"
    factor: Annotated[float, Field(gt=0, lt=1)] = 1 / 1.2
    """What the rate is multiplied by."""
    after: PositiveInt = 6
    """Epochs with the first rate."""


Optimiser = Annotated[Sgd | Adam | Adagrad | LazyAdam, Field(discriminator="kind")]
Schedule = Annotated[Constant | Halving | Linear | Decay, Field(discriminator="kind")]


class PretrainingConfig(Frozen):
    """Language models, trained on train before the first epoch, whose vectors the network's words and labels start
    from (dinarelli2016 section 3.2; ``models/training/pretraining.py``).

    The epochs are the paper's; it has no other number, so these are ours. An optimiser's rate falls linearly.
    """

    word_epochs: NonNegativeInt = 20
    """0: words start as other weights."""
    label_epochs: NonNegativeInt = 10
    """0: labels start as other weights. Networks without vectors of labels do not read this."""
    context: PositiveInt = 3
    """Words or labels seen on either side of the one that is predicted: w for the paper's taggers."""
    hidden: PositiveInt = 100
    """Hidden units of the language models."""
    batch_size: PositiveInt = 32
    """Predictions a step."""
    optimiser: Optimiser = Sgd(learning_rate=0.1, momentum=0.9)


class TrainingConfig(Frozen):
    """Epochs at most, sentences a step, the optimiser and what surrounds it."""

    epochs: PositiveInt = 20
    """Of a trial that is not stopped early."""
    batch_size: PositiveInt = 1
    """Sentences in each update."""
    optimiser: Optimiser = Sgd()
    schedule: Schedule = Halving()
    averaged_over: Literal["tokens", "sentences"] = "tokens"
    """What the loss of a batch is the mean of, as it is learnt from: a token (wu2017 eq. 3) or a sentence (chen2017
    eq. 20), which weighs it about as many times more as sentences are long. What is reported is the mean of a token."""
    clip_norm: PositiveFloat | None = None
    """The largest Euclidean norm of a lane's whole gradient; longer ones are scaled down to it."""
    l2: NonNegativeFloat = 0.0
    """lambda: an update makes the mean loss + lambda/2 |theta|^2 smaller (dinarelli2016 eq. 1, chen2017 eq. 20), where
    theta are all weights, vectors and scores of moves of a lane, its biases not. The loss that is reported has no such
    term."""
    pretraining: PretrainingConfig | None = None
    window: PositiveInt = 35
    """Tokens after which running text is cut: gradients go no further back, states do. ``batch_size`` is then at how
    many places the text is read side by side. Other corpora do not read this."""
    precision: Literal["float32", "float64", "tf32", "bfloat16"] = "float32"
    """Of all numbers of the network. ``tf32`` and ``bfloat16``: they are of float32, and in updates the factors of
    matrix products are rounded (``models/ground/precision.py``). ``tf32``: to 11 bits, by GPUs since Ampere, which
    multiply such numbers faster; elsewhere it is ``float32``. ``bfloat16``: to 8 bits, in large products: those of wide
    layers take half the time where processors multiply it, from 16 sentences an update on, and several times as long
    where they do not. Chains, trees, evaluations and what a network decides are in float32.
    """
