"""A server on this machine only, for the page with every marginal answered live."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..errors import FileError, MarginError
from ..synopsis import Synopsis
from .content import content, packed_marginal
from .page import page

__all__ = ["explore"]

_HOSTS = ("127.0.0.1", "localhost")


def explore(synopsis: Synopsis, *, title: str, port: int = 0) -> ThreadingHTTPServer:
    """A server of a synopsis's page on the loopback address; call its `serve_forever`.

    It answers requests for its own host names only, so that no other site can read it through a browser.

    Parameters
    ----------
    synopsis
        The result of a release or of a simulation.
    title
        The heading.
    port
        0 takes a free one; see the server's `server_address`.

    Raises
    ------
    FileError
        When the synopsis is not the result of a release, or the port is not free.
    """
    if synopsis.provenance is None:
        raise FileError("only what `release` or `simulate` returned can be explored")
    text = page(content(synopsis, title=title, live=True)).encode()
    lock = threading.Lock()

    def answer(query: str) -> tuple[int, bytes]:
        names = parse_qs(query).get("attribute", [])
        try:
            with lock:
                marginal = synopsis.marginal(names)
        except MarginError as error:
            return 400, json.dumps({"error": str(error)}).encode()
        return 200, json.dumps(packed_marginal(marginal, synopsis.domain)).encode()

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), _handler(text, answer))
    except OSError as error:
        raise FileError(f"port {port} cannot be used: {error.strerror or type(error).__name__}") from None


def _handler(text: bytes, answer: Callable[[str], tuple[int, bytes]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
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
