"""A headless Chromium that opens pages, for tests of pages and for their pictures.

It is driven through its own protocol (Chrome DevTools), over a pipe: one browser for many pages,
real clicks, and whatever a page writes to its console.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 60  # seconds for one answer, on a machine that is busy with other tests


def find():
    """The program, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """Closes with its `with` block; nothing of it stays."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()
        # Far from 3 and 4, where the browser expects its ends.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, to_write)]
        words = [
            find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-extensions",
            "--disable-default-apps", "--hide-scrollbars", "--remote-debugging-pipe",
            "--force-device-scale-factor=1", "--force-prefers-reduced-motion",
            "--user-data-dir=" + self.folder.name, "about:blank",
        ]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}', "bash", *words],
            pass_fds=ends, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for end in (to_read, to_write, *ends):
            os.close(end)
        self.bytes, self.number, self.events = b"", 0, []
        target = [each for each in self.call("Target.getTargets")["targetInfos"]
                  if each["type"] == "page"][0]
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        # So that a page can be asked which of its elements listen.
        self.call("Page.addScriptToEvaluateOnNewDocument", source="""
            const add = EventTarget.prototype.addEventListener;
            EventTarget.prototype.addEventListener = function (kind, ...rest) {
              if (this instanceof Element) (this.listensTo ??= new Set()).add(kind);
              return add.call(this, kind, ...rest);
            };""")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close", {}, None)
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)
        self.folder.cleanup()

    # The protocol.

    def send(self, method, parameters, session):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]

    def receive(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.bytes:
            ready, _, _ = select.select([self.read_end], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.read_end, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser does not answer")
            self.bytes += piece
        message, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.send(method, parameters, getattr(self, "session", None))
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    # Pages.

    def open(self, file, width=1200, height=900, dark=False, phone=False, fragment=""):
        """Opens a file and waits until its scripts have run."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="about:blank")
        self.events = []
        self.call("Page.navigate", url=file.resolve().as_uri() + fragment)
        end = time.monotonic() + PATIENCE
        while self.run("document.readyState + location.protocol") != "completefile:":
            if time.monotonic() > end:
                raise RuntimeError(f"{file} does not load")
            time.sleep(0.01)

    def run(self, script):
        """The value of an expression of JavaScript in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def save_files_to(self, folder):
        self.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def press(self, key):
        """A key by its name, as Enter, on what has the focus."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def thread_time(self):
        """Seconds of a processor that the page has taken, however busy the machine is."""
        self.call("Performance.enable", timeDomain="threadTicks")
        values = self.call("Performance.getMetrics")["metrics"]
        return {each["name"]: each["value"] for each in values}["ThreadTime"]

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def complaints(self):
        """What went wrong since the page was opened: exceptions, errors and warnings of the
        console, what its policy kept it from."""
        self.run("0")  # what was said before has then arrived
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"])
            if event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in (
                    "error", "warning", "assert"):
                found.append([each.get("value") for each in parameters["args"]])
            if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in (
                    "error", "warning"):
                found.append(parameters["entry"])
        return found

    def picture(self, whole=True):
        """A PNG of the page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole,
                         **({"clip": self.whole()} if whole else {}))
        return base64.b64decode(shot["data"])

    def whole(self):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
