"""Configs of skips: which of its K last states an LSTM layer reads at each step. Torch-free."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from skipstack.data.basis.frozen import UNSAID, Brief, Frozen

Share = Annotated[float, Field(ge=0, le=1)]


Addressing = Literal["distance", "place"]
"""The meaning of the policy's outputs: each is a distance back in time, as in gui2019, or a position in the text
(``models/parts/skips/places.py``)."""


class FixedSkipConfig(Brief):
    """Reads h_{t-k} and c_{t-k} with a constant k: in place of h_{t-1} and c_{t-1}, or mixed with them.

    gui2019 takes its fixed skips from Zhang et al. (2016), who add connections to a recurrent network; its text does
    not tell which of the two it uses.
    """

    kind: Literal["fixed"] = "fixed"
    reach: PositiveInt = 3
    """k: the distance of the state that is read, in steps."""
    previous_share: Annotated[Share, UNSAID] = 0.0
    """The weight of the previous state, 1 - lambda; the state k steps back has lambda."""


class AttentionSkipConfig(Frozen):
    """Reads the mean of the K last states, weighted by a perceptron's softmax (gui2019, "with attention")."""

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
    """lambda: the weight of the chosen state; the previous state has 1 - lambda."""
    policy_hidden: PositiveInt = 50
    """Hidden units of the policy."""
    addressing: Addressing = "distance"
    previous_bias: float = 0.0
    """The initial bias of the policy's logit for the previous state: at 0 all K states are likely, at 3 a layer starts
    nearly as an LSTM, whose states tell where in the text they are."""
    test_action: Literal["argmax", "sample"] = "argmax"
    """The action outside of training: the likeliest one, or one sampled as in training."""
    entropy_weight: NonNegativeFloat = 0.005
    """alpha: the weight of the policy's entropy (in nats, per step) beside the reward; the paper does not print its
    own."""
    entropy_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """alpha is multiplied by this after each epoch: explore first, then decide."""
    reward: Literal["log_likelihood", "likelihood", "correct"] = "log_likelihood"
    """The reward of a sentence: the log-likelihood of its gold tags; their probability, as gui2019 prints it for names;
    or the share of tags decided correctly, rescaled to -1 (none) to 1 (all)."""
    gradient: Literal["policy", "network"] = "policy"
    """The parameters that the gradient of log p_t reaches: the policy's, as the paper writes it (eq. 5, by theta_a), or
    also those of the network whose states the policy reads; it then learns to encode what choices need, such as the
    position in a text."""
    baseline: Literal["none", "moving_average"] = "moving_average"
    """The baseline subtracted from a reward: 0, or for each tag in it an exponential moving average of the reward per
    tag."""


SkipConfig = FixedSkipConfig | AttentionSkipConfig | DynamicSkipConfig
AnySkip = Annotated[SkipConfig | None, Field(discriminator="kind")]
