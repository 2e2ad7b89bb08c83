"""The report of `skipstack spaces NAME`: a study's space and epochs, and every setting with its origin."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from skipstack.dashboards.formats.page import (
    Block,
    Cell,
    Column,
    Heading,
    Listing,
    Numbers,
    Page,
    Report,
    Table,
    TableRow,
)
from skipstack.dashboards.reports.meanings import meaning
from skipstack.data.basis.counted import counted, listed
from skipstack.data.tasks.tasks import TASKS
from skipstack.search.api.planning.epochs import EpochSize
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.study_files.origins import DEFAULT
from skipstack.spaces.activity import condition
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.constraints import CONSTRAINTS
from skipstack.spaces.counting import SpaceCount
from skipstack.spaces.domains import Choice, Domain
from skipstack.spaces.one_network import Condition, OneNetwork
from skipstack.spaces.short_names import short_name, value_text
from skipstack.spaces.side_effects import COMPOSITION, change_name, effects_of_axes
from skipstack.spaces.space import Space
from skipstack.spaces.subject import Subject, leaves
from skipstack.spaces.trial import as_network

LONGEST_COUNT = 24
"""The maximum number of digits of a number that is written in full. Longer numbers are rounded."""

VARIES = "~"
"""Marks a setting that an axis varies."""

ONCE = (
    "a trial whose network another trial has trained to its end is not trained again, but reused; a condition of the "
    "axis (`when`) leaves it out"
)

Content = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribedStudy:
    """A study to describe, with facts that need no training.

    ``counted``: the size of its space. ``origins``: the origin of each field's value, by dotted path. A field without
    an origin has its default. ``epoch``: the size of an epoch, or a line that says why it is not known.
    ``one_network``: the values of axes that give the same network. ``scales``: the names of the sizes that the study
    defines. ``papers``: the names of the papers' tables with which the study can be compared.
    """

    study: StudyConfig
    counted: SpaceCount
    origins: Mapping[str, str]
    epoch: EpochSize | str
    one_network: Sequence[OneNetwork] = ()
    scales: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()


def space_report(described: DescribedStudy) -> Report:
    """The report that describes a study."""
    content = _content(described)
    title = ": ".join(filter(None, (content["study"], content["about"])))
    lists = {
        "space": [*space_lines(content["space"]), *_walked(content)],
        "axes": [*axis_lines(content["axes"]), *described.study.removals],
        "values that change nothing": content["one_network"],
        "values that change more than their axis": content["side_effects"],
        "constraints": [
            f"{name}: {reason}" if reason else name for name, reason in content["space"]["constraints"].items()
        ],
        "epochs": list(_epoch_lines(content["epoch"])),
        "options": list(_options(content)),
    }
    groups: list[tuple[Block, ...]] = [(Heading(name), Listing(tuple(lines))) for name, lines in lists.items() if lines]
    note = (
        "Each path can be set by --set PATH=VALUE, or in the base of a study file.",
        *([f"{VARIES}: an axis varies it; the value is the base's."] if content["axes"] else []),
    )
    groups.append((Heading("settings"), Listing((" ".join(note),))))
    groups.append((_settings(content["settings"]),))
    return Report(
        page=Page(title, tuple(groups)),
        content=content,
        records=content["settings"],
        names=("path", "value", "set_by", "varied_by"),
    )


def space_content(study: StudyConfig, counted: SpaceCount) -> Content:
    """The numbers on a space's size by name, and its constraints with their reasons."""
    return {
        "combinations": counted.combinations,
        "configurations": counted.estimate,
        "exact": counted.allowed is not None,
        "allowed_share": counted.share,
        "allowed_share_standard_error": counted.standard_error,
        "drawn": counted.drawn,
        "discrete_axes": len(study.space.axes) - len({*counted.continuous, *counted.idle}),
        "continuous_axes": list(counted.continuous),
        "base_removed_by": Space(study.space).base_removed_by,
        "constraints": _constraints(study.space),
    }


def _constraints(space: SpaceConfig) -> dict[str, str]:
    """The reason of each constraint; empty for an expression, which needs no explanation."""
    own = {rule.text: rule for rule in Space(space).rules}
    return {text: CONSTRAINTS[text].reason if text in CONSTRAINTS else own[text].about for text in space.constraints}


def axes_content(study: StudyConfig, space: Space, counted: SpaceCount) -> list[Content]:
    """The axes in the order of the study, each with its values, its condition and its meaning."""
    return [
        {
            "path": path,
            "values": values(space.domains[path]),
            "when": condition(space, path),
            "varies": path not in counted.idle,
            "meaning": meaning(path, study.space.base),
        }
        for path in space.domains
    ]


