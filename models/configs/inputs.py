"""Configs of embedders, which turn tokens into a network's input. Imports no torch."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, field_validator, model_validator

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig

LONGEST_AFFIX = 7
"""The maximum number of characters read at each end of a word (wu2017 Table 5)."""

Rate = Annotated[float, Field(ge=0, lt=1)]
"""A dropout rate: the share of units that are set to zero in training."""


class CharacterCnnConfig(Frozen):
    """Reads all characters of a token by a convolution, followed by the maximum over positions (equations in
    ``models/parts/inputs/characters.py``).
    """

    kind: Literal["cnn"] = "cnn"
    size: PositiveInt = 30
    """The size of a character's vector."""
    filters: PositiveInt = 50
    """The number of filters. Each filter computes one feature of the token."""
    width: PositiveInt = 3
    """The width of a filter in characters; an odd number."""
    highways: NonNegativeInt = 0
    """The number of highway layers above the convolution."""

    @field_validator("width")
    @classmethod
    def _has_a_centre(cls, width: int) -> int:
        if width % 2 == 0:
            raise ValueError(f"a filter has a character in the middle: got {width}, allowed an odd number")
        return width

    @property
    def features(self) -> int:
        """The number of features computed for a token."""
        return self.filters


class CharacterCnnsConfig(Frozen):
    """Reads all characters of a token by convolutions of several widths, and concatenates their features (Kim et al.,
    2016; equations in ``models/parts/inputs/characters.py``).
    """

    kind: Literal["cnns"] = "cnns"
    size: PositiveInt = 15
    """The size of a character's vector."""
    filters: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (25, 50, 75, 100, 125, 150)
    """The numbers of filters that are 1, 2, 3, ... characters wide. Each filter computes one feature of the token."""
    highways: NonNegativeInt = 0
    """The number of highway layers above the convolutions."""

    @property
    def features(self) -> int:
        """The number of features computed for a token."""
        return sum(self.filters)


class CharacterLstmConfig(Frozen):
    """Reads all characters of a token by a bidirectional LSTM (equations in ``models/parts/inputs/characters.py``)."""

    kind: Literal["blstm"] = "blstm"
    size: PositiveInt = 30
    """The size of a character's vector."""
    hidden: PositiveInt = 25
    """Hidden units in each direction."""
    highways: NonNegativeInt = 0
    """The number of highway layers above the LSTM."""

    @property
    def features(self) -> int:
        """The number of features computed for a token."""
        return 2 * self.hidden


def _of_kind_cnn(value: Any) -> Any:
    """Add the kind ``cnn`` to a mapping without ``kind``."""
    return {"kind": "cnn", **value} if isinstance(value, Mapping) else value


SpellingConfig = CharacterCnnConfig | CharacterCnnsConfig | CharacterLstmConfig
AnySpelling = Annotated[SpellingConfig | None, Field(discriminator="kind"), BeforeValidator(_of_kind_cnn)]


