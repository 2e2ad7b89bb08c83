"""What trials that train as lanes of one program have in common, and what each lane has for itself. Torch-free."""

from typing import Any

from skipstack.data.basis.own_code import OwnConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.skips import DynamicSkipConfig
from skipstack.models.configs.training import Constant, TrainingConfig
from skipstack.models.configs.unread import without_unread


def in_common(model: ModelConfig, training: TrainingConfig) -> tuple[ModelConfig, TrainingConfig]:
    """The configs with one fixed value in each field that lanes may differ in.

    Configs for which this gives the same two train as lanes of one program. Such fields are the learning rate, its
    schedule, and the epochs; the dropout of the input and of the stack; the weight of the penalty and the longest
    gradient, if both have one; the share, the entropy's weight and its decay of a policy that skips; and all that only
    the initial weights depend on.
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
    changed: dict[str, Any] = {"stack": read.stack.model_copy(update={"dropout": 0.0})}
    if not isinstance(read.embedder, OwnConfig):
        changed["embedder"] = read.embedder.model_copy(update={"dropout": 0.0})
    if isinstance(read.stack, StackConfig):
        skip = read.stack.skip
        if isinstance(skip, DynamicSkipConfig):
            own = {"share": 0.5, "entropy_weight": 0.0, "entropy_decay": 1.0, "previous_bias": 0.0}
            skip = skip.model_copy(update=own)
        changed["stack"] = changed["stack"].model_copy(update={"forget_bias": 0.0, "skip": skip})
    if not pretrained:  # language models start at this scale, too
        changed |= {"initial_scale": 1.0, "initial_range": None}
    return read.model_copy(update=changed)
