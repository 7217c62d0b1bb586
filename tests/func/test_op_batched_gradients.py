"""One backward pass with a batch of gradients gives what one pass for each gives."""

import itertools
import warnings

import pytest

from tests.autograd.gradients import Gradients
from tests.autograd.test_op_gradients import DIFFERENTIABLE, NOT_IMPLEMENTED, RANDOM, plain_samples
from tests.ops import harness
from tests.ops.harness import Runtime, as_tuple, map_values
from tests.ops.test_ops import name_of

# One sample after the other.
SLOW = {"conv_tbc", "ctc_loss"}
CHECKED = [case for case in DIFFERENTIABLE if case.name not in NOT_IMPLEMENTED | RANDOM]


def graph(torch, runtime, case, arrays):
    """(the results of a call, the tensors that they depend on)"""
    args, kwargs = runtime.arguments(*arrays)
    inputs = []

    def leaf(tensor):
        if not tensor.is_floating_point():
            return tensor
        inputs.append(tensor.detach().requires_grad_())
        return inputs[-1] * 1 if case.name.endswith("_") else inputs[-1]

    args = map_values(torch.Tensor, leaf, args)
    kwargs = map_values(torch.Tensor, leaf, kwargs)
    results = [r for r in as_tuple(runtime.call(case, args, kwargs)) if runtime.is_tensor(r)]
    return [r for r in results if r.requires_grad], inputs


@pytest.mark.parametrize("create_graph", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("case", CHECKED, ids=name_of)
def test_batched_gradients(torch, case, create_graph):
    runtime = Runtime(torch)
    for number, sample in itertools.islice(plain_samples(case), 3):
        arrays = harness.build_arrays(case, sample, "float64")
        results, inputs = graph(torch, runtime, case, arrays)
        if not results or not inputs:
            continue
        rows = [
            [Gradients.weight(runtime, r, 10 * row + i) for i, r in enumerate(results)]
            for row in range(2)
        ]
        options = {"retain_graph": True, "create_graph": create_graph, "allow_unused": True}
        one_by_one = [torch.autograd.grad(results, inputs, row, **options) for row in rows]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            at_once = torch.autograd.grad(
                results,
                inputs,
                [torch.stack(column) for column in zip(*rows, strict=True)],
                is_grads_batched=True,
                **options,
            )
        slow = [str(w.message) for w in said if "performance drop" in str(w.message)]
        assert not slow or case.name in SLOW or case.family == "recurrent", (number, slow[0])
        for got, *wanted in zip(at_once, *one_by_one, strict=True):
            assert (got is None) == (wanted[0] is None)
            if got is not None:
                torch.testing.assert_close(
                    got, torch.stack(wanted), rtol=1e-9, atol=1e-10, equal_nan=True, msg=str(number)
                )
