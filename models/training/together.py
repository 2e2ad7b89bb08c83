"""Trains lanes of several runs as one program. Shapes: R lanes.

Runs fit together if their configs differ only in fields in which lanes may differ (``models/configs/shared.py``), and
if they are at the same epoch: the order of an epoch's batches depends on its number. Each run equals the run trained by
itself; on a CPU bit for bit, except with the settings that ``apart_on_cpu`` names there, whose runs the search keeps
apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.store.prepared import PreparedCorpus
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.shared import in_common
from skipstack.models.configs.skips import DynamicSkipConfig
from skipstack.models.configs.training import TrainingConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.graphs import Graphs
from skipstack.models.training.loop import EpochReport, Training

State = dict[str, Tensor]
"""The content of ``Training.state_dict``: tensors with lanes first, and counters without lanes."""


def lane(model: ModelConfig, seed: int) -> Lane:
    """The lane of a run with this seed, with all fields of the network in which lanes may differ."""
    skip = model.stack.skip if isinstance(model.stack, StackConfig) else None
    policy = skip if isinstance(skip, DynamicSkipConfig) else None
    return Lane(
        seed=seed,
        embedder_dropout=getattr(model.embedder, "dropout", None),  # users' embedders may have none
        stack_dropout=model.stack.dropout,
        skip_share=None if policy is None else policy.share,
        entropy_weight=None if policy is None else policy.entropy_weight,
        entropy_decay=None if policy is None else policy.entropy_decay,
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Run:
    """A run, as ``Training`` takes it, with a lane for each of its ``seeds``. ``beside``: runs that differ in it stay
    apart. ``graphs`` creates the graphs of a program; None: its steps are not captured.
    """

    model: ModelConfig
    training: TrainingConfig
    corpus: PreparedCorpus
    seeds: Sequence[int]
    order_seed: int
    device: torch.device
    graphs: Callable[[], Graphs] | None = None
    beside: object = None

    def lanes(self) -> list[Lane]:
        """The lanes of the run."""
        return [lane(self.model, seed) for seed in self.seeds]

    def kind(self) -> tuple[object, ...]:
        """A key that is equal for runs that fit together, once they are at the same epoch."""
        configs = tuple(canonical_json(each) for each in in_common(self.model, self.training))
        return *configs, id(self.corpus), self.order_seed, self.device, self.graphs is None, self.beside

    def program(self, company: "Sequence[Run]", state: State | None = None) -> Training:
        """A training of the lanes of ``company``: runs that fit together, this one among them."""
        return Training(
            model=self.model,
            training=self.training,
            corpus=self.corpus,
            lanes=[lane for run in company for lane in run.lanes()],
            recipes=[run.training for run in company for _ in run.seeds],
            order_seed=self.order_seed,
            device=self.device,
            graphs=None if self.graphs is None else self.graphs(),
            state=state,
        )


@final
class Together:
    """Runs that train together where they fit. A run joins and leaves between any two epochs."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def join(self, run: Run) -> "Part":
        """Add a run, before its first epoch. Raises UserError as ``Training`` does."""
        part = Part(self, run)
        self._parts.append(part)
        return part

    def leave(self, part: "Part") -> None:
        """Remove a run, which trains no more."""
        if part in self._parts:
            self._parts.remove(part)

    def company(self, part: "Part") -> "list[Part]":
        """The runs that would train their next epoch with this one, which is among them, in the order in which they
        have joined.
        """
        if part.apart:
            return [part]
        counters = part.counters()
        return [
            each
            for each in self._parts
            if each is part
            or (each.kind == part.kind and each.waits and not each.apart and each.counters() == counters)
        ]

    def train(self, part: "Part", tick: Callable[[], None]) -> None:
        """Train the next epoch of a run and of its company; each then has a report.

        An error ends the epoch of all: each returns to its state before, and trains its next epoch by itself, this one
        at once. So an error is raised in the run that causes it, and ends no other.
        """
        company = self.company(part)
        training = part.program(company)
        before = [each.copied() for each in company] if len(company) > 1 else []
        try:
            report = training.run_epoch(tick)
        except BaseException as error:
            for each, state in zip(company, before, strict=False):
                each.load_state_dict(state)
                each.apart = True
            if not before or not isinstance(error, Exception):
                raise
        else:
            for each in company:
                each.trained(report)
            return
        self.train(part, tick)


