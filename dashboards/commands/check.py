"""``skipstack check``: conformance tests for the gates, cells, heads, embedders, formats, proposers and schedulers in a
file of the user's own code.
"""

from pathlib import Path
from typing import Annotated

import typer

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.files import read_code


def check(
    file: Annotated[Path, typer.Argument(help="The Python file with your classes; it is run.")],
) -> None:
    """Test your own gates, heads, formats, proposers and the like.

    Builds a small network for each gate, cell, head and embedder, with the defaults of its config. Tests its shapes,
    lanes (seeds trained in one computation), gradients and resuming. Tests a format on the format's own example, and a
    proposer and a scheduler in random studies. Prints a line for each check, and skips checks that would fail for the
    same reason as an earlier one. Constraints are not run; the axes that they read are printed.
    """
    import skipstack.search.study.config  # noqa: F401 (imported to register the kinds that come with skipstack)

    code = read_code(file, file.name)
    from skipstack.models.conformance.suite import conformance
    from skipstack.search.strategy.proposers.conformance import PROPOSER_SUITE
    from skipstack.search.strategy.schedulers.conformance import SCHEDULER_SUITE

    found = conformance(code, {"proposer": PROPOSER_SUITE, "scheduler": SCHEDULER_SUITE})
    for piece in dict.fromkeys(each.piece for each in found):
        print(f"{piece.part} {piece.kind}")
        for each in found:
            if each.piece == piece:
                print(f"  {each.outcome}  {each.check}: {each.words}")
    for name, parameters in code.constraints.items():
        print(f"constraint {name}\n  not run; it reads {', '.join(parameters)}")
    if failed := [f"{each.piece.part} {each.piece.kind}" for each in found if each.outcome == "FAILS"]:
        raise UserError(f"{file}: {', '.join(failed)} failed a check (allowed: pieces of which every check holds)")
