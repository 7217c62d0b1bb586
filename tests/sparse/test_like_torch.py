"""Sparse tensors do what torch's do."""

import warnings

import mindtorch_v2
import pytest

from tests.sparse import expressions, gradients
from tests.support.devices import as_of_the_cpu, refusal

COMPONENTS = {
    "torch.sparse_coo": ("is_coalesced", "_indices", "_values"),
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
}


def described(library, value):
    """What can be compared between libraries: lists of numbers."""
    if isinstance(value, (list, tuple)):
        return [described(library, each) for each in value]
    if not isinstance(value, library.Tensor):
        is_named = isinstance(value, (library.dtype, library.layout, library.device))
        return str(value) if is_named else value
    layout = str(value.layout)
    about = [layout, list(value.shape), str(value.dtype), value.requires_grad]
    if layout == "torch.strided":
        value = value.detach()
        return [*about, value.tolist() if value.is_complex() else value.double().tolist()]
    parts = [getattr(value, name)() for name in COMPONENTS[layout]]
    return [*about, *(described(library, part) for part in parts)]


def outcome(library, function):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "gives", described(library, function(library))
    except Exception as error:
        # Torch goes on with what its users should do about it.
        if refusal(str(error)):
            raise
        text = as_of_the_cpu(str(error).split("\n")[0].split(" This could be")[0])
        return type(error).__name__, text


def check(torch_gives, function):
    kind, expected = torch_gives(outcome, function)
    found_kind, found = outcome(mindtorch_v2, function)
    assert (found_kind, str(found) if kind != "gives" else None) == (
        kind,
        expected if kind != "gives" else None,
    )
    assert_same(found, expected)


def assert_same(found, expected):
    if isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected), (found, expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6, nan_ok=True)
    else:
        assert (as_of_the_cpu(found) if isinstance(found, str) else found) == expected


@pytest.mark.parametrize("expression", expressions.EXPRESSIONS)
def test_expression(torch_gives, expression):
    names = {name: getattr(expressions, name) for name in ("sparse", "square", "tall")}
    check(torch_gives, lambda library: eval(expression, {**names, "torch": library}))


@pytest.mark.parametrize("name", gradients.PROGRAMS)
def test_gradient(torch_gives, name):
    check(torch_gives, gradients.PROGRAMS[name])


@pytest.mark.parametrize("text", gradients.OPTIMIZERS)
def test_optimizer(torch_gives, text):
    check(torch_gives, lambda library: gradients.steps(library, text))
