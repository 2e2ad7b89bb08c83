"""The hidden layer of a label-feedback network, and its loop over time.

Arrays with an axis G (lanes * directions) are in the reading order of their direction. Axes: W positions of the
context, whose values are fed back; X = H; S = T + W; K labels; N = T * B.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.models.configs.feedback import Activation, FeedbackConfig
from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.products import product
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.networks.feedback.links import HiddenLink, Link, Weights
from skipstack.models.parts.heads.feedback import FeedbackHead

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"sigmoid": sigmoid, "relu": torch.relu}

TURNED = {"forward": (False,), "backward": (True,), "both": (False, True)}
"""Flags of the directions in each setting: True for a direction that reads from a sentence's end to its beginning."""


class Directions:
    """The reading order of each direction. Padding comes at the end in every order."""

    def __init__(self, kind: Literal["forward", "backward", "both"]) -> None:
        self.turned = TURNED[kind]

    def __len__(self) -> int:
        return len(self.turned)

    def turn(self, x_GTBF: Tensor, lengths_RB: Tensor) -> Tensor:
        """Reorder ``x_GTBF`` from the text's order to the reading order of each direction, or back."""
        parts_RTBF = x_GTBF.reshape(-1, len(self), *x_GTBF.shape[1:]).unbind(1)
        turned = [
            ReadingOrder(lengths_RB, part.shape[1]).turned(part) if turned else part
            for part, turned in zip(parts_RTBF, self.turned, strict=True)
        ]
        return torch.stack(turned, dim=1).flatten(0, 1)


@dataclass(frozen=True, slots=True)
class Known:
    """The values that are computed before the loop over time.

    ``pre_GTBX``: the pre-activations without the feedback from positions of the sentence. ``labels``: the weights for
    the feedback of labels. ``previous``: the weights for the feedback of hidden layers. None means that the variant has
    no feedback of this kind.
    """

    pre_GTBX: Tensor
    labels: Weights | None
    previous: Weights | None


@dataclass(frozen=True, slots=True)
class Fed:
    """The values of each position that are fed back to later positions. No gradient flows through them.

    ``labels``: label ids, labels_GTB, or distributions over labels, labels_GTBK. ``hidden_GTBH``: hidden layers. A
    field is None if the variant does not feed back its values.
    """

    labels: Tensor | None
    hidden_GTBH: Tensor | None


class FeedbackLayer(nn.Module):
    """The hidden layer of a label-feedback network:
    h_t = f(I_t H + b + [y_{t-c} ... y_{t-1}] R + [h_{t-c} ... h_{t-1}] R')              (dinarelli2016 eqs 6-8)

    I_t is the window of words, f a sigmoid or the rectified linear function, y labels. Each variant has the term of
    labels, the term of hidden layers, or both (``models/networks/feedback/links.py``).

    Training uses traditional back-propagation, as in the paper (section 2.3): the c values that are fed back count as
    inputs, without a gradient to earlier positions. So an update has two parts. First, a loop over time computes the
    values that are fed back. Then one product for each matrix computes the gradient of all positions.
    """

    def __init__(
        self,
        config: FeedbackConfig,
        *,
        lanes: int,
        below: int,
        directions: Directions,
        labels: Link | None,
        previous: HiddenLink | None,
    ) -> None:
        super().__init__()
        assert labels is not None or previous is not None, "something is fed back"
        self.context = config.context
        self.directions = directions
        self.activation = ACTIVATIONS[config.activation]
        self.feedback = config.feedback
        self.below = parameter(lanes, len(directions), below, config.hidden, role=WEIGHT)
        self.bias = parameter(lanes, len(directions), config.hidden, role=BIAS)
        self.labels = labels
        self.previous = previous

    def project(self, x_RTBI: Tensor, lengths_RB: Tensor) -> Known:
        """Compute everything that needs no feedback from positions of the sentence: I_t H + b for all time steps, plus
        the feedback of the learned values before the first position.
        """
        lanes, steps, sentences, _ = x_RTBI.shape
        weight_RIX = self.below.transpose(1, 2).flatten(2)
        pre_RNX = product(x_RTBI.flatten(1, 2), weight_RIX, self.bias.flatten(1).unsqueeze(1))
        pre_RTBDX = pre_RNX.view(lanes, steps, sentences, len(self.directions), -1)
        pre_GTBX = self.directions.turn(pre_RTBDX.movedim(3, 1).flatten(0, 1), lengths_RB)
        labels, previous = (None if link is None else link.weights() for link in (self.labels, self.previous))
        for weights in (labels, previous):
            if weights is not None:
                pre_GTBX = pre_GTBX + weights.before_first(steps).unsqueeze(2)
        return Known(pre_GTBX, labels, previous)

    def hidden(self, known: Known, fed: Fed) -> Tensor:
        """Compute hidden_GTBH, the h of all time steps at once, from the values that are fed back."""
        pre_GTBX = known.pre_GTBX
        for weights, values in ((known.labels, fed.labels), (known.previous, fed.hidden_GTBH)):
            if weights is not None:
                assert values is not None
                pre_GTBX = pre_GTBX + weights.read(values)
        return self.activation(pre_GTBX)

    @torch.no_grad()
    def decide(
        self, known: Known, head: FeedbackHead, kept_GTBH: Tensor | None = None, gold_GTB: Tensor | None = None
    ) -> tuple[Tensor, Fed]:
        """Decide position after position, and feed each decision back. Return scores_GTBK and the values fed back.

        ``kept_GTBH``: dropout factors of the hidden layer as the head reads it; None means no dropout. ``gold_GTB``:
        gold labels to feed back instead of the decisions. No mask is needed: padding comes after all tokens.
        """
        steps, context = known.pre_GTBX.shape[1], self.context
        pre_GSBX = functional.pad(known.pre_GTBX, (0, 0, 0, 0, 0, context))
        scores, labels, hidden = [], [], []
        for step in range(steps):
            h_GBH = self.activation(pre_GSBX[:, step])
            scores.append(head.scores(h_GBH if kept_GTBH is None else h_GBH * kept_GTBH[:, step]))
            after_GBWX = pre_GSBX[:, step + 1 : step + 1 + context].transpose(1, 2)
            if known.labels is not None:
                labels.append(self._label(scores[-1]) if gold_GTB is None else gold_GTB[:, step])
                after_GBWX += known.labels.added(labels[-1])
            if known.previous is not None:
                hidden.append(h_GBH)
                after_GBWX += known.previous.added(h_GBH)
        fed = Fed(*(torch.stack(values, dim=1) if values else None for values in (labels, hidden)))
        return torch.stack(scores, dim=1), fed

    def _label(self, scores_GBK: Tensor) -> Tensor:
        """Return the value that a decision feeds back: the best label's id, or the distribution over labels."""
        return scores_GBK.softmax(dim=-1) if self.feedback == "distribution" else scores_GBK.argmax(dim=-1)
