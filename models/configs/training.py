"""Configs of training. The defaults are the recipe of wu2017 (section 5.1.2). Torch-free."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen

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
    """Adam that skips the vectors which a batch does not look up, so that large vocabularies cost little.

    In a table of vectors (words, affixes, characters of an LSTM), a row that no token of the batch reads keeps its
    value and its two moving averages. In Adam such rows have a gradient of 0: their averages decay, and the rows go on
    moving for some steps. So rare words move less than under Adam, and their averages remember the sentences that
    contained them, however long ago. Bias correction counts all updates, as in Adam. All other weights, and all rows in
    a step that gives each a gradient (``l2``), are updated as in Adam.
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
    """A constant learning rate."""

    kind: Literal["constant"] = "constant"


class Halving(Frozen):
    """wu2017: after an epoch with |e_p - e_c| / e_p <= ``tolerance``, halve while the rate is >= ``minimum``.

    e_p and e_c are the dev error rates of the previous and the current epoch: 1 minus accuracy, F1 or LAS, in [0, 1].
    For a language model they are its perplexities.
    """

    kind: Literal["halving"] = "halving"
    tolerance: PositiveFloat = 0.005
    """The relative change of the error rate; after a smaller change the rate is halved."""
    minimum: PositiveFloat = 0.0005
    """A rate below this one is not halved again."""


class Linear(Frozen):
    """dinarelli2016: in epoch e of E, the rate times (E - e + 1) / E; after the last epoch it would be 0."""

    kind: Literal["linear"] = "linear"


class Decay(Frozen):
    """After ``after`` epochs, the rate is multiplied by ``factor`` before each epoch (Zaremba et al., 2014)."""

    kind: Literal["decay"] = "decay"
    factor: Annotated[float, Field(gt=0, lt=1)] = 1 / 1.2
    """The factor applied to the rate."""
    after: PositiveInt = 6
    """Epochs with the initial rate."""


class InverseTime(Frozen):
    """The rate in epoch e, counted from 0, is the initial rate / (1 + ``decay`` e) (Ma and Hovy, 2016, whose tagger
    gui2019 takes over).
    """

    kind: Literal["inverse_time"] = "inverse_time"
    decay: PositiveFloat = 0.05
    """rho: the factor of e in this decay."""


Optimiser = Annotated[Sgd | Adam | Adagrad | LazyAdam, Field(discriminator="kind")]
Schedule = Annotated[Constant | Halving | Linear | Decay | InverseTime, Field(discriminator="kind")]


class PretrainingConfig(Frozen):
    """Language models trained on the training split before the first epoch; their vectors initialise those of the
    network's words and labels (dinarelli2016 section 3.2; ``models/training/pretraining.py``).

    The epochs are the paper's; all other defaults are ours, since it prints no others. An optimiser's rate falls
    linearly.
    """

    word_epochs: NonNegativeInt = 20
    """Epochs of the words' language model; 0: words are initialised like other weights."""
    label_epochs: NonNegativeInt = 10
    """Epochs of the labels' language model; 0: labels are initialised like other weights. Only networks with label
    vectors read this."""
    context: PositiveInt = 3
    """Context on either side of the predicted word or label, in tokens: w for the paper's taggers."""
    hidden: PositiveInt = 100
    """Hidden units of the language models."""
    batch_size: PositiveInt = 32
    """Predictions per update."""
    optimiser: Optimiser = Sgd(learning_rate=0.1, momentum=0.9)


class TrainingConfig(Brief):
    """Maximum epochs, batch size, the optimiser and its settings."""

    epochs: PositiveInt = 20
    """Epochs of a trial that is not stopped early."""
    batch_size: PositiveInt = 1
    """Sentences in each update."""
    optimiser: Optimiser = Sgd()
    schedule: Schedule = Halving()
    averaged_over: Literal["tokens", "sentences"] = "tokens"
    """The unit over which the training loss of a batch is averaged: a token (wu2017 eq. 3) or a sentence (chen2017 eq.
    20), whose gradient is larger by about the length of a sentence. Reported losses are always per token."""
    clip_norm: PositiveFloat | None = None
    """The maximum Euclidean norm of a lane's whole gradient; longer gradients are scaled down to it."""
    l2: NonNegativeFloat = 0.0
    """lambda: training minimises the mean loss + lambda/2 |theta|^2 (dinarelli2016 eq. 1, chen2017 eq. 20). Reported
    losses exclude this term."""
    penalised: Annotated[Literal["weights", "all"], UNSAID] = "weights"
    """theta: all weights, vectors and transition scores of a lane, without its biases; or with them, as chen2017 prints
    it."""
    pretraining: PretrainingConfig | None = None
    window: PositiveInt = 35
    """Tokens between cuts of the gradient in running text (truncated backpropagation): gradients stop there, states
    continue. ``batch_size`` is then the number of positions at which the text is read in parallel. Other corpora do not
    read this."""
    precision: Literal["float32", "float64", "tf32", "bfloat16"] = "float32"
    """The precision of the network. ``tf32`` and ``bfloat16`` keep all numbers in float32 and round the factors of
    matrix products in updates (``models/ground/precision.py``). ``tf32``: to 11 bits, on GPUs since Ampere, which
    multiply such numbers faster; elsewhere it equals ``float32``. ``bfloat16``: to 8 bits, in large products: with wide
    layers these take half the time on processors with bfloat16 instructions, from 16 sentences per update on, and
    several times as long on others. CRFs, parse trees, evaluations and decoding use float32."""
