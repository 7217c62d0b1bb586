"""Calls everything that can be called with arguments that make no sense. Run as a program:

    python hostile_calls.py GROUP LOG

Exceptions are what it expects. A crash ends the process, and a call that does not return is ended
by faulthandler: the last line of LOG is the call. GROUP is a key of GROUPS.
"""

import contextlib
import faulthandler
import gc
import operator
import os
import sys
import types
import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import _C

SECONDS_PER_FUNCTION = 300  # many times what the slowest takes
# Names of calls that wait, end the process or stop the simulator on purpose, or put what they are
# given into the environment of the calls after them.
EXCLUDED = {
    "hang", "__init_subclass__", "__subclasshook__", "__class__", "__abstractmethods__",
    "TransformerDecoder", "TransformerEncoder",  # as many layers as they are told
    "pca_lowrank", "svd_lowrank",  # as many iterations
    "_torch_function",  # calls what it is given, itself, too
}  # fmt: skip


class Shrinking:
    """A number that empties the list it is in when it is read."""

    def __init__(self, held):
        self.held = held

    def __index__(self):
        self.held.clear()
        gc.collect(0)
        return 1

    __float__ = __bool__ = __int__ = __len__ = __index__


class Lying:
    """Everything about it is something else."""

    def __len__(self):
        return 2**62

    def __getitem__(self, index):
        return self

    def __index__(self):
        return "no number"

    def __float__(self):
        return None

    __array__ = __dlpack__ = __dlpack_device__ = __iter__ = __index__
    __array_interface__ = {"version": 3, "shape": (2**62,), "typestr": "<f4", "data": (8, False)}
    __array_struct__ = 5


def shrinking_list():
    held = []
    held += [Shrinking(held), *range(7, 4000)]
    return held


# Made anew for each call, which may change them.
VALUES = (
    lambda: None,
    lambda: True,
    lambda: 5,
    lambda: -1,
    lambda: 2**62,
    lambda: 2**63 - 1,
    lambda: -(2**63),
    lambda: 2**100,
    lambda: float("nan"),
    lambda: 1e300,
    lambda: "abc",
    lambda: "\ud800",
    lambda: b"x",
    object,
    list,
    dict,
    tuple,
    lambda: [None],
    lambda: (1, 2),
    lambda: [2**62, 2**62],
    shrinking_list,
    Lying,
    lambda: slice(None, None, 2**62),
    lambda: torch.float16,
    lambda: torch.device("cpu"),
    lambda: torch.strided,
    lambda: torch.preserve_format,
    lambda: torch.ones(2, 3),
    lambda: torch.empty(0, 3),
    lambda: torch.tensor(3),
    lambda: torch.tensor([2**62, -(2**63)]),
    lambda: torch.tensor([True, False]),
    lambda: torch.empty(2, 3, device="meta"),
    lambda: torch.ones(1).expand(2**62),
    lambda: torch.ones([1] * 70),
    torch.Generator,
    lambda: torch.UntypedStorage(4),
    # Not a class: CPython 3.11.7 crashes when `x.size()` meets a tensor, then Tensor itself.
)


def argument_lists(first):
    """Tuples of arguments; `first` makes a sensible first one."""
    yield ()
    for value in VALUES:
        yield (value(),)
        yield (first(), value())
        yield (value(), first())
        yield (first(), value(), value())
        yield (first(), 0, value())
        yield (first(), value(), first())
        yield (first(), 0, first(), value())


class Calls:
    def __init__(self, log):
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def try_(self, name, call, *arguments):
        os.ftruncate(self.log, 0)
        kinds = ", ".join(type(argument).__name__ for argument in arguments)
        os.pwrite(self.log, f"{name}({kinds})\n".encode(errors="replace"), 0)
        with contextlib.suppress(BaseException):
            call(*arguments)
        _C._set_default_device(None)  # where the next values are made

    def function(self, name, call, first):
        faulthandler.dump_traceback_later(SECONDS_PER_FUNCTION, exit=True)
        for arguments in argument_lists(first):
            self.try_(name, call, *arguments)
        for value in VALUES:
            self.try_(name, lambda value=value: call(first(), **{"\ud800": value()}))
            self.try_(name, lambda value=value: call(first(), out=value()))
            self.try_(name, lambda value=value: call(first(), 0, out=[value(), value()]))

    def functions_of(self, owner, first, prefix):
        for name in sorted(dir(owner)):
            if name in EXCLUDED or name.startswith("_linalg_"):  # LAPACK: torch.linalg checks
                continue
            member = getattr(owner, name)
            if callable(member) and not isinstance(member, type):
                self.function(f"{prefix}.{name}", member, first)

    def instance(self, name, make):
        """Methods, attributes and operators of what `make` makes."""
        example = make()
        for member in sorted(dir(example)):
            if member in EXCLUDED:
                continue
            label = f"{name}.{member}"
            faulthandler.dump_traceback_later(SECONDS_PER_FUNCTION, exit=True)
            for value in VALUES:
                self.try_(f"{label} =", setattr, make(), member, value())
            self.try_(f"del {label}", delattr, make(), member)
            self.try_(label, getattr, make(), member)
            of_class = getattr(type(example), member, None)
            if not callable(of_class):
                continue
            for arguments in argument_lists(make):
                self.try_(label, getattr(make(), member), *arguments)
            for value in VALUES:  # with something else in place of self
                self.try_(f"{name} class.{member}", of_class, value())
                self.try_(f"{name} class.{member}", of_class, value(), value())

    def operators(self, name, make):
        for operation in sorted(vars(operator)):
            call = getattr(operator, operation)
            if operation.startswith("_") or isinstance(call, type) or not callable(call):
                continue
            faulthandler.dump_traceback_later(SECONDS_PER_FUNCTION, exit=True)
            label = f"{operation} {name}"
            for value in VALUES:
                self.try_(label, call, make(), value())
                self.try_(label, call, value(), make())
                self.try_(label, call, make(), [0, value()])
                self.try_(label, call, make(), (value(), value()))
                self.try_(label, call, make(), 0, value())
                self.try_(label, call, make(), value(), make())


