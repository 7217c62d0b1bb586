"""Gradients of every op case: against slopes, and against torch where it is installed."""

import numpy as np
import pytest

from tests.autograd.gradients import Gradients, cotangent, difference
from tests.ops import harness
from tests.ops.case import T, V
from tests.ops.harness import Runtime, as_tuple, map_values
from tests.ops.test_ops import CASES, TORCH_INSTALLED, name_of

FLOAT = "float64"
# Ops without a derivative, here as in torch: gradients of their results raise.
NOT_IMPLEMENTED = {
    "heaviside", "unique", "unique_consecutive", "histc", "bincount", "igamma", "igammac",
    "special_zeta",
}  # fmt: skip
# Random numbers have no gradient, neither by what they replace nor by their mean and deviation.
RANDOM = {"bernoulli_", "exponential_", "normal"}
# Torch's have numbers in the triangle that is not read; ours are slopes there, too: zeros.
UNLIKE_TORCH = {"cholesky_inverse", "cholesky_solve"}
DIFFERENTIABLE = [
    case for case in CASES if FLOAT in case.dtypes and not case.creation and case.name != "to"
]


def plain_samples(case):
    """Samples of random numbers: chosen ones, and multiples of a step, often have no slope."""
    for number, sample in harness.samples_for(case, FLOAT):
        specs = []
        map_values((T, V), specs.append, (sample.args, sample.kwargs))
        specs = [spec for spec in specs if not spec.dtype]
        if not any(isinstance(spec, V) or spec.grid for spec in specs):
            yield number, sample


def float_arrays(arrays):
    found = []
    map_values(harness.Array, found.append, arrays)
    return [array for array in found if array.dtype == FLOAT]


def loss(torch, runtime, case, args, kwargs):
    results = [r for r in as_tuple(runtime.call(case, args, kwargs)) if runtime.is_tensor(r)]
    results = [r for r in results if r.is_floating_point() or r.is_complex()]
    return sum(
        float((runtime.to_array(r).real * cotangent(tuple(r.shape), i)).sum())
        for i, r in enumerate(results)
    )


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=name_of)
def test_gradients_are_slopes(torch, case):
    runtime = Runtime(torch)
    checked = 0
    for number, sample in plain_samples(case):
        arrays = harness.build_arrays(case, sample, FLOAT)
        floats = float_arrays(arrays)
        if not floats or sum(a.values.size for a in floats) > 40 or checked == 3:
            continue
        if case.name in NOT_IMPLEMENTED:
            with pytest.raises(NotImplementedError, match="derivative for"):
                Gradients(runtime, case, arrays, "contiguous")
            return
        found = Gradients(runtime, case, arrays, "contiguous")
        if found.first is None:
            assert not any(found.requires_grad)
            continue
        checked += 1
        if case.name in RANDOM:
            assert not any(np.any(got) for got in found.first if got is not None)
            continue
        for array, got in zip(floats, found.first, strict=True):
            slopes = np.zeros(array.values.shape)
            for place in np.ndindex(array.values.shape):
                before = array.values[place]
                step = 1e-6 * max(1.0, abs(before))
                around = []
                for shift in (step, -step):
                    array.values[place] = before + shift
                    around.append(loss(torch, runtime, case, *runtime.arguments(*arrays)))
                array.values[place] = before
                slopes[place] = (around[0] - around[1]) / (2 * step)
            if got is None:
                got = np.zeros(array.values.shape)
            close = np.isclose(got, slopes, rtol=1e-5, atol=1e-6, equal_nan=True)
            assert close.all(), (
                f"sample {number}: {got[~close][:3]} but slopes {slopes[~close][:3]}"
            )


if TORCH_INSTALLED:
    import torch as reference

    # Where second derivatives are chosen otherwise, or torch's are missing.
    OTHER_SECOND = {"elu", "selu", "celu", "softplus", "logsigmoid", "digamma", "hardsigmoid"}

    def outcome(runtime, case, arrays, layout, order):
        try:
            return Gradients(runtime, case, arrays, layout, order=order)
        except Exception as error:
            return error

    @pytest.mark.parametrize(
        "case", [case for case in DIFFERENTIABLE if case.name not in UNLIKE_TORCH], ids=name_of
    )
    def test_gradients_are_those_of_torch(torch, case):
        """Values, which results require grad, and the first and second derivatives."""
        ours, theirs = Runtime(torch), Runtime(reference)
        for number, sample in harness.samples_for(case, FLOAT):
            plain = number in {n for n, _ in plain_samples(case)}
            for layout in harness.layouts_for(case, sample):
                if layout not in ("contiguous", "mixed"):
                    continue
                order = 2 if plain and layout == "contiguous" else 1
                arrays = harness.build_arrays(case, sample, FLOAT, layout)
                want = outcome(theirs, case, arrays, layout, order)
                if isinstance(want, Exception):
                    continue
                got = outcome(ours, case, arrays, layout, order)
                where = f"sample {number}, {layout}"
                assert not isinstance(got, Exception), f"{where}: {got!r}"
                assert got.requires_grad == want.requires_grad, where
                assert difference(got.first, want.first) is None, (
                    f"{where}: {difference(got.first, want.first)}"
                )
                if got.second is None or want.second is None or case.name in OTHER_SECOND:
                    continue
                problem = difference(got.second, want.second, (1e-7, 1e-8))
                assert problem is None, f"{where}, second derivative: {problem}"
