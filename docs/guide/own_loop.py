"""Trials that somebody else's launcher trains: the study proposes, stops and records them. Cells begin with `# %%`."""

# %% What trains: any program that prints a line of JSON for each epoch
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import skipstack

TRAINING = """
import json, sys
config = json.loads(sys.argv[1])
for epoch in range(1, 10):
    loss = (config["rate"] - 0.03) ** 2 + 1 / (epoch * config["width"])
    print(json.dumps({"epoch": epoch, "score": loss}), flush=True)
"""
LAUNCHER = [sys.executable, "-c", TRAINING]  # srun, ssh, kubectl run, docker run, ...


# %% One trial: report what the program prints, and end it where the study wants no more of it. After a kill, an open
# trial is trained from its first epoch again: with `epoch`, the epochs that the study has do not count twice.
def train(trial: skipstack.AskedTrial) -> None:
    with subprocess.Popen([*LAUNCHER, json.dumps(dict(trial.config))], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for line in program.stdout:
            if not trial.report(**json.loads(line)):
                program.kill()
    if trial.goes_on and program.returncode:
        trial.fail(f"the program ended with {program.returncode}")  # the trial has failed, and the others go on
    trial.end()


def work() -> None:
    while (trial := study.ask()) is not None:
        train(trial)


# %% The study: two programs at a time, under ASHA
SPACE = {
    "axes": {"rate": {"loguniform": [0.001, 1.0]}, "width": {"choice": [8, 16, 32]}},
    "search": {"scheduler": {"kind": "asha", "grace": 1, "reduction": 3}},
}
options = {"direction": "minimize", "trials": 12, "epochs": 9, "seeds": 1, "out": "runs/launched"}
with skipstack.begin(SPACE, **options) as study, ThreadPoolExecutor(2) as threads:
    for working in [threads.submit(work) for _ in range(2)]:
        working.result()

# %% What it found; `skipstack report runs/launched` and MLflow say the same
print(skipstack.open("runs/launched").best(3)[["dev", "epochs", "axis.rate", "axis.width"]])