def space_lines(space: Content) -> Iterator[str]:
    """Yield sentences on the number of configurations of a space."""
    axes, any_value = counted(space["discrete_axes"], "axis", "axes"), _any_value(space["continuous_axes"])
    if space["exact"]:
        refused = space["combinations"] - space["configurations"]
        but = f", {refused:,} of them refused by configs or constraints" if refused else ""
        combinations = f"{counted(space['combinations'], 'combination')} of {axes}{but}"
        if not any_value:
            configurations = counted(space["configurations"], "configuration")
            yield f"{configurations}: {combinations}" if space["discrete_axes"] else configurations
        elif space["discrete_axes"]:
            each = "each of the others" if refused else "each"
            yield f"infinitely many configurations: {combinations}, {each} with {any_value}"
        else:
            yield f"infinitely many configurations: {any_value}"
    else:
        share, error = 100 * space["allowed_share"], 100 * space["allowed_share_standard_error"]
        yield (
            f"{f'infinitely many configurations, with {any_value}; ' if any_value else ''}"
            f"about {_rounded(space['configurations'])} {'combinations' if any_value else 'configurations'}: of "
            f"{_whole(space['combinations'])} combinations of {axes} {share:.1f} % ± {error:.1f} % are allowed, "
            f"estimated from {space['drawn']:,} that were drawn at random and checked"
        )
    if space["base_removed_by"] is not None:
        yield f"the base is not among them, so no trial is compared with it: {space['base_removed_by']}"


def _any_value(continuous: Sequence[str]) -> str:
    """``any value of learning_rate in its range``, for all continuous axes; empty without any."""
    if not continuous:
        return ""
    one = len(continuous) == 1
    return f"any value{'' if one else 's'} of {listed(continuous)} in {'its range' if one else 'their ranges'}"


def axis_lines(axes: Sequence[Content]) -> Iterator[str]:
    """Yield a line for each axis with its values, condition and meaning; without axes, a line that says so."""
    for axis in axes:
        never = "" if axis["varies"] else "never varies: "
        when = f" ({never}only when {axis['when']})" if axis["when"] else ""
        yield f"{axis['path']}: {axis['values']}{when}{'. ' + axis['meaning'] if axis['meaning'] else ''}"
    if not axes:
        yield "none: the space is the base alone"


def one_network_lines(space: Space, found: Sequence[OneNetwork]) -> Iterator[str]:
    """Yield a line for each set of values of an axis that give the same network, and the conditions for this."""
    for each in found:
        named = listed([short_name(space.domains[each.axis], value) for value in each.values])
        where = "; or ".join(_where(space, condition) for condition in each.where)
        place = f" where {where}" if where else "" if each.always else " in some configurations"
        if each.whole:
            yield f"{each.axis} changes nothing{place}: {named} are one network there"
        else:
            yield f"{each.axis}: {named} are one network{place}"
    if found:
        yield ONCE


def side_effect_lines(space: Space, base: Subject) -> Iterator[str]:
    """Yield a line for each axis whose values also change other settings, with these changes. If shortcuts are among
    the changes, a last line names the field that decides which layers take a shortcut. ``base``: the base config of the
    space.
    """
    found: dict[str, list[str]] = {}
    for axis, value, effects in effects_of_axes(space, base):
        found.setdefault(axis, []).append(change_name(space, axis, value, effects))
    yield from map("; ".join, found.values())
    if any("shortcut" in name for names in found.values() for name in names):
        yield f"{COMPOSITION} decides which layers take a shortcut; 0: none does"


def _where(space: Space, condition: Condition) -> str:
    """A condition in words, with full paths of axes, such as ``model.stack.depth is 1 or 2``."""
    return " and ".join(
        f"{path} is {' or '.join(short_name(space.domains[path], value) for value in allowed)}"
        for path, allowed in condition
    )


def values(domain: Domain) -> str:
    """The values of an axis as text: their names, if they have names."""
    return ", ".join(domain.names) if isinstance(domain, Choice) and domain.names else str(domain)


