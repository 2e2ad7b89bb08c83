"""``skipstack compare``: compares several studies of one corpus."""

from pathlib import Path
from typing import Annotated

import typer

from skipstack.dashboards.commands.options import AnyFormat, Out, StoreOfStudy, located
from skipstack.dashboards.reports.printing import print_report
from skipstack.dashboards.reports.warned import warned
from skipstack.data.basis.errors import UserError
from skipstack.search.study.record.reading import read_study


def compare(
    studies: Annotated[
        list[Path],
        typer.Argument(help="Two or more studies of one corpus: their folders, or mlflow:NAME.", metavar="DIR"),
    ],
    form: AnyFormat = "text",
    out: Out = None,
    tracking_uri: StoreOfStudy = None,
) -> None:
    """Compare several studies of one corpus.

    Compares the rows that more than one study confirmed, and describes what each study explored. Confirmed rows come
    from `skipstack ablate`, or from a study that stops no trial early and tries a grid or one value at a time. Rows are
    compared across studies if they have the same config and corpus. The best configs that the studies' ablations
    confirmed are also compared, with their intervals. All studies must have the same sentences and the same measure.
    """
    from skipstack.dashboards.reports.confirmation.studies_report import studies_report
    from skipstack.search.analysis.confirmation.studies import compare_studies

    if len(studies) < 2:
        raise UserError(f"compare: got {len(studies)} study (allowed: two folders or more)")
    names = [str(study) for study in studies]
    if twice := next((name for place, name in enumerate(names) if name in names[:place]), None):
        raise UserError(f"compare: got {twice} twice (allowed: each study once)")
    folders = located(studies, tracking_uri)
    records = {name: read_study(folder) for name, folder in zip(names, folders, strict=True)}
    warnings = dict.fromkeys(line for record in records.values() for line in record.warnings)
    print_report(warned(studies_report(compare_studies(records)), list(warnings)), form, out)
