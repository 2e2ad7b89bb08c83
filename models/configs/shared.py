"""Settings that trials must share to train together, and settings that may differ. Imports no torch.

Trials that train together are lanes of one program: each seed of each trial is a lane, a copy of the network.
"""

from typing import Any, Final

from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.models.configs.heads import BiaffineConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.skips import DynamicSkipConfig
from skipstack.models.configs.training import Constant, TrainingConfig
from skipstack.models.configs.unread import without_unread
from skipstack.models.configs.wiring import sources

DROPPED: Final = 0.5
"""The rate that ``in_common`` puts in place of every dropout rate. It is not 0, since a network without dropout draws
no random numbers and takes less memory."""


def in_common(model: ModelConfig, training: TrainingConfig) -> tuple[ModelConfig, TrainingConfig]:
    """Return the configs with a fixed value in each field in which lanes of one program may differ.

    Trials for which this returns equal configs can train as lanes of one program. None of the trials takes more memory
    than the returned configs. The fields that are fixed:

    - the learning rate, its schedule, and the number of epochs
    - the dropout of the stack, and that of the input unless the embedder is a user's own
    - the weight of the L2 penalty if it is above 0, and the maximum norm of the gradient if there is one
    - the share, entropy weight and entropy decay of a policy that skips
    - fields that affect only the initial weights (``initial_scale`` and ``initial_range`` only without pretraining)
    - fields that the network does not read (``models/configs/unread.py``)
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
    if not pretrained:  # the language models of pretraining start at ``initial_scale`` as well, one for all lanes
        changed |= {"initial_scale": 1.0, "initial_range": None}
    return read.model_copy(update=changed)


def apart_on_cpu(model: ModelConfig, training: TrainingConfig) -> str | None:
    """Return the setting because of which trials with these configs must not share a program on a CPU; None if there is
    none.

    With such a setting, a lane of a shared program might differ in its last bits from the same lane trained alone,
    because torch multiplies matrices of few rows in an order that depends on where the rows begin in memory, that is,
    on the lanes before. Networks without such a setting multiply few rows for each lane apart
    (``models/kernels/products.py``).
    """
    if training.precision not in ("float32", "float64"):
        return f"precision {training.precision}"
    if isinstance(model.head, BiaffineConfig):
        return "head biaffine"
    if any(isinstance(part, OwnConfig) for part in (model.embedder, model.head)):
        return "own code"
    return _loop_on_cpu(model.stack) if isinstance(model.stack, StackConfig) else None


def _loop_on_cpu(stack: StackConfig) -> str | None:
    """Return the setting with which a stack loops over torch's products of few rows each; None if there is none."""
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
