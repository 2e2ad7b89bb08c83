"""Configs of skips: which of its K last states an LSTM layer reads at each step. Imports no torch."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen

Share = Annotated[float, Field(ge=0, le=1)]


Addressing = Literal["distance", "place"]
"""The meaning of each output of the perceptron that weights or chooses states. ``distance``: a distance back in time,
as in gui2019. ``place``: a position in the text (``models/parts/skips/places.py``)."""


class FixedSkipConfig(Brief):
    """Reads h_{t-k} and c_{t-k} with a constant k, in place of h_{t-1} and c_{t-1} or mixed with them.

    gui2019 takes its fixed skips from Zhang et al. (2016), who add connections to a recurrent network. The text of
    gui2019 does not tell whether the distant state replaces the previous one or is mixed with it.
    """

    kind: Literal["fixed"] = "fixed"
    reach: PositiveInt = 3
    """k: the distance of the state that is read, in steps."""
    previous_share: Annotated[Share, UNSAID] = 0.0
    """The weight of the previous state, 1 - lambda; the state k steps back has the weight lambda."""


class AttentionSkipConfig(Frozen):
    """Reads a weighted mean of the K last states; the weights are the softmax of a perceptron's outputs (gui2019, "with
    attention").
    """

    kind: Literal["attention"] = "attention"
    reach: PositiveInt = 10
    """K: the number of last states that are read."""
    policy_hidden: PositiveInt = 50
    """Hidden units of the perceptron that weights the states."""
    addressing: Addressing = "distance"


class DynamicSkipConfig(Frozen):
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
    """The initial bias of the policy's logit for the previous state. At 0, all K states are about equally
    likely at first. At 3, the layer starts nearly as an LSTM, whose states tell where in the text they are."""
    test_action: Literal["argmax", "sample"] = "argmax"
    """The policy's choice outside of training: the likeliest state, or a state sampled as in training."""
    entropy_weight: NonNegativeFloat = 0.005
    """alpha: the weight of the policy's entropy (in nats, per step), which is added to the reward. The paper does not
    print its value."""
    entropy_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The factor by which alpha is multiplied after each epoch. With a factor below 1, the policy explores first and
    decides later."""
    reward: Literal["log_likelihood", "likelihood", "correct"] = "log_likelihood"
    """The policy's reward for a sentence. ``log_likelihood``: the log-likelihood of the gold tags. ``likelihood``: the
    probability of the gold tags, as gui2019 prints it for named entity recognition. ``correct``: the share of tags
    predicted correctly, rescaled to the range from -1 (none) to 1 (all)."""
    gradient: Literal["policy", "network"] = "policy"
    """The parameters that the gradient of log p_t reaches, the log-probability of the policy's choice. ``policy``: the
    policy's, as the paper writes it (eq. 5, by theta_a). ``network``: also those of the network whose states the policy
    reads, so that the network learns to encode what choices need, such as the position in a text."""
    baseline: Literal["none", "moving_average"] = "moving_average"
    """The baseline that is subtracted from a reward. ``none``: 0. ``moving_average``: for each tag that the reward
    covers, an exponential moving average of the reward per tag."""


SkipConfig = FixedSkipConfig | AttentionSkipConfig | DynamicSkipConfig
AnySkip = Annotated[SkipConfig | None, Field(discriminator="kind")]
