"""The config of a network: embedder, stack of layers, and head. Imports no torch."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.data.tasks.task import Task
from skipstack.models.configs.cells import AnyCell, ShortcutConfig
from skipstack.models.configs.feedback import FeedbackConfig
from skipstack.models.configs.heads import HeadConfig, SoftmaxConfig, check_scheme
from skipstack.models.configs.inputs import AnyEmbedder, EmbedderConfig, OneHotConfig, Rate
from skipstack.models.configs.skips import AnySkip, SkipConfig
from skipstack.models.configs.wiring import OfInput, shown, sources

Pooling = Literal["last", "mean", "max"]
"""The pooling of the states of all positions of a text into one vector (``models/networks/model.py``)."""

Normalisation = Literal["none", "layer", "rms"]
"""The normalisation of each layer's input (``models/layers/normalisation.py``)."""


class StackConfig(Brief):
    """Recurrent layers of one width, in one direction or two. The head reads the joined outputs of both directions
    (wu2017 eq. 18).

    ``composition`` lists the layers with a shortcut, and the earlier layer that each shortcut comes from. ``shortcut``
    configures these layers, ``cell`` all others. With depth 0, the head reads the embedder's output, and most fields
    are unused.
    """

    kind: Literal["recurrent"] = "recurrent"
    depth: NonNegativeInt = 7
    """The number of layers."""
    hidden: PositiveInt = 465
    """Units of each layer, in each direction."""
    cell: AnyCell = "lstm"
    composition: Annotated[int, Field(ge=0, le=5)] | OfInput | tuple[NonNegativeInt | OfInput, ...] = 0
    """The earlier layer from which each layer takes a shortcut (wu2017 Table 4; ``models/configs/wiring.py``). 0: no
    layer takes one, a plain stack. 1: every layer from the second on takes the first layer. 2: layers 3, 5, 7, ... take
    the layer two below. 3: layers 4, 7, 10, ... take the layer three below. 4: every layer from the fourth on takes the
    layer three below. 5: every layer from the third on takes the layer two below. ``input``: every layer from the
    second on takes the network's input, which must have the layers' width. A list has one entry per layer: the number
    of a layer below it, ``input``, or 0 for none.
    """
    shortcut: ShortcutConfig = ShortcutConfig()
    skip: AnySkip = None
    """The earlier state that LSTM layers without a shortcut read (gui2019); None means the previous state."""
    skipping: Literal["all", "top"] = "all"
    """The layers to which ``skip`` applies. ``all``: all LSTM layers without a shortcut. ``top``: only the last layer,
    as in gui2019's language models."""
    forget_bias: float = 0.0
    """The initial bias of the forget gates of cells ``lstm`` and ``min_lstm``."""
    directions: Literal["both", "forward"] = "both"
    """The directions of reading: forward only, or both. With ``both``, each direction has its own layers."""
    join: Literal["top", "each_layer"] = "top"
    """The layers above which the outputs of the two directions are joined. ``top``: only the last layer.
    ``each_layer``: every layer, so that all layers from the second on read both directions."""
    residual: Annotated[bool, UNSAID] = False
    """Whether every layer from the second on adds the output of the layer below to its own output, separately in each
    direction. The first layer never adds the network's input."""
    normalisation: Annotated[Normalisation, UNSAID] = "none"
    """The normalisation of each layer's input from below, token by token. ``layer``: layer normalisation, with a gain
    and a bias. ``rms``: by the root mean square, with a gain. The inputs of shortcuts and of residual connections are
    not normalised."""
    dropout: Rate = 0.5
    """The dropout rate of the outputs of the first and of the last layer. A single layer has dropout once."""
    pooling: Pooling = "last"
    """The vector from which a whole text is classified. ``last``: the last state of each direction. ``mean``, ``max``:
    the mean or maximum of all states. Networks that label tokens do not read this field."""

    @model_validator(mode="after")
    def _can_skip(self) -> Self:
        if self.skip is not None and self.cell != "lstm":
            raise ValueError(f"skip is of LSTM layers: got cell {self.cell} (allowed: lstm)")
        return self

    @model_validator(mode="after")
    def _sources_fit(self) -> Self:
        if isinstance(self.composition, tuple):
            sources(self.composition, self.depth)
        if self.cell == "sutskever" and any(wiring := sources(self.composition, self.depth)):
            raise ValueError(
                "a layer of cell sutskever puts out [h; s~], twice as wide as a shortcut takes: "
                f"got sources {shown(wiring)} (allowed: 0 for every layer)"
            )
        return self

    def skip_of(self, number: int) -> SkipConfig | None:
        """The skip back in time that layer ``number``, counted from 1, takes if it has no shortcut; None if none."""
        return self.skip if self.skipping == "all" or number == self.depth else None


