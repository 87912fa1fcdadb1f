"""A headless Chromium, controlled by its DevTools protocol over two pipes.

Nothing but the browser is needed: messages are JSON, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",  # which root may not have
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
)

CELLS = (
    "[...document.querySelectorAll('{0} tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
)
OVERLAPS = """
(() => {
  const texts = [...document.querySelectorAll('%s text')];
  const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]);
  const found = [];
  boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    const across = p.left < q.right - 1 && q.left < p.right - 1;
    if (across && p.top < q.bottom - 3 && q.top < p.bottom - 3) found.push([a, b]);
  }));
  return found;
})()
"""
"""The pairs of texts of a chart that overlap."""

SECONDS = 60.0
"""For one answer; a browser that hangs must not hang the tests."""


def executable() -> str | None:
    """The path of a browser with this protocol, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """A browser with one page, and the complaints and requests of the page."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # The browser reads from 3 and writes to 4; other numbers are free here.
        script = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        profile = f"--user-data-dir={self._folder.name}"
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", script, program, *FLAGS, profile],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._unread, self._number, self._session = b"", 0, None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()

    def ask(self, method: str, **parameters: Any) -> Any:
        """The answer to a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while True:
            answer = self._next(until)
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._note(answer)

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            read = os.read(self._in, 1 << 16)
            assert read, "the browser has ended"
            self._unread += read
        one, _, self._unread = self._unread.partition(b"\0")
        found: dict[str, Any] = json.loads(one)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        method, said = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.complaints.append(str(details.get("exception", {}).get("description", details)))
        elif method == "Runtime.consoleAPICalled" and said["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.complaints.append(json.dumps(said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])

    def open(self, page: Path) -> None:
        """Opens a report, and waits until it is drawn."""
        self.ask("Page.navigate", url=page.as_uri())
        until = time.monotonic() + SECONDS
        done = (
            "document.documentElement.dataset.ready || !document.getElementById('trouble').hidden"
        )
        while not self.value(f"!!document.getElementById('trouble') && !!({done})"):
            assert time.monotonic() < until, ("not drawn", self.complaints)
            time.sleep(0.02)

    def value(self, expression: str) -> Any:
        """The value of an expression in the page, awaited."""
        found = self.ask(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def resize(self, width: int, height: int = 900, *, mobile: bool = False) -> None:
        """The window's size, as a phone where asked."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if mobile else 1,
            mobile=mobile,
        )
        self.settle()

    def look(self, *, dark: bool = False, medium: str = "") -> None:
        """The theme and the medium."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=medium, features=[scheme])
        self.settle()

    def settle(self) -> None:
        """Waits until two frames have been drawn."""
        self.value(
            "new Promise((d) => requestAnimationFrame(() => requestAnimationFrame(() => d(1))))"
        )

    def press(self, key: str, code: int) -> None:
        """A key on the keyboard."""
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)
        self.settle()

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        """The page as it is printed."""
        printed = self.ask("Page.printToPDF", printBackground=True)
        return base64.b64decode(printed["data"])


def use(browser: Browser, control: str, value: object) -> None:
    """Sets a control as a person would."""
    script = "(e => { e.value = %s; for (const k of ['input', 'change']) "
    script += "e.dispatchEvent(new Event(k, {bubbles: true})); })(document.querySelector(%s))"
    browser.value(script % (json.dumps(str(value)), json.dumps(control)))
    browser.settle()


def press(browser: Browser, words: str) -> None:
    browser.value(
        f"[...document.querySelectorAll('button')].find(b => b.innerText === '{words}').click()"
    )
    browser.settle()
