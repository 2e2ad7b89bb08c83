"""Where in a file of own code an error came up."""

import sys
from traceback import extract_tb

from skipstack.data.basis.own_code import OwnConfig, loaded


def line_before(piece: OwnConfig, error: BaseException) -> str:
    """``my_gates.py:12: ``, the last line that was running of the file that has ``piece``; nothing where none was."""
    made, _ = loaded[piece.code.sha256].classes[piece.part, piece.kind]
    path = sys.modules[made.__module__].__file__
    causes = [each for each in (error, error.__cause__) if each is not None]
    lines = [frame.lineno for each in causes for frame in extract_tb(each.__traceback__) if frame.filename == path]
    return f"{piece.code.name}:{lines[-1]}: " if lines else ""
