"""Configs of training. The defaults are the recipe of wu2017 (section 5.1.2). Imports no torch."""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen

Share = Annotated[float, Field(ge=0, lt=1)]


class Sgd(Frozen):
    """Stochastic gradient descent with classical momentum: v = momentum * v + grad; w = w - learning_rate * v."""

    kind: Literal["sgd"] = "sgd"
    learning_rate: PositiveFloat = 0.02
    momentum: Share = 0.0


class _AdamFields(Frozen):
    """The fields that Adam and its variants share."""

    kind: str
    learning_rate: PositiveFloat = 0.001
    beta1: Share = 0.9
    beta2: Share = 0.999
    epsilon: PositiveFloat = 1e-8


class Adam(_AdamFields):
    """Adam (Kingma and Ba, 2015, algorithm 1)."""

    kind: Literal["adam"] = "adam"


class AdamW(_AdamFields):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019, algorithm 2), as in torch: before Adam moves a
    weight, the weight is multiplied by 1 - learning_rate * weight_decay.

    The decay applies to the parameters that the field ``penalised`` selects: by default all except biases and gains.
    Frozen word vectors keep their values.
    """

    kind: Literal["adamw"] = "adamw"
    weight_decay: NonNegativeFloat = 0.01
    """The decay of each weight per update, relative to the learning rate."""


class LazyAdam(_AdamFields):
    """Adam that skips table rows that a batch does not look up, so that large vocabularies cost little.

    A table holds vectors of words, word classes, capitalisation or affixes, or of the characters that an LSTM reads. A
    row that the batch does not look up keeps its value and its two moving averages. Under Adam the averages of such a
    row decay, and the row still moves for some updates. So vectors of rare words move less than under Adam. The bias
    correction counts all updates, as in Adam. All other weights are updated as in Adam. With ``l2`` above 0, every row
    has a gradient and is updated as in Adam.
    """

    kind: Literal["lazy_adam"] = "lazy_adam"


class Adagrad(Frozen):
    """AdaGrad (Duchi, Hazan and Singer, 2011). The default learning rate is from chen2017 (Table 2)."""

    kind: Literal["adagrad"] = "adagrad"
    learning_rate: PositiveFloat = 0.2
    epsilon: PositiveFloat = 1e-10


class Constant(Frozen):
    """A constant learning rate."""

    kind: Literal["constant"] = "constant"


class Halving(Frozen):
    """Halves the learning rate after an epoch with |e_p - e_c| / e_p <= ``tolerance``, while the rate is >= ``minimum``
    (wu2017).

    e_p and e_c are the dev error rates of the previous and the current epoch: 1 minus accuracy, F1 or LAS, in [0, 1].
    For a language model, e_p and e_c are dev perplexities.
    """

    kind: Literal["halving"] = "halving"
    tolerance: PositiveFloat = 0.005
    """The maximum relative change of the dev error rate after which the learning rate is halved."""
    minimum: PositiveFloat = 0.0005
    """A learning rate below this value is not halved again."""


class Linear(Frozen):
    """Lowers the learning rate linearly (dinarelli2016). In epoch e of E, counted from 1, the rate is (E - e + 1) / E
    times the initial rate.
    """

    kind: Literal["linear"] = "linear"


class Decay(Frozen):
    """Keeps the initial learning rate for ``after`` epochs, then multiplies the rate by ``factor`` before each further
    epoch (Zaremba et al., 2014).
    """

    kind: Literal["decay"] = "decay"
    factor: Annotated[float, Field(gt=0, lt=1)] = 1 / 1.2
    """The factor by which the learning rate is multiplied before each further epoch."""
    after: PositiveInt = 6
    """The number of epochs with the initial learning rate."""


class InverseTime(Frozen):
    """Lowers the learning rate with every epoch, as in the tagger of Ma and Hovy (2016), which gui2019 uses. In epoch
    e, counted from 0, the rate is the initial rate divided by 1 + rho e.
    """

    kind: Literal["inverse_time"] = "inverse_time"
    decay: PositiveFloat = 0.05
    """rho in the formula."""


class Cosine(Frozen):
    """Warms up, then lowers the learning rate along half a cosine, with every update (Loshchilov and Hutter, 2017,
    eq. 5, without restarts). With w for ``warmup``, E for the number of epochs, n for the updates of an epoch, and t
    for the number of epochs before an update, such as 2.5, the rate is the initial rate times
    min(1, (t + 1/n) / w) for t < w,   (1 + cos(pi (t - w) / (E - w))) / 2 afterwards

    Reports show the initial rate for every epoch.
    """

    kind: Literal["cosine"] = "cosine"
    warmup: NonNegativeFloat = 0.0
    """The number of epochs, such as 0.5, in which the rate rises to the initial rate, update by update."""


Optimiser = Annotated[Sgd | Adam | AdamW | Adagrad | LazyAdam, Field(discriminator="kind")]
Schedule = Annotated[Constant | Halving | Linear | Decay | InverseTime | Cosine, Field(discriminator="kind")]


class PretrainingConfig(Frozen):
    """Pretrains language models of words and of labels on the training split, before the first epoch. Their vectors
    initialise the network's vectors of words and labels (dinarelli2016 section 3.2;
    ``models/training/pretraining.py``).

    The paper prints only the numbers of epochs; all other defaults are ours. The learning rate falls linearly.
    """

    word_epochs: NonNegativeInt = 20
    """Epochs of the language model of words; 0 means that word vectors are initialised like other weights."""
    label_epochs: NonNegativeInt = 10
    """Epochs of the language model of labels; 0 means that label vectors are initialised like other weights. Only
    networks with label vectors read this field."""
    context: PositiveInt = 3
    """The number of tokens read on either side of the predicted word or label (w in the paper)."""
    hidden: PositiveInt = 100
    """Hidden units of the language models."""
    batch_size: PositiveInt = 32
    """The number of predictions in each update."""
    optimiser: Optimiser = Sgd(learning_rate=0.1, momentum=0.9)


class TrainingConfig(Brief):
    """The settings of training: the maximum number of epochs, the batch size, the optimiser and its learning rate."""

    epochs: PositiveInt = 20
    """The number of epochs of a trial that is not stopped early."""
    batch_size: PositiveInt = 1
    """The maximum number of sentences in an update."""
    optimiser: Optimiser = Sgd()
    schedule: Schedule = Halving()
    averaged_over: Literal["tokens", "sentences"] = "tokens"
    """The unit over which the training loss of a batch is averaged: ``tokens``, or ``sentences`` (chen2017 eq. 20, and
    wu2017 eq. 3 if a batch is one sentence). With ``sentences``, gradients are larger by a factor of about the mean
    length of a sentence. Reported losses are always per token."""
    clip_norm: PositiveFloat | None = None
    """The maximum Euclidean norm of the gradient of all weights of one seed's network. Gradients with a larger norm are
    scaled down to this norm. None means no limit."""
    l2: NonNegativeFloat = 0.0
    """lambda: training minimises the mean loss + lambda/2 |theta|^2 (dinarelli2016 eq. 1, chen2017 eq. 20). Reported
    losses exclude the penalty."""
    penalised: Annotated[Literal["weights", "all"], UNSAID] = "weights"
    """theta, the parameters that ``l2`` penalises and AdamW shrinks. ``weights``: all weights, vectors and transition
    scores, but no biases and gains. ``all``: all parameters, as in chen2017."""
    pretraining: PretrainingConfig | None = None
    window: PositiveInt = 35
    """The number of tokens of running text in one update (truncated backpropagation): gradients stop at the end of the
    window, states continue. With running text, ``batch_size`` is the number of positions at which the text is read in
    parallel. Corpora of sentences do not read this field."""
    precision: Literal["float32", "float64", "tf32", "bfloat16"] = "float32"
    """The precision of the network. ``tf32`` and ``bfloat16`` keep all numbers in float32, but round the factors of
    matrix products in updates (``models/ground/precision.py``). ``tf32`` rounds to 11 bits on GPUs since Ampere, which
    multiply such numbers faster. On other devices, ``tf32`` equals ``float32``. ``bfloat16`` rounds to 8 bits in large
    products only. With wide layers and at least 16 sentences per update, such products take half the time on processors
    with bfloat16 instructions. On others they take much longer. Evaluation, decoding, a CRF's sums
    over tag sequences and a parser's scores are not rounded."""

    @model_validator(mode="after")
    def _warms_up_in_time(self) -> Self:
        if isinstance(self.schedule, Cosine) and self.schedule.warmup >= self.epochs:
            raise ValueError(
                f"schedule.warmup: got {self.schedule.warmup:g} of {self.epochs} epochs (allowed: fewer than all)"
            )
        return self
