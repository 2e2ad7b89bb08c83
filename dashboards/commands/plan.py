"""``skipstack plan``: estimates the size, memory and hours of a study."""

from dataclasses import replace
from typing import Any

from skipstack.dashboards.commands.options import (
    ComputeDevice,
    Study,
    TextOrJson,
    studied,
    with_run_options,
    with_study_options,
)
from skipstack.dashboards.reports.printing import print_report, say
from skipstack.search.study.record.reading import read_study


@with_study_options("warm_start", "enough")
@with_run_options("gpus_per_trial", "cpus_per_trial", "concurrent", "trials_per_program")
def plan(
    study: Study,
    device: ComputeDevice = "auto",
    form: TextOrJson = "text",
    **given: Any,
) -> None:
    """Estimate the size, memory and hours of a study.

    Counts the configurations of the space, measures a few updates of its networks on this machine, and estimates the
    hours of the search. Leaves no files.
    """
    config, corpus_folder = studied(study, given)
    data_dir = given.pop("data_dir")
    from skipstack.dashboards.reports.plan_report import plan_report
    from skipstack.search.api.opening import rehearsed
    from skipstack.search.api.options import check_trials_per_program
    from skipstack.search.api.planning import plan as planning
    from skipstack.search.api.planning.measuring import TrainingMeter, room
    from skipstack.search.api.run_options import RunOptions
    from skipstack.search.study.study_files.document import presets

    options = RunOptions(**{name: value for name, value in given.items() if value is not None})
    check_trials_per_program(options.trials_per_program, is_function=not config.space.base.keeps_weights)
    here = room(
        device,
        options.gpus_per_trial,
        cpus_per_trial=options.cpus_per_trial,
        concurrent=options.most_at_a_time,
        trials_per_program=options.trials_per_program,
    )
    preset = study in presets()
    with rehearsed(config, data_dir=data_dir, corpus_folder=corpus_folder, preset=preset) as (folder, absent):
        if here.device == "cuda" and options.gpus_per_trial == "auto":
            say("a whole GPU is counted for each trial, although `auto` gives less to those that need less")
        say(f"counting the space of {config.name}")
        made = planning.plan(config, here)
        if absent is not None:
            made = replace(made, unmeasured=absent)
        else:
            record = read_study(folder.path)
            for line in record.warnings:
                say(f"warning: {line}")
            made = planning.measured(made, TrainingMeter(record, folder, device, made.together), tell=say)
    print_report(plan_report(made), form)
