"""Leads a Chromium through the browser edition, for tests and measurements."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from slides import chromium
from website import lab

# No name but this machine's own leads anywhere.
ALONE = ("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--no-proxy-server")
NOTEBOOK = "[...jupyterapp.shell.widgets('main')].find(w => w.isVisible && w.sessionContext)"
KERNEL = f"({NOTEBOOK})?.sessionContext.session?.kernel"
EXECUTE = f"""(() => {{
  let shown = "";
  window.shown = null;
  const future = ({KERNEL}).requestExecute({{code, stop_on_error: false}});
  future.onIOPub = ({{content}}) => {{
    shown += content.text ?? content.traceback?.join("\\n") ?? content.data?.["text/plain"] ?? "";
  }};
  future.done.then(() => {{ window.shown = [shown]; }});
}})()"""


@contextlib.contextmanager
def alone(program: str, folder: Path) -> Iterator[chromium.Page]:
    """An empty page of a browser that reaches nothing but this machine."""
    options, chromium.OPTIONS = chromium.OPTIONS, (*chromium.OPTIONS, *ALONE)
    try:
        with chromium.opened(program, folder) as page:
            yield page
    finally:
        chromium.OPTIONS = options


def open_notebook(page: chromium.Page, site: str, name: str) -> None:
    """Open a notebook of the site at that address, and wait for its kernel."""
    page.open(f"{site}/{lab.FOLDER}/lab/index.html?path={name}.ipynb")
    page.wait("its kernel", f"({KERNEL}).status === 'idle'", 300)


def run(page: chromium.Page, code: str, seconds: float = 120) -> str:
    """What code shows that runs as a cell of the open notebook."""
    page.ask(EXECUTE, code=code)
    [shown] = page.wait("the cell's end", "window.shown", seconds)
    return str(shown)
