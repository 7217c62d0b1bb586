"""Times the ops and programs in one library: worker.py ours|pipeline|theirs [QUICK]. Prints JSON:
{name: {"host_us": the calling thread's time, "calls": {function of CANN: how often}}}."""

import collections
import ctypes
import json
import os
import sys
import time

import programs

SIDE = sys.argv[1]
QUICK = len(sys.argv) > 2
if SIDE == "theirs":
    import torch
    import torch_npu  # noqa: F401
else:
    import mindtorch_v2 as torch


def simulator():
    """The functions beside CANN's, of the library that is loaded."""
    folder = os.environ.get("RIVAL_FOLDER", "")
    library = ctypes.CDLL(os.path.join(folder, "libascendcl.so"))
    library.mtsim_calls.restype = ctypes.c_void_p
    library.mtsim_free.argtypes = [ctypes.c_void_p]
    return library


def calls_of(step, library):
    """How often a step calls each function of CANN."""
    torch.npu.synchronize()
    library.mtsim_set(b"log", b"1")
    step()
    torch.npu.synchronize()
    text = library.mtsim_calls()
    entries = [json.loads(line) for line in ctypes.string_at(text).decode().splitlines()]
    library.mtsim_free(text)
    library.mtsim_set(b"log", b"0")
    return collections.Counter(entry["name"] for entry in entries if entry["kind"] == "call")


def host_us(step, count, rounds):
    """The least of the rounds: other programs on the machine only add. Not processor time, which in
    torch's backward is another thread's."""
    best = float("inf")
    for _ in range(rounds):
        torch.npu.synchronize()
        begun = time.perf_counter()
        for _ in range(count):
            step()
        best = min(best, time.perf_counter() - begun)
    torch.npu.synchronize()
    return best / count * 1e6


def in_a_window(step):
    def recorded():
        with torch.pipeline():
            step()

    return recorded


def measure(step, count, library):
    for _ in range(10):  # plans and caches are warm
        step()
    torch.npu.synchronize()
    time_us = host_us(step, count, 3 if QUICK else 15)
    return {"host_us": time_us, "calls": calls_of(step, library)}


def main():
    torch.manual_seed(0)
    library = simulator()
    found = {}
    if SIDE != "pipeline":
        with torch.no_grad():
            for name, call in programs.ops(torch).items():
                found[name] = measure(call, 200, library)
    for name, step in programs.programs(torch).items():
        found[name] = measure(in_a_window(step) if SIDE == "pipeline" else step, 5, library)
    print(json.dumps(found), flush=True)
    os._exit(0)  # without the reports of what is still there


main()
