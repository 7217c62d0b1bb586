"""PyTorch's own samples of its operators (OpInfo), on the CPU and on the NPU.

python -m tests.torch_npu.opinfo prints the names of those that agree, for opinfo.txt.
"""

import os
import pathlib
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

LIST = pathlib.Path(__file__).with_name("opinfo.txt")
SAMPLES = 5
# Theirs are other numbers on another device, or none at all.
RANDOM = ("rand", "normal", "bernoulli", "multinomial", "dropout", "empty", "uniform")
RANDOM += ("exponential", "cauchy", "geometric", "log_normal")


def all_ops():
    """{name: OpInfo}; a variant has its own."""
    named = {}
    for op in op_db:
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if torch.float32 in op.supported_dtypes("cpu") and not any(word in name for word in RANDOM):
            named[name] = op
    return named


def moved(value, device):
    def move(leaf):
        return leaf.detach().clone().to(device) if isinstance(leaf, torch.Tensor) else leaf

    return tree_map(move, value)


def samples_of(op):
    samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=False))
    return samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]


def check(op):
    """Raises where the two devices differ; the number of samples that were compared."""
    compared = 0
    for sample in samples_of(op):
        inputs = sample.input, sample.args, sample.kwargs
        value, args, kwargs = moved(inputs, "cpu")
        wanted = op(value, *args, **kwargs)
        value, args, kwargs = moved(inputs, "npu")
        if "device" in kwargs:
            kwargs["device"] = "npu"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = moved(op(value, *args, **kwargs), "cpu")
        torch.testing.assert_close(
            found, wanted, rtol=2e-3, atol=2e-3, equal_nan=True, check_stride=False
        )
        compared += 1
    return compared


def agrees(name, op):
    """In a process of its own, since an error may be the device's last."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    torch.manual_seed(0)
    try:
        os._exit(0 if check(op) else 1)
    except BaseException as error:
        print(name, type(error).__name__, str(error)[:200], file=sys.stderr, flush=True)
    os._exit(1)


def main():
    for name, op in sorted(all_ops().items()):
        if agrees(name, op):
            print(name, flush=True)


if __name__ == "__main__":
    main()
