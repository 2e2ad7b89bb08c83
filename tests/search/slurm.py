"""Emulates Slurm on one machine: programs ``sbatch``, ``srun`` and ``scontrol`` that do what a node would.

``sbatch`` runs a copy of the script, with the options of its ``#SBATCH`` lines and of the command line. ``srun`` runs
its command once for each node that it names, all of them on this machine. As Slurm does since 22.05, it gives a step
one CPU unless ``SRUN_CPUS_PER_TASK`` says more; a step without ``--overlap`` waits for ever if another step runs on its
node. Calls are written to a file.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CALLS = "SLURM_PLAYED_CALLS"


def installed(folder: Path) -> Path:
    """Install the programs in ``folder``, which must be first on the PATH."""
    folder.mkdir(parents=True)
    for name in ("sbatch", "srun", "scontrol"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).resolve()}" {name} "$@"\n')
        program.chmod(0o755)
    return folder


def sbatch(arguments: Sequence[str]) -> int:
    typed, (script, *own) = _options(arguments)
    lines = [line.split()[1:] for line in Path(script).read_text().splitlines() if line.startswith("#SBATCH")]
    options = {name: value for line in lines for name, value in _options(line)[0].items()} | typed
    nodes = int(options["--nodes"])
    environment = {
        "SLURM_JOB_ID": "77",
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_JOB_NODELIST": " ".join(f"a{number + 1}" for number in range(nodes)),
        "SLURM_CPUS_PER_TASK": options["--cpus-per-task"],
        "TMPDIR": str(_calls().parent / ("a-long-name-of-a-job" * 5)),
    }
    if "--gpus-per-node" in options:
        environment["SLURM_GPUS_ON_NODE"] = options["--gpus-per-node"]
    Path(environment["TMPDIR"]).mkdir(exist_ok=True)
    spooled = shutil.copy(script, _calls().parent / "slurm_script")
    os.execve("/bin/bash", ["bash", str(spooled), *own], {**os.environ, **environment})


def srun(arguments: Sequence[str]) -> int:
    options, command = _options(arguments)
    nodes = os.environ["SLURM_JOB_NODELIST"].split()
    chosen = [node for node in nodes if node in options.get("--nodelist", ",".join(nodes)).split(",")]
    chosen = [node for node in chosen if node != options.get("--exclude")]
    assert len(chosen) >= int(options["--nodes"]) == int(options["--ntasks"]), arguments
    busy = [_calls().parent / f"busy-{node}" for node in chosen]
    if "--overlap" not in options and any(each.exists() for each in busy):
        signal.pause()  # the step waits for another step's nodes
    environment = {**os.environ, "SLURM_CPUS_PER_TASK": os.environ.get("SRUN_CPUS_PER_TASK", "1")}
    for each in busy:
        each.touch()
    steps = [subprocess.Popen(command, env=environment) for _ in chosen]
    signal.signal(signal.SIGTERM, lambda *_: [step.terminate() for step in steps] and None)
    codes = [step.wait() for step in steps]
    for each in busy:
        each.unlink(missing_ok=True)
    return max(map(abs, codes))


def scontrol(arguments: Sequence[str]) -> int:
    if arguments[:2] == ["show", "hostnames"]:
        print("\n".join(arguments[2].split()))
    return 0


def _options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return options, given as ``--name=value``, ``--name value`` or like ``--overlap``, and the words after them."""
    options, rest = {}, list(arguments)
    while rest and rest[0].startswith("--"):
        name, equals, value = rest.pop(0).partition("=")
        if not equals and name not in ("--overlap", "--requeue"):
            value = rest.pop(0)
        options[name] = value
    return options, rest


def _calls() -> Path:
    return Path(os.environ[CALLS])


if __name__ == "__main__":
    program, *given = sys.argv[1:]
    with _calls().open("a") as calls:
        calls.write(" ".join([program, *given]).replace("\n", " ") + "\n")
    sys.exit({"sbatch": sbatch, "srun": srun, "scontrol": scontrol}[program](given))
