"""Decoding with transformers' Llama (4 layers, 256 wide), against torch on the CPU in the same run.

.venv/bin/pip install transformers            once
python benchmarks/decoding.py [--rounds N]    one thread; about a minute

A call decodes 16 tokens, one by one, after a prompt of 32, with a cache that grows. On the CPU both
compute; the simulated NPU computes nothing, with its checks off: that is the host's cost alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.append(str(HERE.parent / "python"))

from measure import Effort, Lane, LibraryProcess, Measured, measure_lanes  # noqa: E402

TOKENS = 16
SETUP = f"""
if torch.__name__ == "mindtorch_v2":
    torch.install_as_torch()
import os
import transformers
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM
transformers.logging.set_verbosity_error()
config = LlamaConfig(
    vocab_size=1000, hidden_size=256, intermediate_size=688, num_hidden_layers=4,
    num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=256,
)
torch.manual_seed(0)
model = LlamaForCausalLM(config).eval()
device = os.environ["DECODE_ON"]
model.to(device)
cache = DynamicCache(config=config)
first = torch.ones(1, 1, dtype=torch.int64, device=device)
with torch.no_grad():
    model(torch.arange(32, device=device)[None], past_key_values=cache)

@torch.no_grad()
def decode():
    token = first
    for _ in range({TOKENS}):
        logits = model(token, past_key_values=cache).logits
        token = logits[:, -1].argmax(-1, keepdim=True)
    cache.crop(-{TOKENS})
    return token
"""
# name, library, device, settings of its process, at most this ratio to the first
LANES = [
    ("torch, cpu", "torch", "cpu", {}, None),
    ("mindtorch, cpu", "mindtorch_v2", "cpu", {}, 0.7),
    (
        "mindtorch, npu",
        "mindtorch_v2",
        "npu",
        {"MINDTORCH_NPU": "sim", "MINDTORCH_SIM_CHECKS": "none", "MINDTORCH_SIM_COMPUTE": "0"},
        0.7,
    ),
]


def check_transformers() -> None:
    """Of this environment: that of `make test-dropin` has a torchvision that torch cannot load."""
    if importlib.util.find_spec("transformers") is None:
        sys.exit("transformers is not installed: pip install transformers")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="samples of each lane, per pass")
    effort = Effort(2, parser.parse_args().rounds, 50_000_000, 30.0)
    check_transformers()
    os.environ["HF_HUB_OFFLINE"] = "1"
    results = [Measured() for _ in LANES]
    for _ in range(effort.passes):
        lanes = []
        for (_, library, device, settings, _), result in zip(LANES, results, strict=True):
            process = LibraryProcess(library, 1, {**settings, "DECODE_ON": device})
            lanes.append(Lane(process, result, "decode()"))
        measure_lanes(SETUP, lanes, effort)
        for lane in lanes:
            lane.library.close()
    print(f"{'one token':16}{'us':>8}{'ratio':>8}{'best':>8}{'at most':>9}")
    missed = 0
    for (name, *_, threshold), result in zip(LANES, results, strict=True):
        if result.error:
            print(f"{name:16}{result.error}")
            missed += 1
            continue
        ratio = result.median_ns / results[0].median_ns
        best = result.best_ns / results[0].best_ns
        missed += threshold is not None and ratio > threshold
        print(
            f"{name:16}{result.median_ns / TOKENS / 1000:8.0f}{ratio:8.2f}{best:8.2f}"
            f"{'' if threshold is None else threshold:>9}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
