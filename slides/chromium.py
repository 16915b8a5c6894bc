"""A headless Chromium, led through the DevTools protocol: JSON messages over one websocket.

Just what a learner does: look, click, type, drag. A library for this would bring more than a
hundred megabytes, and a second browser, into every learner's environment.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websocket import create_connection

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MACOS = tuple(
    Path(f"/Applications/{name}.app/Contents/MacOS/{name}")
    for name in ("Google Chrome", "Chromium")
)
WIDTH, HEIGHT = 1000, 700  # of a page, on a small screen
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # it refuses to run as root otherwise, and sees our own pages only
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers have little shared memory
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
STEP = 0.1  # seconds between two looks at a page
KEYS = {
    **{"/": 191, "Backspace": 8},
    **{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34},
    **{"End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40},
}
# Keys held down; macOS has Cmd and Option.
ALT, CONTROL, SHIFT = 1, (4 if sys.platform == "darwin" else 2), 8


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome on this machine."""
    on_path = filter(None, map(shutil.which, NAMES))
    return next(on_path, None) or next((str(path) for path in MACOS if path.exists()), None)


class Page:
    """One tab; every wait ends with what was waited for."""

    def __init__(self, address: str) -> None:
        self._socket = create_connection(address, timeout=60)
        self._count = 0
        screen = {"deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, **screen)

    def open(self, address: str) -> None:
        """Go to an address; a server may not listen yet when it prints its own."""
        end = time.monotonic() + 60
        while "errorText" in self.call("Page.navigate", url=address):
            if time.monotonic() > end:
                raise AssertionError(f"nobody answers at {address}")
            time.sleep(STEP)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and wait for its answer."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": params}))
        while True:  # events come between, which nobody has asked for
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def ask(self, expression: str, **values: Any) -> Any:
        """The value of a JavaScript expression, which knows `values`, or of its promise."""
        names, given = ", ".join(values), ", ".join(map(json.dumps, values.values()))
        answer = self.call(
            "Runtime.evaluate",
            expression=f"(async ({names}) => ({expression}))({given})",
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", details).get("description", str(details)))
        return answer["result"].get("value")

    def wait(self, what: str, expression: str, seconds: float = 60, **values: Any) -> Any:
        """Ask until the answer is true, and return it; `what` names it where it never comes."""
        end = time.monotonic() + seconds
        while True:
            try:
                if answer := self.ask(expression, **values):
                    return answer
            except RuntimeError as error:  # while a page loads, nothing of it is there yet
                answer = error
            if time.monotonic() > end:
                raise AssertionError(f"waited {seconds:g} s for {what}, in vain: {answer}")
            time.sleep(STEP)

    def click(self, element: str, times: int = 1, **values: Any) -> None:
        """Click into the middle of what a JavaScript expression finds."""
        x, y = self.wait(
            f"{element} to click on",
            f"(element => {{element.scrollIntoView({{block: 'center'}}); const box = "
            "element.getBoundingClientRect(); return [box.x + box.width / 2, "
            f"box.y + box.height / 2]}})({element})",
            **values,
        )
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                mouse = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": count}
                self.call("Input.dispatchMouseEvent", **mouse)

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press a key, by its name in JavaScript, while others are held down."""
        code = KEYS.get(key) or ord(key.upper())
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                modifiers=modifiers,
                commands=["selectAll"] if (key, modifiers) == ("a", CONTROL) else [],
            )

    def type(self, text: str) -> None:
        """Type where the cursor is."""
        self.call("Input.insertText", text=text)

    def picture(self) -> bytes:
        """What can be seen now, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])


@contextlib.contextmanager
def opened(program: str, folder: Path) -> Iterator[Page]:
    """An empty page of a browser that keeps everything in `folder`; closed at the end."""
    log = folder / "chromium.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [program, *OPTIONS, f"--user-data-dir={folder / 'profile'}", "about:blank"],
            stdout=output,
            stderr=output,
        )
    try:
        with urlopen(f"http://{_listens_at(process, log)}/json/list", timeout=60) as answer:
            pages = json.load(answer)
        yield Page(next(p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page"))
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens_at(process: subprocess.Popen, log: Path) -> str:
    """The browser says where it listens; a file would be out of sight where it is confined."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"DevTools listening on ws://([\w.:]+)/", log.read_text()):
            return found[1]
        time.sleep(STEP)
    raise AssertionError(f"the browser did not start:\n{log.read_text()}")
