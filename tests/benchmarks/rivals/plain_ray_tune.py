"""The quickstart's search as a plain Ray Tune script, with OptunaSearch, ASHA and MLflow.

python -m tests.benchmarks.rivals.plain_ray_tune FOLDER TRIALS
"""

import sys
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search.optuna import OptunaSearch

from tests.benchmarks.rivals import quickstart


def space(trial: Any) -> None:
    """Depth, shortcuts where there are several layers, their gate where there are shortcuts, and the learning rate."""
    deep = trial.suggest_categorical("depth", quickstart.DEPTHS) != 1
    if deep and trial.suggest_categorical("composition", quickstart.COMPOSITIONS) == 2:
        trial.suggest_categorical("gate", quickstart.GATES)
    trial.suggest_float("learning_rate", *quickstart.RATES, log=True)


def trained(parameters: dict[str, Any], corpus: Path) -> None:
    """A trial: its score after each epoch."""
    for score in quickstart.scores(parameters, corpus):
        tune.report({"score": score})


def main(folder: Path, trials: int) -> None:
    """A trial a core; ASHA stops those that fall behind, and every one is a run in MLflow."""
    ray.init(address="local")  # not one that another program of this machine has started
    corpus = quickstart.prepared(folder)
    tuner = tune.Tuner(
        tune.with_parameters(trained, corpus=corpus),
        tune_config=tune.TuneConfig(
            metric="score",
            mode="max",
            num_samples=trials,
            search_alg=OptunaSearch(space, metric="score", mode="max", seed=0),
            scheduler=ASHAScheduler(
                max_t=quickstart.EPOCHS, grace_period=quickstart.GRACE, reduction_factor=quickstart.REDUCTION
            ),
        ),
        run_config=tune.RunConfig(
            name="quickstart",
            storage_path=str(folder / "ray"),
            callbacks=[
                MLflowLoggerCallback(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}", experiment_name="quickstart")
            ],
        ),
    )
    best = tuner.fit().get_best_result()
    assert best.metrics is not None
    print(f"{trials} trials, best {best.metrics['score']:.4f} with {best.config}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
