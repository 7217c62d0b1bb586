"""Runs recordings made by traces.py through torch's own CUDA allocator, on a machine with a GPU:

    python benchmarks/allocator/on_cuda.py DIR/*.pickle

What it prints is what the column `torch` of traces.py should say.
"""

import pickle
import sys

import torch


def run(path):
    with open(path, "rb") as file:
        trace = pickle.load(file)["device_traces"][0]
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()
    live = {}
    for entry in trace:
        if entry["action"] == "alloc":
            live[entry["addr"]] = torch.cuda.caching_allocator_alloc(entry["size"])
        elif entry["action"] == "free_completed" and entry["addr"] in live:
            torch.cuda.caching_allocator_delete(live.pop(entry["addr"]))
    stats = torch.cuda.memory_stats()
    for address in live.values():
        torch.cuda.caching_allocator_delete(address)
    return stats


def main():
    torch.cuda.init()
    for path in sys.argv[1:]:
        stats = run(path)
        print(
            f"{path}: reserved {stats['reserved_bytes.all.peak']}, "
            f"active {stats['active_bytes.all.peak']}, "
            f"device allocations {stats['num_device_alloc']}"
        )


if __name__ == "__main__":
    main()
