"""Programs on simulated NPUs, in processes of their own: a process chooses its NPUs once."""

import os
import subprocess
import sys


def start(arguments, **environment):
    """Runs Python; what it did."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "MINDTORCH_NPU": "sim", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def run(program, **environment):
    """The output of a program that succeeds."""
    done = start(["-c", f"import mindtorch_v2 as torch\n{program}"], **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
