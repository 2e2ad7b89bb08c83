"""Networks of layers train to the same bits on every x86 CPU with AVX2: compiled code adds in the order in which it is
written. Another CPU is simulated (``another_cpu.py``).

Products of fewer than 64 rows are torch's own, and its BLAS adds them in an order for each kind of CPU. So batches here
are large, and no network reads its own predictions or chooses states.
"""

from pathlib import Path
from typing import Any, Final

import pytest
import torch

from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import Adam, Constant, TrainingConfig
from skipstack.models.kernels.gemm.registers import REGISTERS
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from tests.models.another_cpu import on_another_cpu
from tests.models.corpora import small_corpus

WORDS: Final = {"word_size": 20, "spelling": {"kind": "cnn"}, "window": 3, "dropout": 0.2}
MAPS: Final = {"kind": "feature_maps", "word_size": 12, "sets": 3, "maps": 8}
NETWORKS: Final[dict[str, dict[str, Any]]] = {
    "shortcuts": {"embedder": WORDS, "stack": {"depth": 3, "hidden": 24, "composition": 2, "dropout": 0.3}},
    "LD-DNN": {"embedder": MAPS, "stack": {"depth": 1, "hidden": 24}, "head": {"kind": "margin"}},
    **{
        cell: {"embedder": WORDS, "stack": {"depth": 2, "hidden": 40, "cell": cell}}
        for cell in ("lstm", "gru", "min_lstm")
    },
}
RECIPE: Final = TrainingConfig(
    epochs=4, batch_size=160, optimiser=Adam(learning_rate=0.02), schedule=Constant(), clip_norm=1.0
)


def curves(network: str) -> str:
    """The losses of two seeds on train and dev after each epoch, with all their digits."""
    run = Training(
        model=ModelConfig.model_validate(NETWORKS[network]),
        training=RECIPE,
        corpus=small_corpus(train=160, dev=100, shortest=4),
        lanes=[Lane(seed=1), Lane(seed=2)],
        order_seed=3,
        device=torch.device("cpu"),
    )
    reports = [run.run_epoch() for _ in range(RECIPE.epochs)]
    return repr([(report.train_loss, report.dev_loss) for report in reports])


@pytest.fixture(scope="module")
def kept_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is compiled for the other CPU."""
    return tmp_path_factory.mktemp("compiled")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(REGISTERS is None, reason="this CPU has no AVX2: its products are those of the BLAS")
@pytest.mark.parametrize("network", NETWORKS)
def test_a_network_trains_as_on_another_cpu(network: str, kept_code: Path) -> None:
    program = f"from tests.models.test_other_cpus import curves; print(curves({network!r}))"
    assert on_another_cpu(program, kept_code).strip() == curves(network)
