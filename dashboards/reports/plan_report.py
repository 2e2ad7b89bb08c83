"""The report of a plan. The page is written from the numbers of the JSON, so that the two agree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from skipstack.dashboards.formats.page import (
    Block,
    Column,
    Heading,
    Listing,
    Page,
    Report,
    Sentence,
    Table,
    plain_table,
)
from skipstack.dashboards.reports.space_report import (
    axes_content,
    axis_lines,
    one_network_lines,
    space_content,
    space_lines,
)
from skipstack.dashboards.reports.wording import duration, number
from skipstack.data.basis.counted import counted
from skipstack.data.basis.system import RAY_NICENESS
from skipstack.search.api.planning.plan import Forecast, Network, Plan
from skipstack.search.api.planning.small_space import SmallSpace, small_space
from skipstack.search.strategy.schedulers.build import described
from skipstack.spaces.space import Space

MEGABYTE = 1e6

CASES = {
    "best": "all stopped as early as can be",
    "typical": "trials in random order",
    "worst": "none stopped",
}

Content = Mapping[str, Any]


def _content(plan: Plan) -> Content:
    """The content of the report: the study, its networks and the forecasts. Sizes are in bytes, times in seconds or
    hours, shares in [0, 1].
    """
    study, search, small = plan.study, plan.study.search, small_space(plan.study)
    return {
        "study": study.title,
        "about": study.about,
        "space": space_content(study, plan.space),
        "axes": axes_content(study, Space(study.space), plan.space),
        "removed": study.removed,
        "one_network": list(one_network_lines(Space(study.space), plan.one_network)),
        "search": {
            "proposer": search.proposer.kind,
            "trials": plan.trials,
            "trials_asked_for": search.trials,
            "hours": search.hours,
            "seeds": search.seeds,
            "epochs": study.space.base.epochs,
            "scheduler": described(search.scheduler),
            "rungs": list(plan.rungs),
            "resource": plan.resource,
            "small_space": None if small is None else asdict(small),
        },
        "machine": asdict(plan.room),
        "trials_together": plan.trials_per_shared_program,
        "networks": [_network(network) for network in plan.networks],
        "forecasts": [_forecast(forecast) for forecast in plan.forecasts],
        "unmeasured": plan.unmeasured,
    }


def plan_report(plan: Plan) -> Report:
    """The report of a plan."""
    content = _content(plan)
    unchanging = content["one_network"]
    networks: list[tuple[Block, ...]] = []
    if content["networks"]:
        failed = tuple(
            f"{_roles(network)}: {network['failed']}" for network in content["networks"] if network["failed"]
        )
        networks.append((Heading("networks"), _networks(content), Listing(failed)))
    groups = (
        (Heading("space"), Listing(tuple(space_lines(content["space"])))),
        (Heading("axes"), Listing((*axis_lines(content["axes"]), *plan.study.removals))),
        *([(Heading("values that change nothing"), Listing(tuple(unchanging)))] if unchanging else []),
        (Heading("study"), Listing(tuple(_study(content["search"])))),
        *networks,
        (Heading("forecast, for all trials together"), _forecasts(content)),
        tuple(Sentence(line, style="dim") for line in _notes(content)),
    )
    title = ": ".join(filter(None, (content["study"], content["about"])))
    return Report(page=Page(title, groups), content=content)


def _network(network: Network) -> Content:
    measured = network.measured
    return {
        "roles": list(network.roles),
        "identity": network.identity,
        "changes": network.changes,
        "parameters": network.parameters,
        "lanes": measured and measured.lanes,
        "weight_bytes": measured and measured.weights,
        "gradient_bytes": measured and measured.gradients,
        "optimiser_bytes": measured and measured.optimiser,
        "activation_bytes": measured and measured.activations,
        "memory_bytes": measured and measured.memory,
        "step_seconds": measured and measured.step_seconds,
        "epoch_seconds": measured and measured.epoch_seconds,
        "failed": network.failed,
    }


def _forecast(forecast: Forecast) -> Content:
    names = {"error": "hours_standard_error", "elapsed": "elapsed_hours"}
    return {names.get(name, name): value for name, value in asdict(forecast).items()}


def _study(search: Content) -> Iterator[str]:
    asked = search["trials_asked_for"]
    yield (
        f"{counted(search['trials'], 'trial')} by {search['proposer']}, seeds {search['seeds']}, "
        f"epochs {search['epochs']}"
        f"{f' (all that this space has to try; {asked:,} were asked for)' if search['trials'] < asked else ''}"
    )
    yield f"stopping: {search['scheduler']}{_rungs(search['resource'], search['rungs'])}"
    if search["small_space"] is not None:
        yield str(SmallSpace(**search["small_space"]))


def _rungs(resource: str, rungs: Sequence[int]) -> str:
    places = ", ".join(map(str, rungs))
    if not rungs:
        return ""
    return f", rungs at epoch {places}" if resource == "epochs" else f", rungs at {places} {resource}"


def _roles(network: Content) -> str:
    return ", ".join(network["roles"])


def _networks(content: Content) -> Table:
    headings = ("parameters", "state MB", "activations", "memory MB", "step ms", "epoch s")
    rows: list[tuple[str, Sequence[str]]] = []
    for network in content["networks"]:
        state = [network[f"{part}_bytes"] for part in ("weight", "gradient", "optimiser")]
        cells = (
            f"{network['parameters']:,}",
            number(None if None in state else sum(state), 1 / MEGABYTE),
            number(network["activation_bytes"], 1 / MEGABYTE),
            number(network["memory_bytes"], 1 / MEGABYTE),
            number(network["step_seconds"], 1000),
            number(network["epoch_seconds"]),
        )
        rows.append((_roles(network), cells))
    return plain_table("", map(Column, headings), rows, optional=("activations", "state MB", "step ms"))


def _forecasts(content: Content) -> Table:
    timed = any(each["hours"] is not None for each in content["forecasts"])
    gpus = bool(content["machine"]["gpus_per_trial"])
    shares = content["machine"]["trials_per_program"] > 1
    headings = ["epochs"]
    if timed:
        beside = f"{content['machine']['slots']} side by side"
        headings += ["in all", "±", *(["GPU hours"] if gpus else []), beside, *(["trials/h"] if shares else [])]
    rows: list[tuple[str, Sequence[str]]] = []
    for each in content["forecasts"]:
        cells = [f"{each['epochs']:,}"]
        if timed:
            cells += [duration(each["hours"], 3600), duration(each["hours_standard_error"], 3600)]
            cells += [number(each["gpu_hours"])] if gpus else []
            cells += [duration(each["elapsed_hours"], 3600)]
            cells += [number(each["trials_an_hour"])] if shares else []
        rows.append((CASES[each["case"]], cells))
    return plain_table("", map(Column, headings), rows)


def _assumed(machine: Content, networks: Sequence[Content]) -> str:
    """The sentences on the assumptions of the forecast hours: the load of this machine and the time of an epoch."""
    cpus, load = counted(machine["cpus"], "CPU"), machine["load_average"]
    programs = "an unknown number of" if load is None else f"{load:.1f}"
    drawn = [each["epoch_seconds"] for each in networks if "drawn" in each["roles"] and each["epoch_seconds"]]
    pace = f" at {duration(fmean(drawn))} an epoch, the mean of the drawn networks," if drawn else ""
    trials = counted(machine["slots"], "trial" if machine["trials_per_program"] == 1 else "program")
    return (
        f"The hours assume a machine as free as now{pace} and {trials} side by side as fast as the one: {cpus} here, "
        f"for which {programs} programs ran or waited in the minute before. Networks were timed at niceness "
        f"{machine['niceness']}, Ray gives its trials {RAY_NICENESS} or else 15: programs at a lower one come first. "
        "Beside other programs a study takes longer; while it runs, its time left follows its own pace."
    )


def _ends_before(content: Content) -> Iterator[str]:
    """Yield a sentence if the limit of hours is expected to end the study before its trials end."""
    hours = content["search"]["hours"]
    (typical,) = (each["elapsed_hours"] for each in content["forecasts"] if each["case"] == "typical")
    if hours is not None and typical is not None and hours < typical:
        yield (
            f"The study ends after {duration(hours, 3600)} (search.hours), before its trials do: in random order they "
            f"take {duration(typical, 3600)}. Then no further trial starts, and the best so far are tested."
        )


def _shared(content: Content) -> Iterator[str]:
    """Yield a sentence on how many trials train together in one computation, if several may."""
    most, together = content["machine"]["trials_per_program"], content["trials_together"]
    if most > 1:
        yield (
            f"Of up to {most} trials a program has {together:.1f} on the average: only those share one whose configs "
            f"differ in nothing but scalars. Networks were timed as lanes of {max(1, round(together))}, of which each "
            "has its part of the seconds."
        )


def _notes(content: Content) -> Iterator[str]:
    if content["unmeasured"]:
        yield f"no networks and no hours: {content['unmeasured']}"
        return
    yield from _ends_before(content)
    device = "a GPU" if content["machine"]["device"] == "cuda" else "a CPU"
    yield (
        "Parameters are those of one seed, megabytes of the seeds that train as one program: weights, gradients and "
        "optimiser are its state, activations what the largest batch leaves for the backward pass. A step is an update "
        f"of all seeds, an epoch ends with dev; both were timed here, on {device}, one trial running, without "
        "pretraining. ±: the standard error, since the drawn networks stand for all others."
    )
    yield from _shared(content)
    yield _assumed(content["machine"], content["networks"])
    yield f"Kernels: {content['machine']['kernels']}."