AnyStack = Annotated[StackConfig | FeedbackConfig, Field(discriminator="kind")]


class ModelConfig(Frozen):
    """A network: an embedder that reads tokens, a stack of layers, and a head that predicts labels."""

    embedder: AnyEmbedder = EmbedderConfig()
    stack: AnyStack = StackConfig()
    head: HeadConfig = SoftmaxConfig()
    initial_scale: PositiveFloat = 0.1
    """The factor of the normal initial weights N(0, 1/sqrt(fan in)); 0.1 in wu2017
    (``models/ground/initialise.py``)."""
    initial_range: PositiveFloat | None = None
    """If set to r, all weights and vectors, recurrent weights included, are initially uniform in [-r, r). Biases and
    other parameters that usually start at zero still do."""

    @model_validator(mode="before")
    @classmethod
    def _of_the_usual_kind(cls, value: Any) -> Any:
        """Add the usual kind to a mapping without ``kind``: ``tokens`` to the embedder, ``recurrent`` to the stack."""
        if not isinstance(value, Mapping):
            return value
        usual = {"embedder": "tokens", "stack": "recurrent"}
        own = {name: part for name, part in value.items() if name in usual and isinstance(part, Mapping)}
        return {**value, **{name: {"kind": usual[name], **part} for name, part in own.items()}}

    @model_validator(mode="after")
    def _input_is_as_wide_as_what_takes_it(self) -> Self:
        stack = self.stack
        if (
            stack.kind == "recurrent"
            and "input" in sources(stack.composition, stack.depth)
            and self.embedder.input_size != stack.hidden
        ):
            raise ValueError(
                f"a shortcut takes {stack.hidden} numbers, the hidden units: got source input, which has "
                f"{self.embedder.input_size} (allowed: a stack.hidden of as many)"
            )
        return self

    @model_validator(mode="after")
    def _decides_token_by_token(self) -> Self:
        if self.stack.kind == "feedback" and self.head.kind != "softmax":
            raise ValueError(
                f"a network of label feedback decides on each label before the next: got head {self.head.kind} "
                "(allowed: softmax)"
            )
        return self


def check_task(config: ModelConfig, task: Task, *, has_scheme: bool, words: int) -> None:
    """Raise UserError if a network does not fit a task and its corpus.

    The task must allow the head and the stack. A constrained head needs a label scheme, and one-hot vectors must not be
    smaller than the vocabulary. A language model must not see the word that it predicts. ``has_scheme``: whether the
    tags have a label scheme. ``words``: the size of the corpus's vocabulary.
    """
    if isinstance(config.embedder, OneHotConfig) and words > config.embedder.size:
        raise UserError(
            f"model.embedder.size: got {config.embedder.size} for a vocabulary of {words} words "
            f"(allowed: {words} or more, or another kind of input)"
        )
    check_scheme(config.head, has_scheme=has_scheme)
    # A user's own head labels each token, or each text, independently, so every task that allows softmax allows it.
    if ("softmax" if isinstance(config.head, OwnConfig) else config.head.kind) not in task.heads:
        raise UserError(
            f"model.head.kind: got {config.head.kind} for {task.corpus} "
            f"(allowed: {', '.join(task.heads)}{task.otherwise})"
        )
    if not task.reads_ahead:
        _check_reads_no_further(config)
    if config.stack.kind not in task.stacks:
        raise UserError(
            f"model.stack.kind: got {config.stack.kind} for {task.corpus} (allowed: {', '.join(task.stacks)})"
        )


def _check_reads_no_further(config: ModelConfig) -> None:
    """Raise UserError if a network, used as a language model, would see the word that it predicts."""
    stack, embedder = config.stack, config.embedder
    if stack.kind == "feedback" or stack.directions == "both":
        got = "kind feedback" if stack.kind == "feedback" else "directions both"
        raise UserError(f"model.stack: got {got} for a language model (allowed: recurrent layers, directions forward)")
    if not isinstance(embedder, EmbedderConfig | OneHotConfig) or getattr(embedder, "window", 0) > 1:
        got = f"window {embedder.window}" if isinstance(embedder, EmbedderConfig) else f"kind {embedder.kind}"
        raise UserError(
            f"model.embedder: got {got} for a language model, which would see the next word (allowed: tokens, window 0)"
        )
    if isinstance(embedder, EmbedderConfig) and embedder.vector_size:
        raise UserError(
            f"model.embedder.vector_size: got {embedder.vector_size} for a language model, which would see the next "
            "word in the vectors of tokens (allowed: 0)"
        )