class EmbedderConfig(Brief):
    """Concatenates the vectors of word, capitalisation and affixes of all tokens in a window (wu2017 eqs 16-17).

    The result has ``window * (word_size + capital_size + 2 * affix_characters * affix_size)`` numbers. In the paper
    these are 3 * (100 + 5 + 50) = 465. ``spelling``, ``class_size`` and ``vector_size`` add further features to each
    token. A window of 0 or 1 contains only the token of the time step.
    """

    kind: Literal["tokens"] = "tokens"
    word_size: NonNegativeInt = 100
    """The size of a word's vector; 0 means that words are not read."""
    capital_size: NonNegativeInt = 5
    """The size of the vector of a word's capitalisation; 0 means that capitalisation is not read."""
    affix_characters: Annotated[int, Field(ge=0, le=LONGEST_AFFIX)] = 5
    """The number of characters read at each end of a word; 0 means that no affixes are read."""
    affix_size: PositiveInt = 5
    """The size of the vector of each affix character."""
    class_size: Annotated[NonNegativeInt, UNSAID] = 0
    """The size of the vector of a word's class; 0 means that classes are not read. Embedders read classes in addition
    to words if ``data.vocabulary.classes`` is ``beside``."""
    vector_size: Annotated[NonNegativeInt, UNSAID] = 0
    """The size of the vector that each token has in ``data.vectors`` of kind ``tokens``, such as an encoder's output; 0
    means that these vectors are not read. They are not trained."""
    spelling: AnySpelling = None
    """The network that reads all characters of a word. None, as in the paper, means that only affixes are read."""
    window: NonNegativeInt = 3
    """The number of tokens read at each time step; the token of the step is in the middle."""
    window_gate: bool = False
    """Whether words of the window are weighted by a logistic gate that reads the whole window (wu2017 section 4.1)."""
    dropout: Rate = 0.25
    word_vectors: Literal["trainable", "frozen"] = "trainable"
    """Whether pretrained vectors of words (``data.vectors``) are trained further. The vectors of all other words are
    always trained."""

    @model_validator(mode="after")
    def _has_a_centre(self) -> Self:
        if self.window % 2 == 0 and self.window != 0:
            raise ValueError(f"a window has a token in the middle: got {self.window}, allowed 0 or an odd number")
        if self.token_size == 0:
            raise ValueError(
                "the input of a token is empty: give words, capitals, affixes, classes, spellings or vectors a size"
            )
        return self

    @property
    def token_size(self) -> int:
        """The number of features of one token of the window."""
        spelling = self.spelling.features if self.spelling is not None else 0
        affixes = 2 * self.affix_characters * self.affix_size
        return self.word_size + self.capital_size + affixes + self.class_size + spelling + self.vector_size

    @property
    def input_size(self) -> int:
        """The size of the input at one time step: the features of all tokens of the window."""
        return self.token_size * max(self.window, 1)


class FeatureMapConfig(Frozen):
    """The input layer of LD-DNN (chen2017; sizes of Table 2): computes feature maps of the q-grams around a token.

    The layer reads only the vector x of each token (a character in the paper). ``layers`` names the operations on x.
    ``none``: the input is x. ``convolution``: the input is ``sets`` times ``maps`` feature maps (eqs 5-6).
    ``convolution_pooling``: the input is the ``word_size`` largest of these feature maps (eq. 7).
    ``convolution_pooling_highway``: a highway layer mixes these largest feature maps with x (eqs 8-9).
    """

    kind: Literal["feature_maps"] = "feature_maps"
    word_size: PositiveInt = 50
    """The size of a token's vector (d in the paper), and the number of values that k-max pooling keeps (k). The two
    must be equal, because the highway layer mixes the vector with the kept values."""
    layers: Literal["none", "convolution", "convolution_pooling", "convolution_pooling_highway"] = (
        "convolution_pooling_highway"
    )
    sets: PositiveInt = 5
    """The maximum length q of the q-grams, in tokens (Q in the paper)."""
    maps: PositiveInt = 100
    """The number of feature maps for each length q (l_q in the paper)."""
    dropout: Rate = 0.0
    word_vectors: Literal["trainable", "frozen"] = "trainable"
    """Whether pretrained vectors (``data.vectors``) are trained further; all other vectors are always trained."""

    @model_validator(mode="after")
    def _has_enough_to_pool(self) -> Self:
        pooled = self.layers in ("convolution_pooling", "convolution_pooling_highway")
        if pooled and self.word_size > self.sets * self.maps:
            raise ValueError(
                f"k-max pooling keeps word_size of the feature maps: got {self.word_size} of {self.sets * self.maps} "
                "(allowed: at most as many as there are)"
            )
        return self

    @property
    def input_size(self) -> int:
        """The size of the input at one time step."""
        return self.sets * self.maps if self.layers == "convolution" else self.word_size


class OneHotConfig(Frozen):
    """Reads words as one-hot vectors, for small vocabularies, such as the digits in gui2019's number prediction."""

    kind: Literal["one_hot"] = "one_hot"
    size: PositiveInt = 10
    """The size of the vectors: the maximum number of words in the vocabulary."""
    dropout: Rate = 0.0

    @property
    def input_size(self) -> int:
        """The size of the input at one time step."""
        return self.size


OurEmbedder = Annotated[EmbedderConfig | FeatureMapConfig | OneHotConfig, Field(discriminator="kind")]
AnyEmbedder = Annotated[OurEmbedder | OwnConfig, OpenTo("embedder", OurEmbedder)]
