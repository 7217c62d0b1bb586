"""Reference cycles through hooks and contexts: the garbage collector frees them."""

import gc
import weakref

import mindtorch_v2 as torch
import pytest


class Marked:
    """Something whose end can be seen."""


def hook_of_a_leaf(marked):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: (x, marked) and None)
    (x * 2).sum().backward()


def hook_after_accumulation(marked):
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: (x, marked) and None)


def hook_of_a_parameter(marked):
    module = torch.nn.Linear(2, 2)
    module.weight.register_hook(lambda grad: (module, marked) and None)
    module(torch.ones(1, 2)).sum().backward()


def hook_of_a_result(marked):
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(lambda grad: (y, marked))


def attribute_of_a_ctx(marked):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.marked = marked
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    marked.result = Double.apply(torch.ones(2, requires_grad=True))


def attribute_of_a_tensor(marked):
    marked.tensor = torch.ones(2)
    marked.tensor.marked = marked


CYCLES = [value for value in list(globals().values()) if getattr(value, "__code__", None)]


@pytest.mark.parametrize("make", CYCLES, ids=lambda make: make.__name__)
def test_cycle_is_freed(make):
    marked = Marked()
    seen = weakref.ref(marked)
    make(marked)
    del marked
    gc.collect()
    assert seen() is None


def test_a_history_in_use_survives_the_collector():
    x = torch.ones(2, requires_grad=True)
    calls = []
    x.register_hook(lambda grad: calls.append(x) or None)
    y = x * 3
    y.register_hook(lambda grad: calls.append(y) or None)
    gc.collect()
    y.sum().backward()
    assert [call.tolist() for call in calls] == [[3.0, 3.0], [1.0, 1.0]]
    assert x.grad.tolist() == [3.0, 3.0]
