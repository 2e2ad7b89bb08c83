"""Configs of skips through time: an LSTM layer reads one or several of its K last states. Imports no torch."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen

Share = Annotated[float, Field(ge=0, le=1)]


Addressing = Literal["distance", "place"]
"""The way in which the outputs of a skip's perceptron identify earlier states. ``distance``: by their distance back in
time, as in gui2019. ``place``: by their position in the text (``models/parts/skips/places.py``)."""


class FixedSkipConfig(Brief):
    """Reads the states h_{t-k} and c_{t-k} with a constant k, in place of h_{t-1} and c_{t-1} or mixed with them.

    gui2019 takes fixed skips from Zhang et al. (2016), who add connections to a recurrent network. gui2019 does not say
    whether the distant state replaces the previous state or is mixed with it. The presets of gui2019 have both, and
    compare the mixture with the paper's results.
    """

    kind: Literal["fixed"] = "fixed"
    reach: PositiveInt = 3
    """k: the distance of the state to read, in time steps."""
    previous_share: Annotated[Share, UNSAID] = 0.0
    """1 - lambda: the weight of the previous state; the state k steps back has the weight lambda."""


class AttentionSkipConfig(Frozen):
    """Reads a mean of the K last states, weighted by a perceptron with a softmax (gui2019, "with attention")."""

    kind: Literal["attention"] = "attention"
    reach: PositiveInt = 10
    """K: the number of last states that are read."""
    policy_hidden: PositiveInt = 50
    """Hidden units of the perceptron that weights the states."""
    addressing: Addressing = "distance"


class DynamicSkipConfig(Brief):
    """Reads one of the K last states, chosen at each step by a policy trained with REINFORCE (gui2019)."""

    kind: Literal["dynamic"] = "dynamic"
    reach: PositiveInt = 10
    """K: the number of last states to choose from."""
    share: Share = 0.5
    """lambda: the weight of the chosen state; the previous state has the weight 1 - lambda."""
    policy_hidden: PositiveInt = 50
    """Hidden units of the policy."""
    addressing: Addressing = "distance"
    previous_bias: float = 0.0
    """The initial bias of the policy's logit for the previous state. With 0, all K states are about equally likely at
    first. With 3, the layer is at first nearly an ordinary LSTM, whose states encode the position in the text."""
    test_action: Literal["argmax", "sample"] = "argmax"
    """The policy's choice outside of training. ``argmax``: the likeliest state. ``sample``: sampled, as in training."""
    entropy_weight: NonNegativeFloat = 0.005
    """alpha: the weight of the policy's entropy (nats per step) in the objective. The paper does not print alpha."""
    entropy_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The factor by which alpha is multiplied after each epoch. Below 1, the policy explores less and less."""
    reward: Literal["log_likelihood", "likelihood", "correct"] = "log_likelihood"
    """The policy's reward for a sentence. ``log_likelihood``: the log-likelihood of the gold tags. ``likelihood``: the
    probability of the gold tags, as gui2019 prints it for named entity recognition. ``correct``: the share of tags
    predicted correctly, rescaled to the range from -1 (none) to 1 (all)."""
    gradient: Literal["policy", "network"] = "policy"
    """The parameters reached by the gradient of log p_t, the log-probability of the policy's choice. ``policy``: the
    policy's parameters (theta_a in the paper's eq. 5). ``network``: also the parameters below the policy, so that the
    states learn to encode information for the choice, such as the position in a text."""
    baseline: Literal["none", "moving_average"] = "moving_average"
    """The baseline that is subtracted from a reward. ``none``: 0, as in gui2019 eq. 5. ``moving_average``: an
    exponential moving average of earlier rewards. With the reward ``log_likelihood``, the average is per tag, and is
    multiplied by the number of tags that the reward covers."""
    reward_to_go: Annotated[bool, UNSAID] = True
    """The rewards that a choice is credited with. ``true``: only the rewards of the tags from the choice's step on, in
    reading order, unless the choice also affects earlier tags. ``false``: the rewards of all tags of the sentence, as
    in gui2019 eq. 5. Both have the same expected gradient; with ``true`` it is less noisy. No effect if a sentence has
    a single reward: with the head ``crf``, ``margin`` or ``biaffine``, on texts with one label, or with the reward
    ``likelihood``."""


SkipConfig = FixedSkipConfig | AttentionSkipConfig | DynamicSkipConfig
AnySkip = Annotated[SkipConfig | None, Field(discriminator="kind")]
