"""The last lines of a report: the commands to type next, depending on the verdict."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from skipstack.dashboards.formats.page import Block, Listing, Sentence
from skipstack.dashboards.reports.wording import reason_in_words
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.analysis.verdict.verdicts import (
    Explored,
    Failed,
    RowsTested,
    Unfinished,
    Verdict,
    WinnerTested,
)
from skipstack.search.ledger.events import SCORELESS, Reason
from skipstack.search.study.record.extension import all_tried
from skipstack.spaces.changes import changes
from skipstack.spaces.function import FunctionConfig
from skipstack.spaces.subject import Subject

DIR: Final = "DIR"
"""A placeholder for the folder of a study, in reports that may be read elsewhere."""

HELPS: Final[dict[Reason, str]] = {
    "diverged": "use smaller learning rates, or clip gradients (training.clip_norm)",
    "failed": "fix what its message names",
    "crashed": "look into the logs of Ray and of the machine (dmesg), or train without Ray (--engine serial)",
    "out_of_memory": "use smaller batches (training.batch_size), or a larger --gpus-per-trial",
    "timed_out": "set a larger search.time_limit",
    "lost": "look into what ends the machines, since none outlived the trial",
    "preempted": "train on machines that are not taken back",
}
"""A remedy for each reason why trials end without a score."""


MOST: Final = 40
"""The maximum number of seeds of a recommended ablation: few users would train more to settle one gain."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command, ready to paste, with its purpose as a phrase."""

    command: str
    purpose: str


def next_step(verdict: Verdict, seen: Exploration, folder: str = DIR) -> tuple[Block, ...]:
    """The commands to type next; if the study is finished without a score, remedies for the failures instead.

    ``seen``: the exploration of the search. ``folder``: the study's folder, as shown in the commands.
    """
    remedies = tuple(_remedies(verdict.ends)) if isinstance(verdict, Failed) else ()
    return *remedies, *_listed(list(_steps(verdict, seen, folder)))


def report_command(folder: str, *options: str) -> str:
    """The command that prints the report of a study with its details."""
    return _typed("report", folder, *options, "--full")


def _listed(steps: Sequence[NextStep]) -> Iterator[Block]:
    """Yield each command on a line of its own, below its purpose."""
    for place, step in enumerate(steps):
        yield Sentence(f"{'or' if place else 'next'}, {step.purpose}:")
        yield Listing((step.command,), code=True)


def confirming(seen: Exploration, folder: str = DIR) -> str:
    """The sentence with the command that tests the best config; empty if the best config is the base, or if there is
    none. ``folder``: the study's folder, as shown in the command.
    """
    if seen.imported or seen.best_config is None or not changes(seen.best_config, seen.base):
        return ""
    when = "" if seen.finished else "once the search is finished, "
    typed = command("ablate", seen.base, folder)
    return f"To confirm, {when}`{typed}` trains the best config and each of its changes again."


def after_ablation(base: Subject, verdict: Verdict, folder: str) -> tuple[Block, ...]:
    """The commands to type after an ablation, below its table. ``verdict``: the verdict of the table."""
    beside = NextStep(_typed("report", folder), "to see it beside what was explored")
    return tuple(_listed([*_confirmed(base, verdict, folder), beside]))


def _steps(verdict: Verdict, seen: Exploration, folder: str) -> Iterator[NextStep]:
    base = seen.base
    match verdict:
        case Unfinished():
            yield NextStep(command("resume", base, folder), "to finish it")
        case Explored() if verdict.ablation:
            yield NextStep(command("resume", base, folder), "to finish the ablation")
        case Explored(imported=True):
            assert isinstance(base, FunctionConfig), "other tools call functions"
            warm = f"direction={base.direction!r}, settings={{'search.warm_start': [{folder!r}]}}"
            yield NextStep(f"skipstack.search(space, {base.function.name}, {warm})", "to search on from its trials")
        case Explored(is_base=True) if all_tried(seen.config, map(json.loads, seen.seen.trials["point"])):
            yield from _export(base, folder)
        case Explored(is_base=True):
            more = str(len(seen.seen.trials))
            yield NextStep(command("extend", base, folder, trials=more), "to try more configs")
        case Explored():
            yield NextStep(command("ablate", base, folder), "to test it with fresh seeds")
        case WinnerTested() | RowsTested():
            yield from _confirmed(base, verdict, folder)
        case Failed():
            pass
        case _:
            assert_never(verdict)


def _confirmed(base: Subject, verdict: Verdict, folder: str) -> Iterator[NextStep]:
    if isinstance(verdict, WinnerTested) and not verdict.winner.marked and base.keeps_weights:
        yield from _more_seeds(verdict, folder)
    yield from _export(base, folder)


def _more_seeds(verdict: WinnerTested, folder: str) -> Iterator[NextStep]:
    """Yield an ablation with enough seeds to show a gain as large as the winner's, which is not significant yet; none
    if ``MOST`` seeds do not suffice.
    """
    gain, needed = verdict.winner.gain, verdict.seeds_to_show
    if gain is not None and needed is not None and (seeds := max(needed, 2 * gain.seeds)) <= MOST:
        how = f"to test it with {seeds} seeds, which show a gain of this size in 80 of 100 ablations"
        yield NextStep(_typed("ablate", folder, "--seeds", str(seeds), *verdict.repeated), how)


def _export(base: Subject, folder: str) -> Iterator[NextStep]:
    if base.keeps_weights:
        yield NextStep(_typed("export", folder, "--to", f"{folder}-best"), "to have its network as files")


def command(name: str, base: Subject, folder: str, **options: str) -> str:
    """The command ``skipstack NAME``. For a user's function, the Python call: a command cannot pass a function."""
    if isinstance(base, FunctionConfig):
        given = [repr(folder), base.function.name, *(f"{key}={value}" for key, value in options.items())]
        return f"skipstack.{name}({', '.join(given)})"
    return _typed(name, folder, *(part for key, value in options.items() for part in (f"--{key}", value)))


def _typed(*words: str) -> str:
    return shlex.join(["skipstack", *words])


def _remedies(ends: Mapping[str, int]) -> Iterator[Block]:
    """Yield a remedy for each reason why trials ended without a score. ``ends``: the number of trials by reason."""
    trials = sum(ends.values())
    found = {reason: ends[reason] for reason in SCORELESS if reason in ends}
    yield Listing(
        tuple(f"{reason_in_words(end)}, {count} of {trials} trials: {HELPS[end]}" for end, count in found.items())
    )
