"""``skipstack sync``: writes the missing runs of a study into MLflow, from its ledger."""

from typing import Annotated

import typer

from skipstack.dashboards.commands.options import Also, StudyPath
from skipstack.dashboards.reports.printing import say
from skipstack.data.basis.errors import UserError


def sync(
    study: StudyPath,
    tracking_uri: Annotated[
        str | None,
        typer.Option(
            help="The MLflow store; by default the study's, else MLFLOW_TRACKING_URI, else a SQLite file in the "
            "study's folder.",
            metavar="URI",
        ),
    ] = None,
    also: Also = None,
) -> None:
    """Write the missing runs of a study into MLflow.

    Adds runs, learning curves, report and best network. Nothing is written twice. The listeners named by --also receive
    all events of the study, from the first one on.
    """
    from skipstack.dashboards.commands.next_steps import to_look_at
    from skipstack.dashboards.commands.running import execution, publish
    from skipstack.search.api.run import sync_to_mlflow

    where = execution(study, engine="serial", tracking_uri=tracking_uri, also=also)
    run = sync_to_mlflow(study, where)
    if run.missing:
        raise UserError(run.missing[0])
    pages = publish(run)
    shown = to_look_at(study, private_runs=run.has_private_runs, pages=pages) if pages else []
    for line in shown or ["nothing is shown in MLflow"]:
        say(line)
