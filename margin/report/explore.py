"""`explore`: a local server for a report page that can show every marginal."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .._checks import whole_number
from ..errors import FileError, MarginError
from ..synopses.synopsis import Synopsis, check_synopsis
from .content import content, packed_marginal
from .page import page

__all__ = ["explore"]

_HOSTS = ("127.0.0.1", "localhost")
"""The host names under which the server answers."""

_SOCKET_SECONDS = 10.0
"""Seconds that the server waits for the next bytes of a request, or to send its answer."""

_REQUEST_SECONDS = 20.0
"""Seconds within which the whole request must arrive."""

_LARGEST_PORT = 65535

_TURN_SECONDS = 60.0
"""Seconds that a request waits for the answers to earlier requests."""


def explore(
    synopsis: Synopsis,
    *,
    title: str,
    port: int = 0,
    idle: float | None = None,
) -> ThreadingHTTPServer:
    """Make a server on this machine that shows a synopsis in the browser.

    Start it with its method `serve_forever`. It listens on the loopback address only, and it
    answers only requests for its own host names, so that no web site can read it through the user's
    browser. It closes a connection that sends nothing for 10 s or does not complete its request
    within 20 s. A request that has to wait for others longer than 60 s gets status 503.

    Parameters
    ----------
    synopsis
        The result of a release or of a simulation.
    title
        The heading of the page.
    port
        The port. With 0, a free port is taken; the server's `server_address` holds it.
    idle
        The number of seconds without a request after which `serve_forever` returns. With None, it
        does not return.

    Raises
    ------
    FileError
        If the synopsis is not the result of a release or simulation, if the port is not one from 0
        to 65535 that is free, or if `idle` is not positive.
    """
    check_synopsis(synopsis)
    if synopsis.provenance is None:
        raise FileError(
            "only the result of `release` or `simulate` can be explored, but this synopsis is not "
            "one; pass what they return"
        )
    whole_number("port", port, least=0, most=_LARGEST_PORT, error=FileError)
    if idle is not None and not idle > 0:
        raise FileError(
            f"idle ({idle}) must be a number of seconds > 0, or None; pass one of these"
        )
    text = page(
        content(
            synopsis,
            title=title,
            live=True,
        )
    ).encode()
    lock = threading.Lock()

    def answer(query: str) -> tuple[int, bytes]:
        """The status and the JSON text of a marginal."""
        names = parse_qs(query).get("attribute", [])
        if not lock.acquire(timeout=_TURN_SECONDS):
            busy = {"error": "the server is busy with other requests: try again later"}
            return 503, json.dumps(busy).encode()
        try:
            marginal = synopsis.marginal(names)
        except MarginError as error:
            return 400, json.dumps({"error": str(error)}).encode()
        finally:
            lock.release()
        found = packed_marginal(marginal, synopsis)
        return 200, json.dumps(found).encode()

    try:
        return _Server(("127.0.0.1", port), _handler(text, answer), idle)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise FileError(
            f"port {port} cannot be used ({why}); choose another, or 0 for any free port"
        ) from None


class _Server(ThreadingHTTPServer):
    """A server that stops after `idle` seconds without a request."""

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        idle: float | None,
    ) -> None:
        super().__init__(address, handler)
        self._idle = idle
        self._last = time.monotonic()

    def finish_request(
        self,
        request: Any,
        client_address: Any,
    ) -> None:
        """Answer a request, and note the time before and after."""
        self._last = time.monotonic()
        super().finish_request(request, client_address)
        self._last = time.monotonic()

    def service_actions(self) -> None:
        """Stop if there was no request for too long. `serve_forever` calls this regularly."""
        if self._idle is not None and time.monotonic() - self._last > self._idle:
            # `shutdown` waits for the loop of `serve_forever`, so it needs a thread of its own.
            threading.Thread(
                target=self.shutdown,
                daemon=True,
            ).start()


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _handler(
    text: bytes, answer: Callable[[str], tuple[int, bytes]]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SOCKET_SECONDS

        def handle_one_request(self) -> None:
            """Read one request within its time limit, and answer it."""
            self.limit = threading.Timer(_REQUEST_SECONDS, _close, [self.connection])
            self.limit.daemon = True
            self.limit.start()
            try:
                super().handle_one_request()
            finally:
                self.limit.cancel()

        def do_GET(self) -> None:
            self.limit.cancel()  # the request is complete
            host = self.headers.get("Host", "").rpartition(":")[0]
            address = urlsplit(self.path)
            if host not in _HOSTS:
                self._reply(403, "text/plain", b"this server answers only its own machine")
            elif address.path == "/":
                self._reply(200, "text/html; charset=utf-8", text)
            elif address.path == "/marginal":
                status, body = answer(address.query)
                self._reply(status, "application/json", body)
            else:
                self._reply(404, "text/plain", b"not found")

        def _reply(
            self,
            status: int,
            kind: str,
            body: bytes,
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing: the requests are private to the reader."""

    return Handler
