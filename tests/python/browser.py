"""Debian's chromium by its WebDriver: enough to load a page, ask it questions and photograph it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
]  # fmt: skip


class Browser:
    """A session. Use as a context manager."""

    def __enter__(self) -> Browser:
        self._profile = tempfile.mkdtemp(prefix="rubato-chromium-")
        assert DRIVER is not None
        self._driver = subprocess.Popen(
            [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            self._url = f"http://127.0.0.1:{self._port()}"
            options = {"binary": CHROMIUM, "args": [*FLAGS, f"--user-data-dir={self._profile}"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
            self._url += "/session/" + self._ask("/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self._end()
            raise
        return self

    def _port(self) -> int:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip(".\n").rpartition(" ")[2])
        raise RuntimeError("chromedriver did not start")

    def __exit__(self, *_: Any) -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(self._url, method="DELETE"), timeout=20).close()
        finally:
            self._end()

    def _end(self) -> None:
        self._driver.terminate()
        self._driver.wait(20)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self._url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.command("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", {"features": [scheme]})

    def command(self, name: str, parameters: dict[str, Any]) -> Any:
        return self._ask("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def load(self, file: Path) -> None:
        self._ask("/url", {"url": file.resolve().as_uri()})

    def run(self, script: str) -> Any:
        """The value of `script`, a function body."""
        return self._ask("/execute/sync", {"script": script, "args": []})

    def wait_for(self, script: str) -> Any:
        """The value that `script`, a function body, gives to its last argument, a function."""
        return self._ask("/execute/async", {"script": script, "args": []})

    def log(self, kind: str) -> list[dict[str, Any]]:
        return self._ask("/se/log", {"type": kind})

    def requests(self) -> list[str]:
        """Every address the page asked for."""
        events = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def photograph(self, file: Path) -> None:
        """The whole page, as far as it is tall."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.command("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        file.write_bytes(base64.b64decode(shot["data"]))
