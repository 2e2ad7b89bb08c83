"""The settings in which trials must agree to train together. Imports no torch.

Trials that train together share one program, in which each seed of each trial is a lane, a copy of the network.
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
"""The dropout rate in configs that ``in_common`` returns. With a rate of 0, a network would draw no random numbers, and
would take less memory than trials with dropout."""


def in_common(model: ModelConfig, training: TrainingConfig) -> tuple[ModelConfig, TrainingConfig]:
    """Return the configs with a fixed value in each field in which lanes of one program may differ.

    Trials for which this function returns equal configs can train in one program. No such trial takes more memory than
    a trial with the returned configs. The fields with fixed values:

    - the learning rate, its schedule, and the number of epochs
    - the dropout rate of the stack, and also of the input, unless the embedder is a user's own
    - the weight of the L2 penalty if it is above 0, and the maximum norm of the gradient if it is set
    - the share, entropy weight and entropy decay of a dynamic skip
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
    read = without_unread(model, pretrained=pretrained)
    changed: dict[str, Any] = {"stack": read.stack.model_copy(update={"dropout": DROPPED})}
    if not isinstance(read.embedder, OwnConfig):
        changed["embedder"] = read.embedder.model_copy(update={"dropout": DROPPED})
    if isinstance(read.stack, StackConfig):
        skip = read.stack.skip
        if isinstance(skip, DynamicSkipConfig):
            own = {"share": 0.5, "entropy_weight": 0.0, "entropy_decay": 1.0, "previous_bias": 0.0}
            skip = skip.model_copy(update=own)
        changed["stack"] = changed["stack"].model_copy(update={"forget_bias": 0.0, "skip": skip})
    if not pretrained:  # pretraining initialises the language models of all lanes with one ``initial_scale``
        changed |= {"initial_scale": 1.0, "initial_range": None}
    return read.model_copy(update=changed)


def apart_on_cpu(model: ModelConfig, training: TrainingConfig) -> str | None:
    """Return the setting that prevents trials with these configs from sharing a program on a CPU, or None.

    With such a setting, other lanes in the program might change the last bits of a lane's results. The reason: torch
    sums a product of few rows in an order that depends on the memory address of the rows, and other lanes change this
    address. Networks without such a setting multiply the rows of each lane separately (``models/kernels/products.py``),
    provided that kernels are compiled.
    """
    if training.precision not in ("float32", "float64"):
        return f"precision {training.precision}"
    if isinstance(model.head, BiaffineConfig):
        return "head biaffine"
    if any(isinstance(part, OwnConfig) for part in (model.embedder, model.head)):
        return "own code"
    return _loop_on_cpu(model.stack) if isinstance(model.stack, StackConfig) else None


def _loop_on_cpu(stack: StackConfig) -> str | None:
    """Return the setting that makes a stack compute a torch product of few rows in each time step, or None."""
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
