"""Trains several runs as one program, in which each seed of each run is a lane, a copy of the network.

Runs can share a program if their configs differ only in fields in which lanes may differ
(``models/configs/shared.py``). The runs must also be at the same epoch, since the order of batches depends on the
epoch's number. Each run has the same results as if trained alone. On a CPU with compiled kernels, the results are equal
bit for bit, unless ``apart_on_cpu`` returns a setting. In all other cases on a CPU, the search trains each run alone.
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
"""The result of ``Training.state_dict``: tensors whose first axis is the lanes, and counters without axes."""


def lane(model: ModelConfig, seed: int) -> Lane:
    """Return the lane of a seed, with the values of all fields of ``model`` in which lanes may differ."""
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
    """The settings of a run, with a lane for each of its ``seeds``.

    ``order_seed``: as in ``Training``. ``graphs``: creates the graphs of a program; None means that steps are not
    captured. ``beside``: any further value in which runs must agree to share a program.
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
        """Return the lanes of the run, one for each seed."""
        return [lane(self.model, seed) for seed in self.seeds]

    def kind(self) -> tuple[object, ...]:
        """Return a key. Runs with equal keys can share a program while they are at the same epoch."""
        configs = tuple(canonical_json(each) for each in in_common(self.model, self.training))
        return *configs, id(self.corpus), self.order_seed, self.device, self.graphs is None, self.beside

    def program(self, company: "Sequence[Run]", state: State | None = None) -> Training:
        """Create one program for all runs in ``company``, which must have the same ``kind``. Lanes are in the order of
        the runs. ``state``: the state from which the program continues; None means initial weights.
        """
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
    """Trains runs epoch by epoch, in one program where possible. Runs may join and leave between any two epochs."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def join(self, run: Run) -> "Part":
        """Add an untrained run, and return the ``Part`` that trains the run. Raises UserError if the run's network
        cannot be built, or does not fit the corpus's pretrained vectors.
        """
        part = Part(self, run)
        self._parts.append(part)
        return part

    def company(self, part: "Part") -> "list[Part]":
        """Return ``part`` and all runs that would share the program of its next epoch, in the order of joining."""
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
        """Train the next epoch of all runs in the ``company`` of ``part``. Afterwards each run has a report.

        ``tick``: called before every update. If an error ends an epoch of several runs, all runs return to their states
        before the epoch. Each then trains its next epoch alone, ``part`` immediately. So only the run that causes an
        error raises the error. An interruption (a BaseException that is not an Exception) is raised immediately.
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
    """A run of a ``Together``, used like a ``Training`` of this run alone.

    The state of the run is a part of the state of its last program. A newly loaded state is stored in this object until
    the run's next epoch, in which a new program takes over the state.
    """

    def __init__(self, together: Together, run: Run) -> None:
        self._together, self._run = together, run
        self.lanes = tuple(run.lanes())
        self.kind = run.kind()
        self.apart = False
        """Whether the run trains its next epoch alone, because an epoch of several runs ended with an error."""
        self._report: EpochReport | None = None
        self._program = _Program(run.program([run]), (self,))
        self._state: State | None = None
        """The loaded state; None if the state is a part of the program's state."""

    @property
    def epoch(self) -> int:
        """The number of epochs whose reports ``run_epoch`` has returned."""
        return self.counters()["epoch"] - (self._report is not None)

    @property
    def waits(self) -> bool:
        """Whether the run waits for its next epoch: ``run_epoch`` has returned the reports of all trained epochs."""
        return self._report is None

    def run_epoch(self, tick: Callable[[], None] = lambda: None) -> EpochReport:
        """Return the report of the next epoch. Train the epoch first, unless another run's call has already done so.
        ``tick`` is called before every update.
        """
        if self._report is None:
            self._together.train(self, tick)
        report, self._report = self._report, None
        assert report is not None, "it was trained"
        return report

    def state_dict(self) -> State:
        """Return the run's state in the form of ``Training.state_dict``, with the lanes of this run only."""
        return self._own(self._program.training.state_dict()) if self._state is None else self._state

    def weights(self) -> State:
        """Return the weights of the run's network. Weights from ``load_state_dict`` appear after the next epoch."""
        return self._own(self._program.training.weights())

    def load_state_dict(self, state: State) -> None:
        """Continue from a result of ``state_dict``, of this class or of a ``Training`` of this run alone."""
        self._state, self._report = state, None

    def copied(self) -> State:
        """Return a copy of the run's state on the CPU. Later epochs do not change the copy."""
        return {name: tensor.to("cpu", copy=True) for name, tensor in self.state_dict().items()}

    def leave(self) -> None:
        """Remove the run from its ``Together``. The run must not train any more."""
        if self in self._together._parts:
            self._together._parts.remove(self)

    def counters(self) -> dict[str, int]:
        """Return the counters in the run's state by name, such as the number of trained epochs."""
        if self._state is None:
            return {name: int(tensor) for name, tensor in self._program.training.counters().items()}
        return {name: int(tensor) for name, tensor in self._state.items() if not tensor.dim()}

    def program(self, company: "Sequence[Part]") -> Training:
        """Return the program of the runs in ``company``. This is the current program if it has exactly these runs, and
        none of them has loaded a state. Otherwise it is a new program that continues from the runs' states.
        """
        if self._program.company != tuple(company) or any(each._state is not None for each in company):
            state = joined([each.state_dict() for each in company])
            made = _Program(self._run.program([each._run for each in company], state), tuple(company))
            for each in company:
                each._program, each._state = made, None
        return self._program.training

    def trained(self, report: EpochReport) -> None:
        """Store this run's part of a program's report, for ``run_epoch``."""
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
    """A program: a ``Training``, and its runs in the order of their lanes."""

    training: Training
    company: tuple[Part, ...]


def joined(states: Sequence[State]) -> State:
    """Concatenate the lanes of all states, on the first state's device. All states must have the same counters."""
    first = states[0]
    return {
        name: torch.cat([state[name].to(tensor.device) for state in states]) if tensor.dim() else tensor
        for name, tensor in first.items()
    }
