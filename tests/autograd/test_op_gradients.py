"""Gradients of every op case: against slopes, and against torch's."""

import numpy as np
import pytest

from tests.autograd.gradients import Gradients, cotangent, difference
from tests.ops import harness
from tests.ops.case import T, V
from tests.ops.harness import Runtime, as_tuple, map_values
from tests.ops.test_ops import CASES, name_of

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


# Where second derivatives are chosen otherwise, or torch's are missing.
OTHER_SECOND = {"elu", "selu", "celu", "softplus", "logsigmoid", "digamma", "hardsigmoid"}
FEW = 8  # of the elements of a gradient; test_gradients_are_slopes has all


def few(arrays):
    """Some elements of each gradient, and its shape and dtype."""
    if arrays is None:
        return None
    return [
        None if x is None else (str((x.dtype, x.shape)), x.reshape(-1)[:: -(-x.size // FEW) or 1])
        for x in arrays
    ]


def all_gradients(library, case):
    """Which results require grad, the first and the second derivatives, of every call."""
    runtime, found = Runtime(library), {}
    for number, sample in harness.samples_for(case, FLOAT):
        plain = number in {n for n, _ in plain_samples(case)}
        for layout in harness.layouts_for(case, sample):
            if layout not in ("contiguous", "mixed"):
                continue
            order = 2 if plain and layout == "contiguous" else 1
            arrays = harness.build_arrays(case, sample, FLOAT, layout)
            try:
                made = Gradients(runtime, case, arrays, layout, order=order)
            except Exception as error:
                found[f"sample {number}, {layout}"] = repr(error)
                continue
            second = None if case.name in OTHER_SECOND else few(made.second)
            found[f"sample {number}, {layout}"] = made.requires_grad, few(made.first), second
    return found


def unlike(ours, theirs, limits):
    """What differs between gradients that few() has taken from."""
    kinds = [
        (one[0], other[0])
        for one, other in zip(ours or (), theirs or (), strict=False)
        if one is not None and other is not None and one[0] != other[0]
    ]
    if kinds:
        return f"{kinds[0][0]} instead of {kinds[0][1]}"
    plain = ([x and x[1] for x in each] if each else each for each in (ours, theirs))
    return difference(*plain, limits)


@pytest.mark.parametrize(
    "case", [case for case in DIFFERENTIABLE if case.name not in UNLIKE_TORCH], ids=name_of
)
def test_gradients_are_those_of_torch(torch, torch_gives, case):
    """Values, which results require grad, and the first and second derivatives."""
    ours = all_gradients(torch, case)
    for call, want in torch_gives(all_gradients, case).items():
        if isinstance(want, str):
            continue  # torch refuses
        got = ours[call]
        assert not isinstance(got, str), f"{call}: {got}"
        assert got[0] == want[0], call
        problem = unlike(got[1], want[1], (1e-9, 1e-10))
        assert problem is None, f"{call}: {problem}"
        if got[2] is not None and want[2] is not None:
            problem = unlike(got[2], want[2], (1e-7, 1e-8))
            assert problem is None, f"{call}, second derivative: {problem}"
