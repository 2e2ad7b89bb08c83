"""The conformance checks of users' components of networks: gates, cells, heads and embedders.

Each check is a function that raises ``Failure`` if the component fails. All built-in components pass. The report of a
passed check shows the check's docstring.
"""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np
import torch
from torch import Tensor

from skipstack.data.basis.errors import UserError
from skipstack.data.store.batches import Batch
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import Adam, Constant, TrainingConfig
from skipstack.models.conformance.parts import check_numbers, check_part
from skipstack.models.conformance.pieces import Failure, Unchecked
from skipstack.models.conformance.specimen import BATCH, CPU, LANES, Specimen
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.model import Network, Stacked
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.training.loading import Loader
from skipstack.models.training.loop import Training

CLOSE: Final = 1e-10
"""The maximum difference, in float64, of losses that should be equal except for the order of summation."""

STEP, SLOPE_CLOSE, PLACES = 1e-6, 1e-6, 3
"""Settings of numerical gradients. ``STEP``: the step by which a weight is moved up and down. ``SLOPE_CLOSE``: the
allowed difference from the gradient, relative to max(1, |slope|). ``PLACES``: weights checked per parameter."""

UPDATES = 3


def shapes(specimen: Specimen) -> None:
    """The output has the shape that its base class states, and is finite."""
    network = specimen.network()
    assert isinstance(network, Stacked), "a piece is checked in layers"
    with torch.no_grad():
        check_part(specimen.piece.part, network, specimen.lexicon, specimen.model.embedder.input_size)
    loss_RB = _losses(network, specimen)
    check_numbers("the loss of each sentence", loss_RB, loss_RB.shape)


def waits(specimen: Specimen) -> None:
    """An update waits for the device no more often than with a built-in component: no number is read on the host."""
    try:
        import skipstack.models.conformance.accelerator.simulated  # noqa: F401
    except UserError as error:
        raise Unchecked(str(error)) from error
    own, ours = _waits(specimen, specimen.model), _waits(specimen, specimen.ours)
    if own > ours:
        raise Failure(
            f"an update waits {own} times for the device, the built-in piece {ours}: numbers go to or from the host"
        )


def _waits(specimen: Specimen, model: ModelConfig) -> int:
    from skipstack.models.conformance.accelerator.simulated import Accelerator, DevicesMixError, HostReadsError

    accelerator = Accelerator()
    with accelerator:
        network = specimen.network(model, accelerator.device).train()
        lexicon = LexiconTensors.on(accelerator.device, specimen.corpus.lexicon)
        loader = Loader(embedder=network.embedder, lexicon=lexicon, lanes=len(LANES), device=accelerator.device)
        tokens, gold = loader.load(specimen.batch(0))
        before = copy(accelerator.work)
        try:
            torch.autograd.backward(network.loss(tokens, gold, lexicon).sum())
        except HostReadsError as error:
            raise Failure(
                "a number of the device is read on the host, such as by .item(), if or a mask: a GPU would wait"
            ) from error
        except DevicesMixError as error:
            raise Failure(
                "an operation mixes tensors of host and device: create them on the input's device, such as by new_zeros"
            ) from error
    return (accelerator.work - before).waits


def repeats(specimen: Specimen) -> None:
    """The same seeds give the same losses: random numbers come from the lanes' streams."""
    before, found = torch.get_rng_state(), []
    for disturbed in (1, 2):
        torch.default_generator.manual_seed(disturbed)
        found.append(_losses(specimen.network().train(), specimen))
    torch.set_rng_state(before)
    if not torch.equal(*found):
        raise Failure("the same seeds give other losses: draw from the lanes' streams, not from a global generator")


def calls(specimen: Specimen) -> None:
    """The losses of a batch do not depend on earlier batches: no state is kept between calls."""
    network = specimen.network().eval()
    before = _losses(network, specimen)
    _losses(network, specimen, number=1)
    if not torch.equal(before, _losses(network, specimen)):
        raise Failure("the same batch gives other losses after another batch: no state may be kept between calls")


def sentences(specimen: Specimen) -> None:
    """The loss of a sentence does not depend on the other sentences of its batch."""
    network, batch = specimen.network().eval(), specimen.everything
    forms_RTB = batch.forms_RTB.copy()
    forms_RTB[:, :, 1:] = np.where(forms_RTB[:, :, 1:] > 0, forms_RTB[:, :, 1:] % 5 + 1, 0)
    other = replace(batch, forms_RTB=forms_RTB)
    difference = _difference(_of(network, specimen, batch)[:, 0], _of(network, specimen, other)[:, 0])
    if difference > CLOSE:
        raise Failure(
            f"a sentence's loss changes by {difference:.1e} with the words of other sentences: nothing may be "
            "computed over the sentences of a batch"
        )