def _content(described: DescribedStudy) -> Content:
    study, space = described.study, Space(described.study.space)
    training, path = as_network(study.space.base).training, "training.batch_size"
    size = described.epoch
    return {
        "study": study.title,
        "about": study.about,
        "space": space_content(study, described.counted),
        "axes": axes_content(study, space, described.counted),
        "removed": study.removed,
        "one_network": list(one_network_lines(space, described.one_network)),
        "side_effects": list(side_effect_lines(space, study.space.base)),
        "one_at_a_time": _one_at_a_time(study, space),
        "epoch": {
            "batch_size": training.batch_size,
            "batch_size_is_default": path not in described.origins,
            "batch_size_varies": path in study.space.axes,
            **(dict.fromkeys(EpochSize.__annotations__) if isinstance(size, str) else asdict(size)),
            "unknown": size if isinstance(size, str) else None,
            "window": training.window,
        },
        "scales": list(described.scales),
        "papers": list(described.papers),
        "settings": list(_setting_records(described)),
    }


def _one_at_a_time(study: StudyConfig, space: Space) -> int | None:
    if study.search.proposer.kind != "one_at_a_time":
        return None
    return sum(1 for _ in islice(space.one_at_a_time(), study.search.trials))


def _walked(content: Content) -> Iterator[str]:
    """Yield the number of configurations to try, if the proposer varies one axis at a time."""
    if content["one_at_a_time"] is not None:
        yield f"{content['one_at_a_time']:,} of them are tried: the base, then one axis at a time"


def _epoch_lines(epoch: Content) -> Iterator[str]:
    """Yield lines on the batch size and the updates of an epoch. A hint follows if the batch size is a slow default."""
    size = epoch["batch_size"]
    of_base = " (the base's; an axis varies it)" if epoch["batch_size_varies"] else ""
    if epoch["unknown"] is not None:
        yield f"batch size {size}{of_base}: each update learns from {counted(size, 'sentence')} at most"
        yield f"updates an epoch: not counted: {epoch['unknown']}"
    elif TASKS[epoch["task"]].continues:
        places, window = counted(size, "place"), counted(epoch["window"], "word")
        yield f"batch size {size}{of_base}: the text is read at {places} side by side, {window} at each in an update"
        yield f"{counted(epoch['updates'], 'update')} an epoch: train has {counted(epoch['tokens'], 'word')}"
    else:
        sentence = "text" if TASKS[epoch["task"]].single_label else "sentence"
        sentences = counted(epoch["sentences"], sentence)
        tokens = epoch["tokens"] / epoch["updates"]
        yield (
            f"batch size {size}{of_base}: each update learns from {counted(size, sentence)} at most, "
            f"about {counted(round(tokens), 'token')}"
        )
        yield f"{counted(epoch['updates'], 'update')} an epoch: train has {sentences}, {epoch['tokens']:,} tokens"
    if size == 1 and epoch["batch_size_is_default"]:
        yield (
            "hint: batch size 1 is only the default, and slow; `extends: tagger` or training.batch_size=16 makes an "
            "epoch many times faster"
        )


def _options(content: Content) -> Iterator[str]:
    if content["scales"]:
        yield f"sizes, for --scale: {', '.join(content['scales'])}"
    if content["papers"]:
        yield f"tables of papers, for `skipstack report --against`: {', '.join(content['papers'])}"


def _setting_records(described: DescribedStudy) -> Iterator[Numbers]:
    """Yield every field of the base and the search, with its value, the value's origin, and any axis that varies it."""
    study = described.study
    search = leaves(study.search.model_dump(mode="json"), "search")
    for path, value in [*study.space.base.flatten().items(), *search]:
        around = [path.rsplit(".", cut)[0] for cut in range(path.count(".") + 1)]
        axis = next((each for each in around if each in study.space.axes), None)
        author = next((described.origins[each] for each in around if each in described.origins), DEFAULT)
        yield {"path": path, "value": value, "set_by": author, "varied_by": axis}


def _settings(records: Sequence[Numbers]) -> Table:
    return Table(
        names=("setting",),
        columns=(Column("value", justify="left"), Column("set by", justify="left")),
        rows=tuple(
            TableRow(
                names=(str(record["path"]),),
                label=str(record["path"]),
                cells=(Cell(value_text(record["value"])), Cell(str(record["set_by"]))),
                section=str(record["path"]).partition(".")[0],
                mark=Cell(VARIES if record["varied_by"] is not None else ""),
                style="dim" if record["set_by"] == DEFAULT and record["varied_by"] is None else "",
                code=True,
            )
            for record in records
        ),
        heading="setting",
    )


def _rounded(count: int) -> str:
    """An estimated number as text, rounded to three digits, since the estimate is not more exact."""
    return _whole(round(count, min(0, 3 - len(str(count)))))


def _whole(count: int) -> str:
    """A number as text. It is rounded if it has more than ``LONGEST_COUNT`` digits."""
    return f"{count:,}" if len(str(count)) <= LONGEST_COUNT else f"{Decimal(count):.2e}"
