"""A study of a function that is a difficult guest, as its owner runs it: ``python guests.py search|go KIND FOLDER``.

``go``: what comes after a kill: resume, extend by a point, ablate.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import skipstack


def forks(config: Mapping[str, Any]) -> float:
    """Computes in a process of its own."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, str(peak(config["x"])).encode())
        os._exit(0)
    os.wait()
    return float(os.read(reading, 100))


def prints(config: Mapping[str, Any]) -> float:
    """Prints 100 MB, in the trial of the base."""
    line = "x" * 99_999
    for _ in range(1000 if config["x"] == 1.0 else 1):
        print(line)
    return peak(config["x"])


def silent(config: Mapping[str, Any], report: skipstack.Report) -> None:
    """Where x is large, never returns after its first report."""
    report(score=peak(config["x"]))
    while config["x"] > 1.5:
        time.sleep(0.1)


def exits(config: Mapping[str, Any]) -> float:
    """Where x is large, ends its process."""
    if config["x"] > 1.5:
        os._exit(3)
    return peak(config["x"])


def learns(config: Mapping[str, Any]) -> dict[str, float]:
    """scikit-learn."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import train_test_split

    x, y = load_digits(return_X_y=True)
    x, x_rest, y, y_rest = train_test_split(x / 16, y, test_size=0.5, random_state=0)
    model = SGDClassifier(alpha=10 ** -(4 * config["x"]), random_state=config["seed"]).fit(x, y)
    half = len(x_rest) // 2
    return {
        "score": model.score(x_rest[:half], y_rest[:half]),
        "test": model.score(x_rest[half:], y_rest[half:]),
    }


def peak(x: float) -> float:
    """1 at x = 0.75, which is not the base's."""
    return 1 - (x - 0.75) ** 2


KINDS: dict[str, Any] = {each.__name__: each for each in (forks, prints, silent, exits, learns)}

POINT = {"x": 0.875}


def main(how: str, kind: str, folder: Path) -> None:
    """Begin the study, or go on with it and print what it has then."""
    function, space = KINDS[kind], skipstack.Space(x=skipstack.uniform(0, 2))
    settings: dict[str, Any] = {"search.retries": 1, "search.scheduler": "none", "search.proposer": "random"}
    settings |= {"search.time_limit": 3.0} if function is silent else {}
    if how == "search":
        epochs = 2 if function is silent else None
        skipstack.search(space, function, trials=8, seeds=1, epochs=epochs, settings=settings, out=folder)
        return
    skipstack.resume(folder, function)
    skipstack.extend(folder, function, points=[POINT])
    study = skipstack.ablate(folder, function, seeds=2)
    trials = study.trials()
    print(
        json.dumps(
            {"states": trials["state"].tolist(), "x": trials["axis.x"].tolist(), "score": trials["score"].tolist()}
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
