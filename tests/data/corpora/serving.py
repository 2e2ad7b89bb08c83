"""A web server of the test's own, which keeps files in memory and breaks off where it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Server(ThreadingHTTPServer):
    """``files`` by their paths; ``breaks``: after so many bytes each of the next answers ends, whole ones after these.

    ``asked``: the paths of all requests, with the first byte that was asked for.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.breaks: list[int] = []
        self.ranges = True
        self.asked: list[tuple[str, int]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        start = int((self.headers["Range"] or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        self.server.asked.append((self.path, start))
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        start = start if self.server.ranges else 0
        if start >= len(content):
            self.send_error(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
            return
        self.send_response(HTTPStatus.PARTIAL_CONTENT if start else HTTPStatus.OK)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        stop = start + self.server.breaks.pop(0) if self.server.breaks else len(content)
        self.wfile.write(content[start:stop])

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
