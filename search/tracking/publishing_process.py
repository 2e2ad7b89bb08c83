"""What two processes say to each other where one publishes for the other, which writes the best network's bundle."""

from dataclasses import replace
from pathlib import Path

from skipstack.data.basis.errors import UserError, one_line
from skipstack.search.tracking.apart import Apart, EndedError, Link
from skipstack.search.tracking.publication import BestBundle, Publication
from skipstack.search.tracking.publishing import Shown, publish, unpublished


def publish_apart(apart: Apart, uri: str, experiment: str, study_id: str, publication: Publication) -> Shown:
    """As ``publish`` does, by a process that does ``publish_for``."""
    best = publication.best
    sent = replace(publication, best=None if best is None else replace(best, write=_elsewhere))
    apart.send((uri, experiment, study_id, sent))
    try:
        while not isinstance(answer := apart.receive(), Shown):
            assert best is not None, "only its bundle is asked for"
            apart.send(_written(best, answer))
        return answer
    except EndedError as ended:
        return Shown(missing=unpublished(uri, str(ended)))


def publish_for(link: Link) -> None:
    """Publish what comes, and answer what ``publish`` says; the bundle is asked for by the path of its folder."""

    def write(to: Path) -> None:
        link.send(to)
        if (error := link.recv()) is not None:
            raise error

    uri, experiment, study_id, publication = link.recv()
    best = None if publication.best is None else replace(publication.best, write=write)
    link.send(publish(uri, experiment, study_id, replace(publication, best=best)))


def _elsewhere(to: Path) -> None:
    raise AssertionError("whoever receives a publication asks its sender for the bundle")


def _written(best: BestBundle, to: Path) -> Exception | None:
    """Write the bundle; None, or what is raised where it was asked for."""
    try:
        best.write(to)
    except UserError as lost:
        return UserError(str(lost))
    except Exception as error:  # noqa: BLE001 (whatever it is, the report of the study has been printed)
        return RuntimeError(one_line(error))
    return None
