"""The training loop, which trains all lanes at once (a lane is one seed's copy of the network).

Axes: R lanes, B sentences.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from skipstack.data.basis.errors import UserError
from skipstack.data.store.batches import Batch, training_batch_count, training_batches
from skipstack.data.store.prepared import PreparedCorpus
from skipstack.data.store.streams import stream_batch_count, stream_batches
from skipstack.data.tasks.measure import Counts
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import TrainingConfig
from skipstack.models.ground.allocation import keep_freed_memory
from skipstack.models.ground.device import clock
from skipstack.models.ground.precision import products_in
from skipstack.models.ground.subnormals import subnormals_are_zero
from skipstack.models.kernels.choice import warn_if_unfused
from skipstack.models.layers.lanes import Lane, lane_by_lane
from skipstack.models.layers.lookup import Lookup
from skipstack.models.networks.build import Sizes, build, unfilled
from skipstack.models.networks.model import Tokens
from skipstack.models.networks.stack import Memory
from skipstack.models.parts.heads.base import Gold, Head
from skipstack.models.parts.heads.doubts import attempted
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors
from skipstack.models.training.captured import CapturedSteps, obstacle
from skipstack.models.training.evaluate import Evaluation, evaluate, needs_losses_of_tags
from skipstack.models.training.gradients import backward, clip, penalise
from skipstack.models.training.graphs import Graphs
from skipstack.models.training.loading import Loader
from skipstack.models.training.optimisers import optimiser
from skipstack.models.training.pretrained import PretrainedRows
from skipstack.models.training.pretraining import pretrain
from skipstack.models.training.schedule import next_learning_rate, shares


@dataclass(frozen=True, kw_only=True, slots=True)
class EpochReport:
    """The results of an epoch; each tuple has one value per lane.

    ``epoch``: the epoch's number, counted from 1. ``train_loss``, ``dev_loss``: the mean loss per tag.
    ``dev_accuracy``: the share of right tags. ``dev_score``: the score that ranks trials, computed from ``dev_counts``
    (``data.tasks.measure``). ``learning_rate``: the rates of this epoch. For the schedule ``cosine``, which changes the
    rates with every update, these are the initial rates in all epochs. ``seconds``: the time of training and
    evaluation. ``latency``: the seconds per 1,000 dev tokens in evaluation, divided by the number of lanes.
    """

    epoch: int
    train_loss: tuple[float, ...]
    dev_loss: tuple[float, ...]
    dev_accuracy: tuple[float, ...]
    dev_score: tuple[float, ...]
    dev_counts: tuple[Counts, ...]
    learning_rate: tuple[float, ...]
    seconds: float
    latency: float


class Training:
    """A network in training. Equal seeds give equal training curves, bit for bit on a CPU with equally many threads.

    ``lanes``: the seed of each lane, and the settings in which lanes differ. ``order_seed``: the seed of the order
    of the batches, which is the same in all lanes. All other random numbers of a lane depend on the lane's own seed.
    ``graphs``: if set, steps are captured (``models/training/captured.py``), or run normally with a warning if
    capturing is impossible. ``state``: a result of ``state_dict`` to continue from, in place of random initial weights.
    ``recipes``: the training config of each lane, if configs differ (as ``models/configs/shared.py`` allows); None
    means ``training`` for all lanes.

    A run resumed by ``load_state_dict`` equals the uninterrupted run. On another kind of device, only the loaded
    weights and the random numbers are the same.
    """

    def __init__(
        self,
        *,
        model: ModelConfig,
        training: TrainingConfig,
        corpus: PreparedCorpus,
        lanes: Sequence[Lane],
        order_seed: int,
        device: torch.device,
        graphs: Graphs | None = None,
        state: dict[str, Tensor] | None = None,
        recipes: Sequence[TrainingConfig] | None = None,
    ) -> None:
        keep_freed_memory()
        warn_if_unfused(device)
        self.config = training
        self.initial_scale = model.initial_scale
        self.corpus = corpus
        self.lanes = tuple(lanes)
        self.recipes = (training,) * len(lanes) if recipes is None else tuple(recipes)
        self.order_seed = order_seed
        self.device = device
        sizes = Sizes.of_corpus(corpus)
        dtype = dtype_of(training)
        make = build if state is None else unfilled
        self.model, self.streams = make(model, sizes=sizes, lanes=lanes, dtype=dtype, device=device)
        task = TASKS[corpus.stored.task]
        if task.continues and type(self.model.head).losses is Head.losses:
            raise UserError(needs_losses_of_tags(model.head.kind, task))
        self.pretrained = _pretrained(self.model.embedder, corpus)
        self.lexicon = LexiconTensors.on(device, corpus.lexicon)
        self.trusting = self.model.head.may_doubt and device.type != "cpu"
        self.optimiser = optimiser(
            training.optimiser,
            dict(self.model.named_parameters()),
            biases=training.penalised == "all",
            pretrained=self.pretrained,
        )
        for each in self.model.modules():
            if isinstance(each, Lookup):
                each.by_row = not training.l2 and self.optimiser.by_row(each.table)
        self.captured = None if graphs is None else self._captured(graphs)
        self.loader = Loader(
            embedder=self.model.embedder,
            lexicon=self.lexicon,
            lanes=len(lanes),
            device=device,
            pads=self.captured is not None,
        )
        self.epoch = 0
        rates_R = [
            recipe.optimiser.learning_rate if lane.learning_rate is None else lane.learning_rate
            for recipe, lane in zip(self.recipes, lanes, strict=True)
        ]
        self.learning_rate_R = torch.tensor(rates_R, dtype=torch.float64)
        self.error_R = torch.full((len(lanes),), torch.nan, dtype=torch.float64)
        self.l2_R = [recipe.l2 for recipe in self.recipes]
        self.clip_norm = self._clip_norm()
        if state is not None:
            self.load_state_dict(state)

    def run_epoch(self, tick: Callable[[], None] = lambda: None) -> EpochReport:
        """Call ``train_epoch``, evaluate on dev, set the next epoch's learning rates, and return the report."""
        started = clock(self.device)
        learning_rate_R = self.learning_rate_R
        train_loss_R = self.train_epoch(tick)
        trained = clock(self.device)
        dev = self.evaluate("dev")
        reading = clock(self.device) - trained
        error_R = torch.tensor(dev.error, dtype=torch.float64)
        self.learning_rate_R = self._next_rates(error_R)
        self.error_R = error_R
        return EpochReport(
            epoch=self.epoch,
            train_loss=_numbers(train_loss_R),
            dev_loss=dev.loss,
            dev_accuracy=dev.accuracy,
            dev_score=dev.score,
            dev_counts=dev.counts,
            learning_rate=_numbers(learning_rate_R),
            seconds=clock(self.device) - started,
            latency=1000 * reading / (len(self.lanes) * len(self.corpus.stored.splits["dev"].forms_N)),
        )

    def _next_rates(self, error_R: Tensor) -> Tensor:
        each_R = [torch.split(each, 1) for each in (self.learning_rate_R, self.error_R, error_R)]
        return torch.cat(
            [
                next_learning_rate(recipe.schedule, *own, done=self.epoch, left=recipe.epochs - self.epoch)
                for recipe, *own in zip(self.recipes, *each_R, strict=True)
            ]
        )

    def _clip_norm(self) -> float | Tensor | None:
        """Return the maximum norm of a lane's gradient: a number if equal for all lanes, otherwise a tensor on the
        device. None means that gradients are not clipped.
        """
        if self.config.clip_norm is None:
            return None
        longest_R = [recipe.clip_norm for recipe in self.recipes if recipe.clip_norm is not None]
        same, *others = set(longest_R)
        return torch.tensor(longest_R, dtype=dtype_of(self.config), device=self.device) if others else same

    def pretrain(self) -> None:
        """Initialise word and label vectors from language models, if configured."""
        if self.config.pretraining is not None:
            seeds = [lane.seed for lane in self.lanes]
            pretrain(self.config.pretraining, self.model, self.corpus, seeds, self.initial_scale)

    @subnormals_are_zero()
    def train_epoch(self, tick: Callable[[], None] = lambda: None) -> Tensor:
        """Train one epoch, and return loss_R, each lane's mean loss over the epoch's tags.

        Epoch 0 begins with pretraining, if configured. ``tick`` is called before each update. Its errors end the epoch.

        On a GPU, losses are checked for inaccuracy only at the end of the epoch (``models/parts/heads/doubts.py``). If
        a loss may be inaccurate, the epoch is undone and repeated, and from then on each loss is checked immediately.
        """
        if self.epoch == 0:
            self.pretrain()
        if not self.trusting:
            return self._trained(tick)
        before = {name: tensor.to("cpu", copy=True) for name, tensor in self.state_dict().items()}
        loss_R, doubted = attempted(self.model.head, lambda: self._trained(tick))
        if not doubted:
            return loss_R
        self.trusting = False
        self.load_state_dict(before)
        return self._trained(tick)

    def _trained(self, tick: Callable[[], None]) -> Tensor:
        self.model.train()
        self.model.begin(self.epoch)
        memory = Memory() if TASKS[self.corpus.stored.task].continues else None
        totals, rates_NR = [], self._rates_of_updates()
        for (_, (tokens, gold)), rate_R in zip(self.loader(self.batches(), memory), rates_NR, strict=True):
            tick()
            totals.append(self.update(tokens, gold, rate_R))
        self.epoch += 1
        loss_R = lane_by_lane(lambda *losses_R: torch.stack(losses_R).sum(dim=0), *(loss for loss, _ in totals))
        return loss_R / torch.stack([tags for _, tags in totals]).sum(dim=0)

    def batches(self) -> Iterator[Batch]:
        """Return the batches of the next epoch: sentences in the epoch's random order, or running text in order."""
        stored, size = self.corpus.stored, self.config.batch_size
        if TASKS[stored.task].continues:
            return stream_batches(stored.splits["train"], streams=size, window=self.config.window)
        seeds = [lane.seed for lane in self.lanes]
        return training_batches(
            stored.splits["train"], batch_size=size, order_seed=self.order_seed, lane_seeds=seeds, epoch=self.epoch
        )

    def _rates_of_updates(self) -> Tensor:
        """Return the learning rates at each update of the next epoch, on the device."""
        train, size = self.corpus.stored.splits["train"], self.config.batch_size
        if TASKS[self.corpus.stored.task].continues:
            updates = stream_batch_count(train, streams=size, window=self.config.window)
        else:
            updates = training_batch_count(train, size)
        shares_RN = [
            shares(recipe.schedule, done=self.epoch, epochs=recipe.epochs, updates=updates) for recipe in self.recipes
        ]
        rates_NR = torch.tensor(shares_RN, dtype=torch.float64).T.contiguous() * self.learning_rate_R
        return rates_NR.to(self.device, dtype_of(self.config))

    def step(self, batch: Batch, memory: Memory | None = None) -> tuple[Tensor, Tensor]:
        """Make one update from ``batch``; return (loss_R, tags_R) like ``launched``. ``memory``: see ``Loader``."""
        return self.update(*self.loader.load(batch, memory), self.rates())

    def update(self, tokens: Tokens, gold: Gold, rate_R: Tensor) -> tuple[Tensor, Tensor]:
        """Make one update, by a captured step if steps are captured; return (loss_R, tags_R) like ``launched``."""
        if self.captured is None:
            return self.launched(tokens, gold, rate_R)
        return self.captured(self.launched, tokens, gold, rate_R)

    def launched(self, tokens: Tokens, gold: Gold, rate_R: Tensor) -> tuple[Tensor, Tensor]:
        """Make one update without capturing. Return (loss_R, tags_R): each lane's loss before the update, summed over
        the batch, and each lane's number of tags in the batch.

        The objective of a lane is its mean loss over tags (wu2017 eq. 3) or sentences (chen2017 eq. 20), plus the L2
        penalty, if any. The program's objective is the sum over lanes, so a lane's gradient does not depend on other
        lanes.
        """
        tags_R = gold.counted_R
        assert tags_R is not None, "a batch knows how many tags it has"
        for parameter in self.optimiser.parameters.values():
            parameter.grad = None
        with products_in(self.config.precision):
            loss_RB = self.model.loss(tokens, gold, self.lexicon)
            backward(loss_RB, self._shares(loss_RB, tags_R))
        if self.config.l2:
            penalise(self.optimiser.parameters, self.l2_R, biases=self.config.penalised == "all")
        if self.pretrained is not None:
            self.pretrained.hold()
        if self.clip_norm is not None:
            clip(self.optimiser.parameters, self.clip_norm)
        self.optimiser.step(rate_R)
        return lane_by_lane(lambda losses_RB: losses_RB.sum(dim=1), loss_RB.detach()), tags_R

    def _shares(self, loss_RB: Tensor, tags_R: Tensor) -> Tensor:
        """Return share_RB, the weight of each sentence's loss in the objective: 1 / the number of tags of the lane in
        the batch, or 1 / the number of sentences in the batch (``averaged_over``).
        """
        if self.config.averaged_over == "sentences":
            return loss_RB.new_full((), 1 / loss_RB.shape[1]).expand_as(loss_RB)
        return tags_R.to(loss_RB.dtype).reciprocal().unsqueeze(1).expand_as(loss_RB)

    def _captured(self, graphs: Graphs) -> CapturedSteps | None:
        """Create the captured steps, and count on the device from now on. If impossible, warn and return None."""
        if (reason := obstacle(self.model)) is not None:
            warnings.warn(f"steps are not captured: {reason}", stacklevel=3)
            return None
        self.streams.count_on_device()
        self.optimiser.count_on(self.device)
        return CapturedSteps(self.model.head, graphs)

    def rates(self) -> Tensor:
        """Return the current learning rates on the device, in the network's dtype: rate_R."""
        return self.learning_rate_R.to(self.device, dtype_of(self.config))

    def evaluate(self, split: str) -> Evaluation:
        """Evaluate every lane on ``split``."""
        return evaluate(self.model, self.corpus.stored, split, self.lexicon, len(self.lanes))

    def weights(self) -> dict[str, Tensor]:
        """Return the weights of the network by name, not copied; the first axis is the lanes."""
        weights: dict[str, Tensor] = self.model.state_dict()
        return weights

    def state_dict(self) -> dict[str, Tensor]:
        """Return the complete state of the run as named tensors. Most are not copied, so later epochs change them."""
        return {
            **{f"model.{name}": tensor for name, tensor in self.model.state_dict().items()},
            **{f"optimiser.{name}": tensor for name, tensor in self.optimiser.state().items()},
            "learning_rate": self.learning_rate_R,
            "dev_error": self.error_R,
            **self.counters(),
        }

    def counters(self) -> dict[str, Tensor]:
        """Return copies of the counters, that is, the tensors of ``state_dict`` without a lane axis, by name."""
        return {
            "optimiser.steps": torch.as_tensor(self.optimiser.steps).clone(),
            "dropout_streams": self.streams.get_state(),
            "epoch": torch.tensor(self.epoch),
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from a result of ``state_dict``."""
        self.model.load_state_dict(_under("model.", state))
        self.optimiser.load(_under("optimiser.", state))
        self.learning_rate_R = state["learning_rate"].clone()
        self.error_R = state["dev_error"].clone()
        self.epoch = int(state["epoch"])
        self.streams.set_state(state["dropout_streams"])


def dtype_of(training: TrainingConfig) -> torch.dtype:
    """Return the dtype of a network's weights for ``training.precision``."""
    return torch.float64 if training.precision == "float64" else torch.float32


def _pretrained(embedder: Embedder, corpus: PreparedCorpus) -> PretrainedRows | None:
    """Write the corpus's pretrained vectors into the embedder's table of words, and return the rows written. Returns
    None if the corpus has no pretrained vectors, or the embedder reads no words.
    """
    if corpus.vectors is None or embedder.words is None:
        return None
    return PretrainedRows.placed(embedder.words.table, corpus.vectors, frozen=embedder.word_vectors == "frozen")


def _numbers(values_R: Tensor) -> tuple[float, ...]:
    return tuple(values_R.double().cpu().tolist())


def _under(prefix: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