def matrix():
    return torch.ones(2, 3)


def device_tensor():
    return torch.ones(2, 3, device="npu")


def everything_of(calls, kinds):
    for name, make in kinds.items():
        calls.instance(name, make)


def call_types(calls):
    for owner in (torch, _C, torch.npu, torch.cuda, torch.npu.memory, torch.nn):
        for name in sorted(dir(owner)):
            member = getattr(owner, name)
            if isinstance(member, type) and name not in EXCLUDED:
                calls.function(f"{owner.__name__}.{name}", member, matrix)


GROUPS = {
    "functions": lambda calls: calls.functions_of(torch, matrix, "torch"),
    "nn_functions": lambda calls: (
        calls.functions_of(torch.nn.functional, matrix, "nn.functional"),
        calls.functions_of(torch.linalg, matrix, "linalg"),
        calls.functions_of(torch.special, matrix, "special"),
    ),
    "internal_functions": lambda calls: (
        calls.functions_of(_C, matrix, "_C"),
        calls.functions_of(_C, lambda: "npu", "_C"),
        calls.functions_of(types.SimpleNamespace(**_C._internal_functions), matrix, "_C"),
    ),
    "methods": lambda calls: calls.instance("Tensor", matrix),
    "operators": lambda calls: (
        calls.operators("Tensor", matrix),
        calls.operators("UntypedStorage", lambda: torch.UntypedStorage(8)),
        calls.operators("Size", lambda: torch.Size([2, 3])),
    ),
    "objects": lambda calls: everything_of(
        calls,
        {
            "UntypedStorage": lambda: torch.UntypedStorage(8),
            "Generator": torch.Generator,
            "Size": lambda: torch.Size([2, 3]),
            "dtype": lambda: torch.float32,
            "device": lambda: torch.device("cpu"),
            "layout": lambda: torch.strided,
            "memory_format": lambda: torch.channels_last,
            "pipeline": torch.pipeline,
            "function": lambda: torch.add,
            "return_type": lambda: torch.ones(2, 3).max(0),
            "iterator": lambda: iter(torch.ones(2, 3)),
            "_CachingAllocator": _C._CachingAllocator,
            "_RecordedTrace": lambda: _C._RecordedTrace([]),
        },
    ),
    "types": call_types,
    "npu_functions": lambda calls: (
        calls.functions_of(torch.npu, device_tensor, "npu"),
        calls.functions_of(torch.npu.memory, device_tensor, "npu.memory"),
        calls.functions_of(torch.cuda, matrix, "cuda"),
    ),
    "npu_objects": lambda calls: everything_of(
        calls,
        {
            "Stream": torch.npu.Stream,
            "Event": torch.npu.Event,
            "NPUGraph": torch.npu.NPUGraph,
            "_RuntimeAllocator": lambda: _C._RuntimeAllocator("npu", 0),
            "Generator": lambda: torch.Generator("npu"),
            "UntypedStorage": lambda: device_tensor().untyped_storage(),
        },
    ),
    "npu_methods": lambda calls: calls.instance("NPU tensor", device_tensor),
}


def main():
    group, log = sys.argv[1:]
    warnings.simplefilter("ignore")
    sys.stdout = open(os.devnull, "w")
    if group.startswith("npu"):
        torch.npu.simulator.enable(checks="none", print=False)
    GROUPS[group](Calls(log))
    faulthandler.cancel_dump_traceback_later()
    gc.collect()


if __name__ == "__main__":
    main()
