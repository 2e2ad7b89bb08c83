"""A plan as JSON, and as text that is written from nothing but that JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skipstack.dashboards.commands.catalogue import condition
from skipstack.dashboards.report.quantities import duration, number
from skipstack.dashboards.report.text import printed
from skipstack.search.decisions.schedulers.build import described
from skipstack.search.planning.plan import Forecast, Network, Plan
from skipstack.spaces.domains import Choice, Domain
from skipstack.spaces.space import Space

WIDTH = 80

MEGABYTE = 1e6

LONGEST_COUNT = 24
"""Digits of a number that is still written out."""

Content = Mapping[str, Any]


def content(plan: Plan) -> Content:
    """Everything that a plan says, by full names: sizes in bytes, times in seconds or hours, shares in [0, 1]."""
    study, space, counted = plan.study, Space(plan.study.space), plan.space
    search = study.search
    return {
        "study": study.name,
        "about": study.about,
        "space": {
            "combinations": counted.combinations,
            "configurations": counted.estimate,
            "exact": counted.allowed is not None,
            "allowed_share": counted.share,
            "allowed_share_standard_error": counted.standard_error,
            "drawn": counted.drawn,
            "discrete_axes": len(space.domains) - len(counted.continuous),
            "continuous_axes": list(counted.continuous),
            "constraints": list(study.space.constraints),
        },
        "axes": [
            {"path": path, "values": _values(space.domains[path]), "when": condition(axis)}
            for path, axis in study.space.axes.items()
        ],
        "search": {
            "proposer": search.proposer.kind,
            "trials": plan.trials,
            "trials_asked_for": search.trials,
            "seeds": search.seeds,
            "epochs": study.space.base.training.epochs,
            "scheduler": described(search.scheduler),
            "rungs": list(plan.rungs),
            "resource": plan.resource,
        },
        "machine": asdict(plan.room),
        "networks": [_network(network) for network in plan.networks],
        "forecasts": [_forecast(forecast) for forecast in plan.forecasts],
        "unmeasured": plan.unmeasured,
    }


def as_json(plan: Plan) -> str:
    """The content as a JSON text."""
    return json.dumps(content(plan), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_text(plan: Plan, width: int = WIDTH) -> str:
    """The content for people, no line longer than ``width``."""
    told = content(plan)
    parts: list[RenderableType] = [Text(": ".join(filter(None, (told["study"], told["about"]))), style="bold"), ""]
    for title, lines in (("space", _space(told["space"])), ("axes", _axes(told)), ("study", _study(told["search"]))):
        parts += _section(title, *(Text(line, overflow="fold") for line in lines))
    if told["networks"]:
        parts += _section("networks", _networks(told))
        failed = [network for network in told["networks"] if network["failed"]]
        parts += [Text(f"{_roles(network)}: {network['failed']}") for network in failed]
    parts += _section("forecast, for all trials together", _forecasts(told))
    parts += [Text(line, style="dim") for line in _notes(told)]
    return printed(Group(*parts), width, terminal=False)


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


def _section(title: str, *lines: RenderableType) -> list[RenderableType]:
    return [Text(title, style="bold cyan"), *(Padding(line, (0, 0, 0, 2)) for line in lines), ""]


def _space(space: Content) -> Iterator[str]:
    axes = f"{space['discrete_axes']} ax{'i' if space['discrete_axes'] == 1 else 'e'}s"
    if space["exact"]:
        refused = space["combinations"] - space["configurations"]
        out = f", {refused:,} of them refused" if refused else ""
        yield f"{space['configurations']:,} configurations: {space['combinations']:,} combinations of {axes}{out}"
    else:
        share, error = 100 * space["allowed_share"], 100 * space["allowed_share_standard_error"]
        yield (
            f"about {_rounded(space['configurations'])} configurations: of {_whole(space['combinations'])} "
            f"combinations of {axes} {share:.1f} % ± {error:.1f} % are allowed, by the {space['drawn']:,} that were "
            "drawn and checked"
        )
    if space["continuous_axes"]:
        yield f"times any number on the continuous axes: {', '.join(space['continuous_axes'])}"
    if space["constraints"]:
        yield f"constraints: {', '.join(space['constraints'])}"


def _axes(told: Content) -> Iterator[str]:
    for axis in told["axes"]:
        yield f"{axis['path']}: {axis['values']}{' (when ' + axis['when'] + ')' if axis['when'] else ''}"
    if not told["axes"]:
        yield "none: the base alone"


def _study(search: Content) -> Iterator[str]:
    fewer = search["trials_asked_for"] - search["trials"]
    yield (
        f"{search['trials']:,} trials by {search['proposer']}, seeds {search['seeds']}, epochs {search['epochs']}"
        f"{f' ({fewer:,} fewer trials than asked for: the space ends)' if fewer else ''}"
    )
    yield f"stopping: {search['scheduler']}{_rungs(search['resource'], search['rungs'])}"


def _rungs(resource: str, rungs: Sequence[int]) -> str:
    told = ", ".join(map(str, rungs))
    return (f", rungs at epoch {told}" if resource == "epochs" else f", rungs at {told} {resource}") if rungs else ""


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    table.add_column("")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _roles(network: Content) -> str:
    return ", ".join(network["roles"])


def _networks(told: Content) -> Table:
    table = _table("parameters", "state MB", "activations", "memory MB", "step ms", "epoch s")
    for network in told["networks"]:
        state = [network[f"{part}_bytes"] for part in ("weight", "gradient", "optimiser")]
        table.add_row(
            _roles(network),
            f"{network['parameters']:,}",
            number(None if None in state else sum(state), 1 / MEGABYTE),
            number(network["activation_bytes"], 1 / MEGABYTE),
            number(network["memory_bytes"], 1 / MEGABYTE),
            number(network["step_seconds"], 1000),
            number(network["epoch_seconds"]),
        )
    return table


def _forecasts(told: Content) -> Table:
    timed = any(each["hours"] is not None for each in told["forecasts"])
    gpus = bool(told["machine"]["gpus_per_trial"])
    slots = told["machine"]["slots"]
    columns = ["epochs"]
    if timed:
        columns += ["in all", "±", *(["GPU hours"] if gpus else []), f"{slots} side by side"]
    table = _table(*columns)
    names = {
        "best": "all stopped as early as can be",
        "typical": "trials in random order",
        "worst": "none stopped",
    }
    for each in told["forecasts"]:
        cells = [f"{each['epochs']:,}"]
        if timed:
            cells += [duration(each["hours"], 3600), duration(each["hours_standard_error"], 3600)]
            cells += [number(each["gpu_hours"])] if gpus else []
            cells += [duration(each["elapsed_hours"], 3600)]
        table.add_row(names[each["case"]], *cells)
    return table


def _notes(told: Content) -> Iterator[str]:
    if told["unmeasured"]:
        yield f"no networks and no hours: {told['unmeasured']}"
        return
    device = "a GPU" if told["machine"]["device"] == "cuda" else "a CPU"
    yield (
        "Parameters are those of one seed, megabytes of the seeds that train as one program: weights, gradients and "
        "optimiser are its state, activations what the largest batch leaves for the backward pass. A step is an update "
        f"of all seeds, an epoch ends with dev; both were timed here, on {device}, one trial running, without "
        "pretraining. ±: the standard error, since the drawn networks stand for all others."
    )


def _values(domain: Domain) -> str:
    return ", ".join(domain.names) if isinstance(domain, Choice) and domain.names else str(domain)


def _rounded(count: int) -> str:
    """Three digits and zeros: more are not known."""
    return _whole(round(count, min(0, 3 - len(str(count)))))


def _whole(count: int) -> str:
    """All digits, where they fit into a line."""
    return f"{count:,}" if len(str(count)) <= LONGEST_COUNT else f"{Decimal(count):.2e}"
