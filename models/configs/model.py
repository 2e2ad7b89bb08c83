"""The config of a network: its input, its stack of recurrent layers, its head. Torch-free."""

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
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.data.tasks.task import Task
from skipstack.models.configs.cells import AnyCell, ShortcutConfig
from skipstack.models.configs.feedback import FeedbackConfig
from skipstack.models.configs.heads import HeadConfig, SoftmaxConfig, check_scheme
from skipstack.models.configs.inputs import AnyEmbedder, EmbedderConfig, OneHotConfig, Rate
from skipstack.models.configs.skips import AnySkip
from skipstack.models.configs.wiring import OfInput, shown, sources

Pooling = Literal["last", "mean", "max"]
"""The pooling of the states of a text into one (``models/parts/heads/pooling.py``)."""


class StackConfig(Frozen):
    """Recurrent layers of one width, bottom up, in one or two directions joined at the top (wu2017 eq. 18).

    With depth 0 the head reads the input directly, and no other field is read. ``composition`` is one of the paper's
    types (1 to 5), 0 for a stack without shortcuts, ``input`` for shortcuts from the network's input, or a list of
    sources, one per layer, 0 for none (``models/configs/wiring.py``). A layer without a source is a ``cell``,
    one with a source a ``shortcut``.
    """

    kind: Literal["recurrent"] = "recurrent"
    depth: NonNegativeInt = 7
    """The number of layers."""
    hidden: PositiveInt = 465
    """Units of each layer, in each direction."""
    cell: AnyCell = "lstm"
    composition: Annotated[int, Field(ge=0, le=5)] | OfInput | tuple[NonNegativeInt | OfInput, ...] = 2
    """The earlier layer that each layer takes a shortcut from (``models/configs/wiring.py``). 0: none; 1: the first
    layer, for every layer above it; 2: the layer two below, for layers 3, 5, 7, ...; 3: the layer three below, for
    layers 4, 7, 10, ...; 4: the layer three below, for every layer from the fourth on; 5: the layer two below, for
    every layer from the third on; ``input``: the network's input, for every layer from the second on; it must have the
    layers' width. Or a list, one entry per layer: the number of a layer below it, ``input``, or 0 for none.
    """
    shortcut: ShortcutConfig = ShortcutConfig()
    skip: AnySkip = None
    """The earlier state that LSTM layers without a source read (gui2019); None: the previous one."""
    skipping: Literal["all", "top"] = "all"
    """The layers that skip: all LSTM layers without a source, or the last layer only, as in gui2019's language models.
    """
    forget_bias: float = 0.0
    """The initial bias of the forget gates, in layers of cell ``lstm`` or ``min_lstm``."""
    directions: Literal["both", "forward"] = "both"
    """Forward only, or forward and backward, with layers of their own for each direction."""
    join: Literal["top", "each_layer"] = "top"
    """The points at which the two directions are joined: once above the last layer, or in the input of every layer from
    the second on."""
    dropout: Rate = 0.5
    """Dropout on the outputs of the first and of the last layer; once if they are the same layer."""
    pooling: Pooling = "last"
    """The features of a text to be classified: the last state of each direction, or the mean or maximum of all states
    (``models/parts/heads/pooling.py``). Only classification reads it."""

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


AnyStack = Annotated[StackConfig | FeedbackConfig, Field(discriminator="kind")]


class ModelConfig(Frozen):
    """A tagger: embedder, stack and head."""

    embedder: AnyEmbedder = EmbedderConfig()
    stack: AnyStack = StackConfig()
    head: HeadConfig = SoftmaxConfig()
    initial_scale: PositiveFloat = 0.1
    """The scale of initial weights, N(0, 1/sqrt(fan in)) * this; 0.1 in wu2017 (``models/ground/initialise.py``)."""
    initial_range: PositiveFloat | None = None
    """If set, all weights, recurrent ones and vectors included, start uniform between its negative and itself, and not
    normal."""

    @model_validator(mode="before")
    @classmethod
    def _of_the_usual_kind(cls, value: Any) -> Any:
        """A mapping without ``kind`` is the first kind: an input of tokens, a stack of recurrent layers."""
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
    """Raise UserError for a network that does not fit the task, needs a label scheme that the tags lack, or has room
    for fewer words.
    """
    if isinstance(config.embedder, OneHotConfig) and words > config.embedder.size:
        raise UserError(
            f"model.embedder.size: got {config.embedder.size} for a vocabulary of {words} words "
            f"(allowed: {words} or more, or another kind of input)"
        )
    check_scheme(config.head, has_scheme=has_scheme)
    # A user's head decides on each token, or text, as a softmax does.
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
    """Raise UserError for a language model that would see the word that it predicts."""
    stack, embedder = config.stack, config.embedder
    if stack.kind == "feedback" or stack.directions == "both":
        got = "kind feedback" if stack.kind == "feedback" else "directions both"
        raise UserError(f"model.stack: got {got} for a language model (allowed: recurrent layers, directions forward)")
    if not isinstance(embedder, EmbedderConfig | OneHotConfig) or getattr(embedder, "window", 0) > 1:
        got = f"window {embedder.window}" if isinstance(embedder, EmbedderConfig) else f"kind {embedder.kind}"
        raise UserError(
            f"model.embedder: got {got} for a language model, which would see the next word (allowed: tokens, window 0)"
        )
