# SPDX-License-Identifier: MIT
"""So many programs at a time, of all layers together.

run_all.py puts JOBS bytes into a pipe and starts every layer; what runs a program takes a byte out before and puts
it back behind.  Alone, a layer knows no pipe and takes nothing; nor does what a program starts, which has one already.
"""
import contextlib
import os
import sys

NAME, HELD = "UPMU_TEST_TOKENS", "held"
PATH = os.environ.get(NAME)
JOBS = 1 if PATH else 2  # so much a program may do at a time


def for_program():
    """What is added to the environment of a program that runs with a token."""
    return {NAME: HELD} if PATH else {}


@contextlib.contextmanager
def token():
    """Hold one while a program runs."""
    if PATH in (None, HELD):
        yield
        return
    with open(os.open(PATH, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        os.set_blocking(pipe.fileno(), True)
        if not pipe.read(1):
            sys.exit("run_all.py has ended")
    try:
        yield
    finally:
        with contextlib.suppress(OSError), open(os.open(PATH, os.O_WRONLY | os.O_NONBLOCK), "wb", buffering=0) as pipe:
            pipe.write(b"t")
