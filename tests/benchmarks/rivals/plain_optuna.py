"""The quickstart's search as a plain Optuna script.

python -m tests.benchmarks.rivals.plain_optuna FOLDER TRIALS
"""

import sys
from pathlib import Path

import optuna

from tests.benchmarks.rivals import quickstart


def main(folder: Path, trials: int) -> None:
    """One process; unpromising trials are pruned by successive halving, and SQLite keeps the study."""
    corpus = quickstart.prepared(folder)

    def objective(trial: optuna.Trial) -> float:
        parameters: dict[str, object] = {"depth": trial.suggest_categorical("depth", quickstart.DEPTHS)}
        if parameters["depth"] != 1:
            parameters["composition"] = trial.suggest_categorical("composition", quickstart.COMPOSITIONS)
        if parameters.get("composition") == 2:
            parameters["gate"] = trial.suggest_categorical("gate", quickstart.GATES)
        parameters["learning_rate"] = trial.suggest_float("learning_rate", *quickstart.RATES, log=True)
        best = 0.0
        for epoch, score in enumerate(quickstart.scores(parameters, corpus), start=1):
            best = max(best, score)
            trial.report(score, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return best

    study = optuna.create_study(
        storage=f"sqlite:///{folder / 'optuna.db'}",
        sampler=optuna.samplers.TPESampler(seed=0),
        pruner=optuna.pruners.SuccessiveHalvingPruner(
            min_resource=quickstart.GRACE, reduction_factor=quickstart.REDUCTION
        ),
        direction="maximize",
    )
    study.optimize(objective, n_trials=trials)
    print(f"{len(study.trials)} trials, best {study.best_value:.4f} with {study.best_params}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
