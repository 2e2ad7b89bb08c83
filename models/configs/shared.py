"""Settings that trials must share to train as lanes of one program, and those that may differ. Torch-free."""

from typing import Any, Final

from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.models.configs.heads import BiaffineConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.skips import DynamicSkipConfig
from skipstack.models.configs.training import Constant, TrainingConfig
from skipstack.models.configs.unread import without_unread
from skipstack.models.configs.wiring import sources

DROPPED: Final = 0.5
"""Stands for every dropout rate; rate 0 would draw nothing, and take less memory."""


def in_common(model: ModelConfig, training: TrainingConfig) -> tuple[ModelConfig, TrainingConfig]:
    """The configs with one fixed value in each field that lanes may differ in.

    Trials for which this returns equal configs train as lanes of one program, and none of them takes more memory than
    these configs. Such fields are the learning rate, its schedule, and the epochs; the dropout of the input and of the
    stack; the weight of the penalty and the maximum norm of the gradient, if both have one; of a policy that skips, its
    share and the weight and decay of its entropy; and fields that affect the initial weights only.
    """
    fixed: dict[str, Any] = {
        "optimiser": training.optimiser.model_copy(update={"learning_rate": 1.0}),
        "schedule": Constant(),
        "epochs": 1,
        "l2": float(training.l2 > 0),
        "clip_norm": None if training.clip_norm is None else 1.0,
    }
    return _in_common(model, pretrained=training.pretraining is not None), training.model_copy(update=fixed)


def _in_common(model: ModelConfig, *, pretrained: bool) -> ModelConfig:
    read = without_unread(model)
    changed: dict[str, Any] = {"stack": read.stack.model_copy(update={"dropout": DROPPED})}
    if not isinstance(read.embedder, OwnConfig):
        changed["embedder"] = read.embedder.model_copy(update={"dropout": DROPPED})
    if isinstance(read.stack, StackConfig):
        skip = read.stack.skip
        if isinstance(skip, DynamicSkipConfig):
            own = {"share": 0.5, "entropy_weight": 0.0, "entropy_decay": 1.0, "previous_bias": 0.0}
            skip = skip.model_copy(update=own)
        changed["stack"] = changed["stack"].model_copy(update={"forget_bias": 0.0, "skip": skip})
    if not pretrained:  # language models start at this scale, too
        changed |= {"initial_scale": 1.0, "initial_range": None}
    return read.model_copy(update=changed)


def apart_on_cpu(model: ModelConfig, training: TrainingConfig) -> str | None:
    """The setting with which a lane may differ in its last bits from its solo run on a CPU, so that its trials share no
    program there; None if there is none.

    torch multiplies a few rows in an order that depends on where they begin in memory, that is, on the lanes before.
    Where our networks multiply few rows, each lane does so by itself (``models/kernels/products.py``), except with the
    settings returned here.
    """
    if training.precision not in ("float32", "float64"):
        return f"precision {training.precision}"
    if isinstance(model.head, BiaffineConfig):
        return "head biaffine"
    if any(isinstance(part, OwnConfig) for part in (model.embedder, model.head)):
        return "own code"
    return _loop_on_cpu(model.stack) if isinstance(model.stack, StackConfig) else None


def _loop_on_cpu(stack: StackConfig) -> str | None:
    """The setting of a stack that makes it loop over torch products of few rows each; None if there is none."""
    wiring = sources(stack.composition, stack.depth)
    if isinstance(stack.cell, OwnConfig) or isinstance(stack.shortcut.gate, OwnConfig):
        return "own code"
    if stack.cell in ("simple", "sutskever") and not all(wiring):
        return f"cell {stack.cell}"
    if stack.skip is not None:
        return f"skip {stack.skip.kind}"
    if stack.shortcut.gate == "sigmoid_below_previous" and any(wiring):
        return "gate sigmoid_below_previous"
    return None
