"""``skipstack ablate``: tests, with fresh seeds, which of the best config's changes improve the score."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skipstack.dashboards.commands.options import Code, DataDir, StudyPath, number, with_run_options
from skipstack.dashboards.reports.printing import print_page, say_page
from skipstack.search.study.record.folder import StudyFolder


@with_run_options()
def ablate(
    study: StudyPath,
    seeds: Annotated[int, number("How many seeds each row trains with; the search used none of them.")] = 5,
    top: Annotated[int, number("How many of the best configs to take apart.")] = 1,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Train every row on this corpus (`skipstack data list`, `grammar`, or `own`: the study's); may be "
            "repeated. Left out: the study's own.",
        ),
    ] = None,
    path: Annotated[
        bool, typer.Option("--path", help="Also walk from the base to the best config, one change at a time.")
    ] = False,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Another search with the same base, whose best config becomes a row. May be repeated.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATHS",
            help="Add a row: the best config without all its changes below PATHS, such as model.stack or "
            "model.stack,model.head. May be repeated.",
        ),
    ] = None,
    parts: Annotated[
        bool,
        typer.Option(
            "--parts/--whole",
            help="With rows that take back, or have alone, one single change; or with whole configs only.",
        ),
    ] = True,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Add seeds to each row until it is marked, is unlikely to be marked with --at-most seeds, or has as "
            "many.",
        ),
    ] = False,
    at_most: Annotated[int | None, number("With --until-decided, the most seeds of a row; 40 if left out.")] = None,
    retune: Annotated[
        int | None, number("Tune each row again, with so many trials over --retune-axes, before rows are compared.")
    ] = None,
    retune_axes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATHS",
            help="With --retune, the axes at or below PATHS, such as training.optimiser. May be repeated. Left out: "
            "those of training and regularisation.",
        ),
    ] = None,
    family: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Share one error budget with all ablations of this name, in this study and those beside it: at most "
            "5 % of such families have a mark by chance.",
        ),
    ] = "",
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Print what would be trained, its cost and the smallest detectable difference; train nothing.",
        ),
    ] = False,
    data_dir: DataDir = None,
    code: Code = None,
    **run: Any,
) -> int:
    """Test which changes of the best config improve the score.

    Trains configs again with fresh seeds, and reports a row for each: the base, the best config, the best config
    without each change, and the base with each change alone. With --beside, also trains the best configs of other
    searches; with --without, the best config without some of its changes. No trial is stopped early; each row is
    measured on test once.

    If left out, --engine, --address, --gpus-per-trial, --cpus-per-trial, --concurrent, --trials-per-program, --device,
    --tracking-uri, --system-metrics and --also keep their values from the previous command; the defaults shown below
    are for a new study.
    """
    from skipstack.dashboards.reports.confirmation.ablation_plan import ablation_page, nothing_to_compare
    from skipstack.search.analysis.ablation.options import AblationOptions
    from skipstack.search.api.ablation import prepare_ablation

    options = AblationOptions(
        seeds=seeds,
        top=top,
        corpus=corpus or (),
        path=path,
        without=without or (),
        parts=parts,
        until_decided=until_decided,
        at_most=at_most,
        retune=retune,
        retune_axes=retune_axes or (),
        family=family,
    )
    prepared = prepare_ablation(study, options, beside=beside or (), code=code or (), data_dir=data_dir)
    if prepared is None:
        print_page(nothing_to_compare())
        return 0
    from skipstack.dashboards.commands.running import execution, finish
    from skipstack.search.analysis.confirmation.forecast import forecast
    from skipstack.search.api.run import ablate as ablated
    from skipstack.search.execution.driver.functions import check_function_given

    record, made = prepared.record, prepared.planned
    page = ablation_page(made, forecast(record, made, prepared.first, StudyFolder(study)), record.measure)
    if plan:
        print_page(page)
        return 0
    check_function_given(StudyFolder(study), None, "ablate")
    say_page(page)
    return finish(ablated(prepared, execution(study, code=code, **run)))
