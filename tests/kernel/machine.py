# SPDX-License-Identifier: MIT
"""The example kernel in QEMU (TCG: no PMU), by multiboot, by PVH or from a disk."""
import os
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "build", "kernel")
LEFT_WELL = 33  # QEMU's status when the kernel writes 10h to isa-debug-exit
PENTIUM_4 = "qemu64,vendor=GenuineIntel,family=15,model=4,stepping=3"
LIMIT_S = 60


def path(name):
    return os.path.join(OUT, name)


def command(medium, cpu="qemu64"):
    """QEMU's command line; `medium` is what boots, as options."""
    return ["qemu-system-x86_64", "-accel", "tcg", "-cpu", cpu, "-nodefaults", "-vga", "std", "-m", "64",
            "-display", "none", "-no-reboot", "-device", "isa-debug-exit,iobase=0x501,iosize=4", *medium]


def kernel(name, line):
    return ["-kernel", name, "-append", line]


def run(medium, cpu="qemu64"):
    """Boot and wait; (exit status, what came out of COM1)."""
    try:
        done = subprocess.run(command(medium, cpu) + ["-serial", "stdio", "-monitor", "none"], cwd=OUT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        return "no end", (late.stdout or b"").decode("utf-8", "replace").replace("\r", "")
    return done.returncode, done.stdout.decode("utf-8", "replace").replace("\r", "")


class Conversation:
    """A machine that is typed at: COM1 on our pipes, QEMU's monitor in a second one."""

    def __init__(self, medium, monitor=False):
        self.text = ""
        serial = path("typed.txt")
        if os.path.exists(serial):
            os.unlink(serial)
        options = ["-serial", "file:" + serial, "-monitor", "stdio"] if monitor else \
            ["-chardev", "stdio,id=com1,logfile=" + serial, "-serial", "chardev:com1", "-monitor", "none"]
        self.serial = serial
        self.process = subprocess.Popen(command(medium) + options, cwd=OUT, stdin=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self, what, times=1, limit=LIMIT_S):
        """Until `what` was printed so many times; False: not in time."""
        end = time.monotonic() + limit
        while True:
            if os.path.exists(self.serial):
                with open(self.serial, errors="replace", newline="") as file:
                    self.text = file.read().replace("\r", "")
            if self.text.count(what) >= times:
                return True
            if self.process.poll() is not None or time.monotonic() > end:
                return False
            time.sleep(0.05)
        return False

    def wait_briefly(self, what):
        """Is it there within a third of a second?"""
        return self.wait(what, limit=0.3) or self.process.poll() is not None

    def pause(self):
        """Keys that come too fast are lost."""
        time.sleep(0.06)

    def send(self, text):
        try:
            self.process.stdin.write(text.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended

    def end(self):
        try:
            status = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "no end"
        self.wait("all of it is read", limit=0)
        return status
