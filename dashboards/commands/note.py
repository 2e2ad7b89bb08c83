"""``skipstack note``: writes a note on a study or a trial. ``skipstack rename``: gives a study another title."""

from typing import Annotated

import typer

from skipstack.dashboards.commands.options import StudyPath, number
from skipstack.dashboards.reports.printing import say


def note(
    study: StudyPath,
    text: Annotated[str, typer.Argument(help="The note, in place of an earlier one; an empty one removes it.")],
    trial: Annotated[int | None, number("On this trial. Left out: on the study.")] = None,
) -> int:
    """Write a note on a study or a trial.

    Reports and the dashboard show the note, and so does MLflow from the next `skipstack resume` or `sync` on.
    """
    from skipstack.search.api.asking import noted

    noted(study, text, trial)
    where = "the study" if trial is None else f"trial {trial}"
    say(f"noted on {where}" if text.strip() else f"no note on {where}")
    return 0


def rename(study: StudyPath, title: Annotated[str, typer.Argument(help="The new title.")]) -> int:
    """Give a study another title.

    Reports and the dashboard show this title, and so does MLflow from the next `skipstack resume` or `sync` on. The
    folder keeps its name.
    """
    from skipstack.search.api.asking import renamed

    renamed(study, title)
    say(f"the study is called {' '.join(title.split())} now")
    return 0
