"""The line of own code in which an error was raised."""

from traceback import walk_tb

from skipstack.data.basis.own_code import OwnConfig, loaded


def line_before(piece: OwnConfig, error: BaseException) -> str:
    """``my_gates.py:12: ``, the last line that was running in the file of ``piece``; empty if none was."""
    made, _ = loaded[piece.code.sha256].classes[piece.part, piece.kind]
    causes = [each for each in (error, error.__cause__) if each is not None]
    frames = [pair for each in causes for pair in walk_tb(each.__traceback__)]
    lines = [line for frame, line in frames if frame.f_globals.get("__name__") == made.__module__]
    return f"{piece.code.name}:{lines[-1]}: " if lines else ""