def padding(specimen: Specimen) -> None:
    """The loss of a sentence does not depend on values at padding."""
    network, batch = specimen.network().eval(), specimen.everything
    outside_RTB = np.arange(batch.forms_RTB.shape[1])[None, :, None] >= batch.lengths_RB[:, None, :]
    assert outside_RTB.any(), "the corpus has sentences of different lengths"
    other = replace(batch, forms_RTB=np.where(outside_RTB, 1, batch.forms_RTB))
    difference = _difference(_of(network, specimen, batch), _of(network, specimen, other))
    if difference > CLOSE:
        raise Failure(
            f"a sentence's loss changes by {difference:.1e} with values at padding: nothing may be computed over "
            "time that reads beyond the end of a sentence"
        )


def lanes(specimen: Specimen) -> None:
    """Two seeds that are trained together have the same losses as each seed trained alone."""
    together = _updates(specimen, *LANES)
    for number, lane in enumerate(LANES):
        alone = _updates(specimen, lane)
        for update, (fused, solo) in enumerate(zip(together, alone, strict=True), start=1):
            if _difference(fused[number], solo[0]) > CLOSE:
                raise Failure(
                    f"update {update} has loss {float(fused[number]):.6f} beside another seed and {float(solo[0]):.6f} "
                    "alone: nothing may be computed over lanes, the first axis"
                )


def gradient(specimen: Specimen) -> None:
    """The gradient agrees with numerical differences of the loss in float64, for every parameter of the network."""
    network, draws = specimen.network().eval(), np.random.default_rng(0)
    tokens, gold = specimen.read(specimen.batch(1), network)
    torch.autograd.backward(network.loss(tokens, gold, specimen.lexicon).sum())
    for name, parameter in network.named_parameters():
        flat = parameter.data.view(-1)
        slopes = torch.zeros_like(flat) if parameter.grad is None else parameter.grad.to_dense().reshape(-1)
        for place in draws.choice(len(flat), size=min(PLACES, len(flat)), replace=False):
            by_difference = _slope(network, specimen, flat, int(place))
            by_gradient = float(slopes[place])
            if abs(by_difference - by_gradient) > SLOPE_CLOSE * max(1.0, abs(by_difference)):
                raise Failure(
                    f"the loss moves by {by_difference:.6f} with {name}, the gradient says {by_gradient:.6f}: "
                    "its backward pass is detached or wrong somewhere"
                )


def resumed(specimen: Specimen) -> None:
    """A resumed training equals an uninterrupted training, bit for bit."""
    first, whole = _training(specimen), _training(specimen)
    for run in (first, whole):
        run.train_epoch()
    second = _training(specimen)
    second.load_state_dict({name: tensor.clone() for name, tensor in first.state_dict().items()})
    if not torch.equal(second.train_epoch(), whole.train_epoch()):
        raise Failure(
            "a resumed training has other losses: state must be a parameter or a buffer, or a checkpoint lacks it"
        )


CHECKS: Final[Mapping[str, Callable[[Specimen], None]]] = {
    each.__name__: each for each in (shapes, waits, repeats, calls, sentences, padding, lanes, gradient, resumed)
}
"""The checks by name, in the order in which they run. After a failure the later checks are skipped, since they would
often only repeat it. ``waits`` must run before the first backward pass of the process, in which torch counts the
devices."""


def _losses(network: Network, specimen: Specimen, number: int = 0) -> Tensor:
    """Return the losses of the sentences of training batch ``number``: loss_RB."""
    return _of(network, specimen, specimen.batch(number))


def _of(network: Network, specimen: Specimen, batch: Batch) -> Tensor:
    with torch.no_grad():
        return network.loss(*specimen.read(batch, network), specimen.lexicon)


def _difference(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def _slope(network: Network, specimen: Specimen, flat: Tensor, place: int) -> float:
    """Return the numerical derivative of the loss with respect to ``flat[place]``, which is unchanged afterwards."""
    before, sums = float(flat[place]), []
    for sign in (1, -1):
        flat[place] = before + sign * STEP
        sums.append(float(_losses(network, specimen, 1).sum()))
    flat[place] = before
    return (sums[0] - sums[1]) / (2 * STEP)


def _training(specimen: Specimen, *lanes: Lane) -> Training:
    recipe = TrainingConfig(
        epochs=2, batch_size=BATCH, optimiser=Adam(learning_rate=0.02), schedule=Constant(), precision="float64"
    )
    return Training(
        model=specimen.model, training=recipe, corpus=specimen.corpus, lanes=lanes or LANES, order_seed=0, device=CPU
    )


def _updates(specimen: Specimen, *lanes: Lane) -> list[Tensor]:
    """Make the first ``UPDATES`` updates of ``lanes``, and return the losses loss_R of each update."""
    run = _training(specimen, *lanes)
    run.model.train()
    return [run.step(batch)[0] for batch in islice(run.batches(), UPDATES)]
