"""What threads the simulator starts."""

import os
import subprocess
import sys

from tests.simulator.ops import acl

PRODUCTS = """
import os, pathlib, time
import numpy as np
from tests.simulator.ops import acl

acl.libraries()
tasks = [path for path in pathlib.Path("/proc/self/task").iterdir()]
others = [path / "status" for path in tasks if path.name != str(os.getpid())]

def states():
    found = []
    for path in others:
        lines = dict(line.split(":", 1) for line in path.read_text().splitlines())
        found.append((lines["State"].split()[0], int(lines["voluntary_ctxt_switches"])))
    return found

device = acl.Device()
for m, k, n in [(64, 64, 64), (128, 128, 128), (1, 1024, 1024), (16, 2048, 32), (4, 65536, 4)]:
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    tensors = [
        acl.create_tensor(x.shape, "f32", (x.shape[1], 1), 0, x.size, device.upload(x))
        for x in (a, b, np.zeros((m, n), np.float32))
    ]
    # Threads that were just started, or have just worked, are awake for a while.
    while any(state != "S" for state, _ in states()):
        time.sleep(0.01)
    before = states()
    size, executor = acl.phase_one("aclnnMm", [*tensors, 0])
    acl.phase_two("aclnnMm", device.malloc(size), size, executor, device.stream)
    device.synchronize()
    print("asleep" if states() == before else "woken")
"""


def test_products_of_medium_size_wake_no_thread():
    """A machine whose cores are busy would take milliseconds to run the threads of the BLAS."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", PRODUCTS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=acl.ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["asleep"] * 5
