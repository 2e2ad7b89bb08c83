"""Lets the reader of a page stop a trial or the study, try a point, and write a note or another title, as commands do.

While a process runs the study, a request waits in the study's folder for that process; a note or title for a study that
no process runs is written into its ledger at once. Only a browser on this machine may make a request, and only once it
has opened the address with the token that the command printed. The browser then keeps the token as a cookie, which no
other site can send.
"""

from collections.abc import Iterator, Mapping
from hmac import compare_digest
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse

from skipstack.dashboards.web.elements import button, heading, kept, request_form, sentence, text_field
from skipstack.dashboards.web.hosts import LOCAL
from skipstack.dashboards.web.page_names import TOKEN
from skipstack.dashboards.web.section import Element
from skipstack.dashboards.web.view import View, is_number
from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Noted, Renamed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.requests import Request as Waiting
from skipstack.search.study.record.requests import Requests
from skipstack.search.study.study_files.points import typed_point

POINT: Final = "such as depth=7, learning_rate=0.01"


def may_act(request: Request, token: str) -> bool:
    """Whether a request comes from a browser on this machine that was given the ``token``."""
    sent = request.cookies.get(_cookie(request), "")
    return request.url.hostname in LOCAL and compare_digest(sent.encode(), token.encode())


def admitted(request: Request, token: str, to: str) -> RedirectResponse:
    """The answer to an address with the token: sets the token as a cookie, and redirects to the address ``to``. Raises
    UserError for another token, and for a browser on another machine.
    """
    if request.url.hostname not in LOCAL:
        raise UserError(f"token: got it at {request.url.hostname} (allowed: in a browser on this machine)")
    given = request.query_params.get(TOKEN, "")
    if not compare_digest(given.encode(), token.encode()):
        raise UserError("token: not that of this dashboard (allowed: the address that `skipstack dashboard` printed)")
    answer = RedirectResponse(to, 303)
    answer.set_cookie(_cookie(request), token, httponly=True, samesite="strict")
    return answer


def _cookie(request: Request) -> str:
    """The name of the cookie. It has the port, since a browser sends a machine's cookies to all its ports."""
    return f"skipstack-{request.url.port}"


def act(view: View, given: Mapping[str, str]) -> str:
    """Make the request that a form sent; its field ``do`` names the kind. Return the address of the page to show next.
    Raises UserError if the study cannot take it.
    """
    from skipstack.search.api.asking import ask_for, ask_to_stop, noted, renamed  # imports much that pages do not need

    match given:
        case {"do": "stop", "trial": str(number)} if is_number(number):
            ask_to_stop(view.path, [int(number)])
        case {"do": "enough"}:
            ask_to_stop(view.path)
        case {"do": "try", "point": str(text)}:
            ask_for(view.path, [typed_point(text, "point")])
        case {"do": "note", "trial": str(number), "text": str(text)} if is_number(number):
            noted(view.path, text, int(number))
            return view.trial((None, int(number)))
        case {"do": "note", "text": str(text)} if "trial" not in given:
            noted(view.path, text)
        case {"do": "rename", "title": str(title)}:
            renamed(view.path, title)
        case _:
            raise UserError("got an incomplete request (allowed: a trial, or a point as AXIS=VALUE, ...)")
    return view.address()


def forms(view: View) -> Iterator[Element]:
    """Yield the forms with which a reader acts on a study; without the right to act, a sentence on how to get it."""
    yield heading("Change what runs")
    if not view.acts:
        printed = "the address with a token that `skipstack dashboard` printed"
        yield sentence(f"To stop trials or to try points from here, open {printed}.", pale=True)
        return
    study = kept({"study": [view.study]})
    trial = text_field("trial", "Trial", "", placeholder="such as 3")
    yield request_form(study, trial, button("stop", "Stop at its next report"), name="stop a trial")
    point = text_field("point", "Point", "", placeholder=POINT)
    yield request_form(study, point, button("try", "Try it next"), name="try a point")
    yield request_form(study, button("enough", "Start no further trial"), name="stop the study")


def stop_form(study: str, trial: int) -> Element:
    """The form that stops a trial in training."""
    which = kept({"study": [study], "trial": [str(trial)]})
    return request_form(which, button("stop", "Stop this trial at its next report"), name="stop this trial")


def note_form(study: str, note: str, trial: int | None = None) -> Element:
    """The form in which a reader writes a note on a study or on a trial. ``note``: the present note."""
    which = kept({"study": [study], **({} if trial is None else {"trial": [str(trial)]})})
    field = text_field("text", "Note", note, placeholder="what is worth knowing about it")
    return request_form(which, field, button("note", "Write the note"), name="note")


def written_about(view: View) -> Iterator[Element]:
    """Yield the title and the note that users wrote."""
    title, note = _written(view)
    if title or note:
        yield heading(title or "Note")
    if note:
        yield sentence(note)


def writing(view: View) -> Iterator[Element]:
    """Yield the forms in which a reader may write a note on the study, or another title."""
    if not view.acts:
        return
    title, note = _written(view)
    yield note_form(view.study, note)
    field = text_field("title", "Title", title, placeholder="another title of the study")
    yield request_form(kept({"study": [view.study]}), field, button("rename", "Rename the study"), name="rename")


def _written(view: View) -> tuple[str, str]:
    """The title and the note of the study; empty if nobody wrote one."""
    title = note = ""
    for event in Ledger(StudyFolder(view.path).ledger).only("noted", "renamed"):
        match event:
            case Renamed():
                title = event.title
            case Noted(trial=None):
                note = event.text
    return title, note


def waiting(view: View) -> Iterator[Element]:
    """Yield a sentence for each request that the study's process has not carried out yet."""
    for request in Requests(StudyFolder(view.path).asked).waiting().values():
        by = f", asked for by {request.asked_by}" if request.asked_by else ""
        yield sentence(f"Waits: {_in_words(request)}{by}.")


def are_waiting(view: View) -> tuple[str, ...]:
    """The names of the requests that wait."""
    return tuple(Requests(StudyFolder(view.path).asked).waiting())


def _in_words(request: Waiting) -> str:
    stops = [f"trial {number} ends at its next report" for number in request.stop]
    points = [f"{counted(len(request.points), 'point')} to try next"] if request.points else []
    written = {"noted": "a note", "renamed": "another title"}
    others = [written[request.written.kind]] if request.written is not None else []
    return "; ".join([*stops, *points, *others, *(["no further trial starts"] if request.enough else [])])
