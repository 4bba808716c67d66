# SPDX-License-Identifier: Apache-2.0
"""A busy loop in the Python interpreter.

    python3 python_busy.py [SECONDS]      default 10

Known answer for a profiler that sees native frames: the interpreter's evaluation loop
(_PyEval_EvalFrameDefault) and integer arithmetic (long_add, long_mul and the like) lead.
"""

import sys
import time


def inner(steps):
    x = 1
    for i in range(steps):
        x = (x * 1664525 + 1013904223) % 4294967296
    return x


def outer(seconds):
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        total ^= inner(20000)
    return total


if __name__ == "__main__":
    print("total", outer(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0))
