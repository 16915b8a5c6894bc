"""A server for the site on this machine: browsers run Pyodide from an address, not from a file."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(SimpleHTTPRequestHandler):
    """Files of one folder, with the types that browsers insist on."""

    protocol_version = "HTTP/1.1"
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript", ".wasm": "application/wasm",
    }  # fmt: skip

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder, for this machine alone."""
    handler = functools.partial(Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def until_interrupted(folder: Path) -> None:
    """Serve, and say where."""
    with served(folder) as address, contextlib.suppress(KeyboardInterrupt):
        print(f"{address}/index.html   (Ctrl-C ends it)")
        threading.Event().wait()
