"""Which of its K last states an LSTM layer reads at each step. Torch-free."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from skipstack.data.basis.frozen import Frozen

Share = Annotated[float, Field(ge=0, le=1)]


Addressing = Literal["distance", "place"]
"""What a policy's outputs stand for: how far back a state lies, as in gui2019, or where in the text
(``models/parts/skips/places.py``)."""


class FixedSkipConfig(Frozen):
    """h_{t-k} and c_{t-k} in place of h_{t-1} and c_{t-1}, k always the same (Zhang et al., 2016)."""

    kind: Literal["fixed"] = "fixed"
    reach: PositiveInt = 3
    """k."""


class AttentionSkipConfig(Frozen):
    """The mean of the K last states, weighed by a softmax that a perceptron computes (gui2019, "with attention")."""

    kind: Literal["attention"] = "attention"
    reach: PositiveInt = 10
    """K."""
    policy_hidden: PositiveInt = 50
    """Hidden units of the perceptron that weighs the states."""
    addressing: Addressing = "distance"


class DynamicSkipConfig(Frozen):
    """One of the K last states, chosen at each step by a policy that learns by REINFORCE (gui2019)."""

    kind: Literal["dynamic"] = "dynamic"
    reach: PositiveInt = 10
    """K."""
    share: Share = 0.5
    """lambda: the share of the chosen state, beside the previous one's 1 - lambda."""
    policy_hidden: PositiveInt = 50
    """Hidden units of the policy."""
    addressing: Addressing = "distance"
    previous_bias: float = 0.0
    """Where the policy's bias for the previous state starts: at 0 all K states are likely, at 3 a layer begins nearly
    as an LSTM, whose states tell where in the text they are."""
    test_action: Literal["argmax", "sample"] = "argmax"
    """What is done where nothing is learnt: the likeliest action, or one drawn as in training."""
    entropy_weight: NonNegativeFloat = 0.005
    """alpha: what an entropy of 1 nat at each step is worth, beside the reward; the paper does not print its own."""
    entropy_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """alpha is so many times as large in an epoch as in the one before: explore first, then decide."""
    reward: Literal["log_likelihood", "correct"] = "log_likelihood"
    """Of a sentence: the logarithm of what the network gives its right tags, or the share of them that it would decide
    on, stretched from -1 (none) to 1 (all)."""
    gradient: Literal["policy", "network"] = "policy"
    """How far the gradient of log p_t goes: to the policy alone, as the paper writes it (eq. 5, by theta_a), or on into
    the network whose states the policy sees, which then learns to hold what choices need, such as the place in a text.
    """
    baseline: Literal["none", "moving_average"] = "moving_average"
    """What a reward is held against: 0, or for each of the tags that it is of the mean reward of a tag so far, late
    ones weighing most."""


SkipConfig = FixedSkipConfig | AttentionSkipConfig | DynamicSkipConfig
AnySkip = Annotated[SkipConfig | None, Field(discriminator="kind")]
