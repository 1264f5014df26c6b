#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures of the UEFI demo's screen for the documents.  usage: screenshots.py APP.EFI FOLDER
       screenshots.py convert SHOT.PPM PICTURE.PNG

Boots the demo under QEMU without a window, types commands over its serial line and has QEMU's monitor store the screen.
Each picture is FOLDER/NAME.png; a blank screen is an error, and its picture is not written.
"""
import os
import re
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import picture  # noqa: E402
import sources  # noqa: E402

# Name, and what is typed; the picture is taken at the prompt after the last line.
SHOTS = (("start", []), ("stat", ["clear", "stat -r 5 mix"]), ("top", ["top -r 3 mix"]), ("record", ["clear", "record mix"]),
         ("selftest", ["clear", "selftest"]))
SHOWN = f"upmu {sources.version(sources.ROOT)}"
LIMIT_S = float(os.environ.get("DEMO_TIMEOUT", "120"))
PROMPT = b"upmu> "


class Screen:
    """The demo on a machine with a screen."""

    def __init__(self, app):
        self.folder, self.seen, self.end = os.path.dirname(os.path.abspath(app)), b"", time.monotonic() + LIMIT_S
        self.qemu = subprocess.Popen(["tests/demo/run-demo.sh", "watch", "x64", app], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.qemu.stdout.fileno(), False)
        self.monitor = None

    def wait_for(self, ready, what):
        while not ready():
            if time.monotonic() > self.end or self.qemu.poll() is not None:
                sys.exit(f"screenshots.py: no {what} within {LIMIT_S:.0f} s, or QEMU has ended")
            time.sleep(0.05)

    def prompts(self):
        self.seen += self.qemu.stdout.read() or b""
        return self.seen.count(PROMPT)

    def type(self, line):
        before = self.prompts()
        self.qemu.stdin.write(line.encode() + b"\r")
        self.qemu.stdin.flush()
        self.wait_for(lambda: self.prompts() > before, f"prompt after '{line}'")

    def order(self, text):
        """A line for QEMU's monitor, and its answer."""
        if self.monitor is None:
            self.monitor = socket.socket(socket.AF_UNIX)
            self.monitor.settimeout(LIMIT_S)
            # The name of a socket is short.
            here = os.getcwd()
            os.chdir(self.folder)
            self.monitor.connect("monitor.sock")
            os.chdir(here)
            self.answer()
        self.monitor.sendall(text.encode() + b"\n")
        return self.answer()

    def answer(self):
        text = b""
        while not text.endswith(b"(qemu) "):
            more = self.monitor.recv(4096)
            assert more, "QEMU's monitor has ended"
            text += more
        return text

    def dump(self):
        self.order("screendump shot.ppm")
        with open(os.path.join(self.folder, "shot.ppm"), "rb") as file:
            return file.read()

    def shot(self):
        """What the screen shows when it changes no more: text comes to it after the serial line, or before."""
        last = self.dump()
        while True:
            time.sleep(0.3)
            now = self.dump()
            if now == last or time.monotonic() > self.end:
                return now
            last = now

    def switch_off(self):
        self.monitor.sendall(b"quit\n")
        self.qemu.wait(timeout=LIMIT_S)


def convert(shot, file):
    """Write a picture of this PPM; complaints, if it is none that is worth to be shown."""
    image = picture.read_ppm(shot)
    found = [f"{file}: {complaint}" for complaint in picture.complaints(image)]
    if not found:
        with open(file, "wb") as out:
            out.write(picture.png(image, SHOWN))
        print(f"{file}: {image[0]} x {len(image[1])}, {os.path.getsize(file)} bytes")
    return found


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "convert":
        with open(sys.argv[2], "rb") as file:
            found = convert(file.read(), sys.argv[3])
    else:
        app, folder = sys.argv[1:]
        os.makedirs(folder, exist_ok=True)
        screen, found = Screen(app), []
        screen.wait_for(screen.prompts, "prompt")
        for name, lines in SHOTS:
            for line in lines:
                screen.type(line)
            found += convert(screen.shot(), os.path.join(folder, f"{name}.png"))
        screen.switch_off()
    for complaint in found:
        print(f"screenshots.py: {complaint}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