@final
class Part:
    """A run among others, to be used like a ``Training`` of its own.

    Its state is a part of the state of the program in which it trained last, or is kept apart.
    """

    def __init__(self, together: Together, run: Run) -> None:
        self._together, self._run = together, run
        self.lanes = tuple(run.lanes())
        self.kind = run.kind()
        self.apart = False
        """Whether it trains its next epoch by itself."""
        self._report: EpochReport | None = None
        self._program = _Program(run.program([run]), (self,))
        self._state: State | None = None
        """The run's state, if it is not a part of the program's."""

    @property
    def epoch(self) -> int:
        """The epochs that it has trained and reported."""
        return self.counters()["epoch"] - (self._report is not None)

    @property
    def waits(self) -> bool:
        """Whether it has reported all that it has trained."""
        return self._report is None

    def run_epoch(self, tick: Callable[[], None] = lambda: None) -> EpochReport:
        """The report of the next epoch, which may have been trained with that of another run. ``tick`` as in
        ``Training.run_epoch``; that of the run that asks first is called.
        """
        if self._report is None:
            self._together.train(self, tick)
        report, self._report = self._report, None
        assert report is not None, "it was trained"
        return report

    def state_dict(self) -> State:
        """The state of its run, as its own ``Training`` would give it."""
        return self._own(self._program.training.state_dict()) if self._state is None else self._state

    def weights(self) -> State:
        """The weights of its network, after an epoch."""
        return self._own(self._program.training.weights())

    def load_state_dict(self, state: State) -> None:
        """Continue where ``state_dict`` was called, also by a ``Training`` of its own."""
        self._state, self._report = state, None

    def copied(self) -> State:
        """A copy of the run's state, which no epoch changes."""
        return {name: tensor.to("cpu", copy=True) for name, tensor in self.state_dict().items()}

    def leave(self) -> None:
        """Train no more."""
        self._together.leave(self)

    def counters(self) -> dict[str, int]:
        """The counters of its state, the epoch among them."""
        if self._state is None:
            return {name: int(tensor) for name, tensor in self._program.training.counters().items()}
        return {name: int(tensor) for name, tensor in self._state.items() if not tensor.dim()}

    def program(self, company: "Sequence[Part]") -> Training:
        """The program of this company: the last one if it is the same, or else one that continues from its states."""
        if self._program.company != tuple(company) or any(each._state is not None for each in company):
            state = joined([each.state_dict() for each in company])
            made = _Program(self._run.program([each._run for each in company], state), tuple(company))
            for each in company:
                each._program, each._state = made, None
        return self._program.training

    def trained(self, report: EpochReport) -> None:
        """Keep its part of a report."""
        own, lanes = self._slice(), len(self._program.training.lanes)
        self.apart = False
        self._report = replace(
            report,
            train_loss=report.train_loss[own],
            dev_loss=report.dev_loss[own],
            dev_accuracy=report.dev_accuracy[own],
            dev_score=report.dev_score[own],
            dev_counts=report.dev_counts[own],
            learning_rate=report.learning_rate[own],
            seconds=report.seconds * len(self.lanes) / lanes,
        )

    def _own(self, state: State) -> State:
        own = self._slice()
        return {name: tensor[own] if tensor.dim() else tensor for name, tensor in state.items()}

    def _slice(self) -> slice:
        company = self._program.company
        start = sum(len(each.lanes) for each in company[: company.index(self)])
        return slice(start, start + len(self.lanes))


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """A training, and the runs whose lanes it has."""

    training: Training
    company: tuple[Part, ...]


def joined(states: Sequence[State]) -> State:
    """The state of a program with the lanes of all of these, whose counters are equal; on the device of the first."""
    first = states[0]
    return {
        name: torch.cat([state[name].to(tensor.device) for state in states]) if tensor.dim() else tensor
        for name, tensor in first.items()
    }
