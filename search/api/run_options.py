"""The options of a run, as the library takes them: named and typed once for all of its functions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

EngineName = Literal["ray", "serial"]
DeviceName = Literal["auto", "cpu", "cuda", "cuda-graphs"]
Share = float | Literal["auto"]
Concurrent = int | Literal["auto"]


class RunOptions(TypedDict, total=False):
    """The options of a run. An option left out, or None, is that of the study's last run, or else the default."""

    engine: EngineName | None
    """``ray``, the default, or ``serial``: all trials in this process, one after another unless
    ``trials_per_program`` is more."""
    address: str | None
    """A running Ray cluster: ``HOST:PORT``, ``ray://HOST:10001``, or ``auto``, which looks for one; ``local`` starts
    one here. The default is the cluster that ``RAY_ADDRESS`` names, or else ``local``."""
    gpus_per_trial: Share | None
    """The share of a GPU that a trial takes, or whole GPUs; ``auto``, the default: what its config needs."""
    cpus_per_trial: int | None
    """The CPUs that a trial takes on Ray, 1 by default. A function may use them all; a network computes on one."""
    concurrent: Concurrent | None
    """The maximum number of trials that run at a time; ``auto``, the default: as many as there is room for."""
    trials_per_program: int | None
    """The maximum number of trials that a process holds at a time, 1 by default: those whose configs differ only in
    scalars and that are at the same epoch train together as one program, which makes a GPU faster. CPUs and shares are
    then those of a process."""
    device: DeviceName | None
    """The device on which trials compute; ``auto``, the default, takes a GPU where there is one."""
    tracking_uri: str | None
    """The MLflow store; by default ``MLFLOW_TRACKING_URI``, or else a SQLite file in the study's folder."""
    system_metrics: bool | None
    """Whether workers measure in each epoch their use of CPU, memory and GPU."""
    also: Sequence[str] | None
    """Listeners to the study beside MLflow: ``tensorboard``, ``wandb`` (offline), or the file of a ``Listener``."""
    code: Sequence[str | Path] | None
    """The files of the study's own code, which are run; needed if they or the study were moved since the last run. Each
    must be the recorded one, by its hash. A study that begins names them itself."""
    progress: bool
    """Whether the progress of the study is shown on stderr; without it the logger ``skipstack`` gets the messages to
    the user.
    """
