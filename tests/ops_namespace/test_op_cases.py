"""The calls of the op cases, made by torch.ops.aten: what torch.ops.aten takes gives the same as
the function, and where torch is installed it is what torch's takes.
"""

import itertools
import warnings

import mindtorch_v2
import pytest

from tests.ops.cases import FAMILIES, one_call_each
from tests.ops.harness import Runtime, as_tuple, build_arrays, samples_for

SAMPLES = 2  # of each case; the op cases run the functions with all
SUBMODULES = ("linalg", "fft", "special")  # whose functions are linalg_norm, fft_fft, …


def operator_name(case):
    module, _, name = (case.function_path or case.method_name).rpartition(".")
    return f"{module}_{name}" if module in SUBMODULES else name


def calls(module, family):
    """(case, its sample's number, arguments) of the first samples, in float32 if there is one."""
    runtime = Runtime(module)
    for case in one_call_each(family):
        dtype = "float32" if "float32" in case.dtypes else case.dtypes[0]
        for number, sample in itertools.islice(samples_for(case, dtype), SAMPLES):
            yield case, number, runtime.arguments(*build_arrays(case, sample, dtype))


def outcome(function, args, kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return flat(function(*args, **kwargs))
        except RuntimeError:
            return None


def flat(result):
    if isinstance(result, (list, tuple)):
        return [entry for part in result for entry in flat(part)]
    return list(as_tuple(result))


def described(results):
    """Dtypes and shapes of tensors; other results as they are."""
    return results and [
        (str(r.dtype).rpartition(".")[2], tuple(r.shape)) if hasattr(r, "dtype") else r
        for r in results
    ]


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "random"])
def test_same_as_the_function(family):
    torch = mindtorch_v2
    runtime = Runtime(torch)
    for case, number, (args, kwargs) in calls(torch, family):
        packet = getattr(torch.ops.aten, operator_name(case), None)
        found = packet and outcome(packet, args, kwargs)
        if not found or case.creation:
            continue  # torch's schema has no such form
        expected = outcome(lambda *a, **k: runtime.call(case, a, k), args, kwargs)  # noqa: B023
        if described(found) != described(expected):
            continue  # a form that means something else to the operator, or has more results
        for ours, theirs in zip(found, expected, strict=True):
            if hasattr(ours, "dtype") and not case.name.startswith("empty"):
                assert torch.equal(ours.nan_to_num(), theirs.nan_to_num()), (case.label, number)


def taken(torch, family):
    """What each call gives, by its case and sample; None where it is refused."""
    found = {}
    for case, number, arguments in calls(torch, family):
        operator = getattr(torch.ops.aten, operator_name(case), None)
        if operator is not None:
            found[f"{case.label} {number}"] = described(outcome(operator, *arguments))
    return found


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "random"])
def test_takes_what_torchs_takes(torch_gives, family):
    ours = taken(mindtorch_v2, family)
    for call, expected in torch_gives(taken, family).items():
        assert ours[call] == expected, call
