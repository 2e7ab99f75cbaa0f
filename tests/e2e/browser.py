"""Headless Chromium over its debugging pipe: messages are JSON, each ended by a zero byte."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

import pytest

from harness import end_group

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
         "--force-color-profile=srgb", "--font-render-hinting=none"]
PATIENCE = 90  # seconds; how long an answer may take on a loaded machine


class Browser:
    """One browser with one page.  `console`: errors and warnings so far; `requests`: addresses it asked for."""

    def __init__(self, directory):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            pytest.skip("chromium is not installed")
        self.console, self.requests, self.dialogs = [], [], []
        self.buffer, self.number = b"", 0
        read, self.to = os.pipe()
        self.source, write = os.pipe()
        # bash, for sh may know descriptors of one digit alone
        command = ["bash", "-c", f'exec "$@" 3<&{read} 4>&{write}', "bash", program, *FLAGS, "--remote-debugging-pipe",
                   f"--user-data-dir={os.path.join(directory, 'chromium')}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(read, write), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                        env={**os.environ, "HOME": directory})
        os.close(read)
        os.close(write)
        try:
            self.session = None
            self.attach()
        except (AssertionError, OSError):
            self.close()
            raise

    def attach(self):
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        end_group(self.process.pid)
        self.process.wait()
        os.close(self.to)
        os.close(self.source)

    def message(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.source], [], [], left)[0]:
                raise AssertionError("the browser does not answer")
            part = os.read(self.source, 1 << 20)
            if not part:
                raise AssertionError("the browser has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        kind, given = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.console.append(given["exceptionDetails"].get("exception", {}).get("description") or str(given))
        elif kind == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
            self.console.append(str(given["args"]))
        elif kind == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.console.append(given["entry"]["text"])
        elif kind == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"][:200])
        elif kind == "Page.javascriptDialogOpening":
            self.dialogs.append(given["message"])
            self.send("Page.handleJavaScriptDialog", accept=True)

    def send(self, method, wanted=None, **parameters):
        """The answer to a command; with `wanted`, the first such event that comes behind it."""
        self.number += 1
        number, answer, event = self.number, None, None
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.monotonic() + PATIENCE
        while answer is None or (wanted and event is None):
            got = self.message(deadline)
            if got.get("id") == number:
                assert "error" not in got, f"{method}: {got['error']}"
                answer = got["result"]
            elif "method" in got:
                event = got if got["method"] == wanted else event
                self.note(got)
        return answer

    def open(self, path):
        """A file; returns when it is loaded and drawn."""
        self.send("Page.navigate", "Page.loadEventFired", url="file://" + path)
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def value(self, expression):
        """Of a JavaScript expression, a promise's too."""
        got = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise AssertionError(got["exceptionDetails"].get("exception", {}).get("description", got))
        return got["result"].get("value")

    def until(self, expression):
        """Waits for a condition."""
        deadline = time.monotonic() + PATIENCE
        while not self.value(expression):
            assert time.monotonic() < deadline, f"never: {expression}"
            time.sleep(0.02)

    def key(self, key, text=None):
        codes = {"Escape": 27, "Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, "/": 191}
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=codes.get(key, 0), **extra)

    def size(self, width, height, scale=1, mobile=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    def scheme(self, name):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, path, whole=False):
        got = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(got["data"]))

    def print(self, path):
        got = self.send("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(got["data"]))
