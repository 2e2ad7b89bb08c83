"""Opens the stores whose folders it reads, trains an epoch of a small network on each, and says what came of it.

A program of its own, since a store that reaches the kernels may end the process: ``refused`` and the message,
``trained`` and the scores, or ``failed`` and the error, a line of JSON each.
"""

import json
import sys
from pathlib import Path

import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import open_store
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import TrainingConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training


def trained(folder: Path) -> list[float]:
    """The scores on dev and test after an epoch. Raises UserError for a store that is refused."""
    stored = open_store(folder)
    running = stored.task == "language_modelling"
    stack = {"depth": 1, "hidden": 4, "dropout": 0.0, "directions": "forward" if running else "both"}
    embedder = {"word_size": 4, "capital_size": 2, "window": 0, "dropout": 0.0}
    model = {
        "embedder": {**embedder, "spelling": {"kind": "cnn", "size": 3, "filters": 4}},
        "stack": stack,
        "head": {"kind": "biaffine" if stored.task == "parsing" else "softmax"},
    }
    run = Training(
        model=ModelConfig.model_validate(model),
        training=TrainingConfig(epochs=1, batch_size=4),
        corpus=prepare(stored, DataConfig(), LONGEST_AFFIX),
        lanes=[Lane(seed=1)],
        order_seed=0,
        device=torch.device("cpu"),
    )
    return [*run.run_epoch().dev_score, *run.evaluate("test").score]


def main() -> None:
    """Of each line, a folder."""
    torch.set_num_threads(1)
    for line in sys.stdin:
        try:
            said = "trained", repr(trained(Path(line.strip())))
        except UserError as error:
            said = "refused", str(error)
        except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError) as error:
            said = "failed", repr(error)
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
