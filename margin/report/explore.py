"""A server on this machine only, for the page with every marginal answered live."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..errors import FileError, MarginError
from ..synopses.synopsis import Synopsis
from .content import content, packed_marginal
from .page import page

__all__ = ["explore"]

_HOSTS = ("127.0.0.1", "localhost")

_SOCKET_SECONDS = 10.0
"""How long the server waits for the next bytes of a request, and for its answer to be taken."""

_REQUEST_SECONDS = 20.0
"""How long a whole request may take to arrive, however steadily its bytes come."""

_TURN_SECONDS = 60.0
"""How long a request waits for those before it to be answered."""


def explore(
    synopsis: Synopsis, *, title: str, port: int = 0, idle: float | None = None
) -> ThreadingHTTPServer:
    """A server of a synopsis's page on the loopback address; call its `serve_forever`.

    It answers requests for its own host names only, so that no other site can read it through a
    browser. A connection that says nothing for 10 s, or does not finish its request in 20 s, is
    closed; a request that waits for others for 60 s is told to come again.

    Parameters
    ----------
    synopsis
        The result of a release or of a simulation.
    title
        The heading.
    port
        0 takes a free one; see the server's `server_address`.
    idle
        After how many seconds without a request `serve_forever` returns; None for never.

    Raises
    ------
    FileError
        When the synopsis is not the result of a release, the port is not free, or `idle` is not
        positive.
    """
    if synopsis.provenance is None:
        raise FileError("only what `release` or `simulate` returned can be explored")
    if idle is not None and not idle > 0:
        raise FileError(f"idle ({idle}) must be a number of seconds > 0, or None")
    text = page(content(synopsis, title=title, live=True)).encode()
    lock = threading.Lock()

    def answer(query: str) -> tuple[int, bytes]:
        names = parse_qs(query).get("attribute", [])
        if not lock.acquire(timeout=_TURN_SECONDS):
            return 503, json.dumps(
                {"error": "the server is busy with other questions: ask again later"}
            ).encode()
        try:
            marginal = synopsis.marginal(names)
        except MarginError as error:
            return 400, json.dumps({"error": str(error)}).encode()
        finally:
            lock.release()
        return 200, json.dumps(packed_marginal(marginal, synopsis.domain)).encode()

    try:
        return _Server(("127.0.0.1", port), _handler(text, answer), idle)
    except OSError as error:
        raise FileError(
            f"port {port} cannot be used: {error.strerror or type(error).__name__}"
        ) from None


class _Server(ThreadingHTTPServer):
    """A server that ends by itself when nobody has asked for so many seconds."""

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], idle: float | None
    ) -> None:
        super().__init__(address, handler)
        self._idle = idle
        self._last = time.monotonic()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Note that somebody asked, when the answer begins and when it ends."""
        self._last = time.monotonic()
        super().finish_request(request, client_address)
        self._last = time.monotonic()

    def service_actions(self) -> None:
        """Called by `serve_forever` in each of its rounds."""
        if self._idle is not None and time.monotonic() - self._last > self._idle:
            # It waits for the loop to end, so not in the loop itself.
            threading.Thread(target=self.shutdown, daemon=True).start()


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _handler(
    text: bytes, answer: Callable[[str], tuple[int, bytes]]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SOCKET_SECONDS

        def handle_one_request(self) -> None:
            """Read one request, within its time, and answer it."""
            self.limit = threading.Timer(_REQUEST_SECONDS, _close, [self.connection])
            self.limit.daemon = True
            self.limit.start()
            try:
                super().handle_one_request()
            finally:
                self.limit.cancel()

        def do_GET(self) -> None:
            self.limit.cancel()  # all of the request is here
            host = self.headers.get("Host", "").rpartition(":")[0]
            address = urlsplit(self.path)
            if host not in _HOSTS:
                self._reply(403, "text/plain", b"this server speaks to its own machine only")
            elif address.path == "/":
                self._reply(200, "text/html; charset=utf-8", text)
            elif address.path == "/marginal":
                status, body = answer(address.query)
                self._reply(status, "application/json", body)
            else:
                self._reply(404, "text/plain", b"nothing is here")

        def _reply(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: the page's requests are nobody's business."""

    return Handler
