"""What torch refuses is refused, and what it takes is taken."""

import importlib
import pickle
import warnings

import pytest

from tests.conftest import TORCH_INSTALLED

NAMES = ["torch", "mindtorch"] if TORCH_INSTALLED else ["mindtorch"]


@pytest.fixture(params=NAMES)
def t(request):
    """The package under test, and torch beside it, which must agree with what is written here."""
    return importlib.import_module("torch" if request.param == "torch" else "mindtorch_v2")


# (call, exception): taken before, though torch refuses.
REFUSED = [
    ("t.special.round(t.ones(2, dtype=t.int64))", NotImplementedError),
    ("t.round(t.ones(2, dtype=t.int64), decimals=0)", NotImplementedError),
    ("t.ones(2).round(decimals=None)", TypeError),
    ("t.logsumexp(t.ones(2, 3), [])", RuntimeError),
    ("t.linalg.norm(t.ones(2, 3), dim=[])", RuntimeError),
    ("t.norm(t.ones(2).double(), dtype=t.float32)", RuntimeError),
    ("t.linalg.vector_norm(t.ones(2).half(), dtype=t.bfloat16)", RuntimeError),
    ("t.cross(t.ones(3), t.ones(3).double(), dim=0)", RuntimeError),
    ("t.linalg.vecdot(t.ones(3).int(), t.ones(3).int())", RuntimeError),
    ("t.linalg.vecdot(t.ones(3), t.ones(3).double())", RuntimeError),
    ("t.linalg.vecdot(t.ones(3), t.ones(1))", RuntimeError),
    ("t.nonzero(t.ones(2), as_tuple=1)", TypeError),
    ("t.ones(2).sum_to_size()", TypeError),
    ("t.ones(2).resize_()", TypeError),
    ("t.ones(2).resize_(1, size=(1,))", TypeError),
    ("t.eye(2**31, out=t.zeros(2, 2))", RuntimeError),
    ("t.randint(6, (2**62,), out=t.zeros(2, dtype=t.int64))", RuntimeError),
    ("t.abs(t.ones(2), out=t.ones(2).double())", RuntimeError),
    ("t.round(t.ones(2), out=t.ones(2).half())", RuntimeError),
    ("t.clamp(t.ones(2), 0, out=t.ones(2).double())", RuntimeError),
    ("t.sum(t.ones(2), 0, dtype=t.float32, out=t.ones(()).double())", RuntimeError),
    ("t.cumsum(t.ones(2), 0, dtype=t.float32, out=t.ones(2).double())", RuntimeError),
    ("t.matmul(t.ones(2), t.ones(2), out=t.ones(()).double())", RuntimeError),
    ("t.signbit(t.ones(2), out=t.ones(2))", RuntimeError),
    ("t.nan_to_num(t.ones(2), out=t.ones(2).double())", RuntimeError),
    ("t.float_power(t.ones(2), 2, out=t.ones(2))", RuntimeError),
    ("t.ones(2).float_power_(2)", RuntimeError),
    ("t.mean(t.ones(2, dtype=t.int64), out=t.ones(()))", RuntimeError),
    ("t.median(t.ones(2, dtype=t.bool))", NotImplementedError),
    ("t.nanmedian(t.ones(2, dtype=t.bool), 0)", NotImplementedError),
    ("t.cumprod(t.ones(2), 0, dtype=t.bool)", NotImplementedError),
    ("t.ones(2).masked_select(t.ones(2, dtype=t.uint8))", RuntimeError),
    ("t.abs(t.ones(0, dtype=t.bool))", NotImplementedError),
    ("t.ones(0, 2).bitwise_and(t.ones(2))", NotImplementedError),
    ("t.gcd(t.ones(0), t.ones(0))", NotImplementedError),
    ("t.ones(0).scatter_(0, t.zeros(0, dtype=t.int64), t.ones(0).double())", RuntimeError),
    ("t.ones(2).sum(keepdim=True)", TypeError),
    ("t.ones(2).mean(keepdim=True)", TypeError),
    ("t.sum(t.ones(2), out=t.ones(()))", TypeError),
    ("t.prod(t.ones(2), None)", TypeError),
    ("t.block_diag([t.ones(2)])", TypeError),
    ("t.cartesian_prod([t.ones(2)])", TypeError),
    ("t.broadcast_tensors([t.ones(2), t.ones(2)])", TypeError),
    ("t.ones(3).__setitem__(slice(None), [1, 2, 3])", TypeError),
    ("t.eq(1, 2)", TypeError),
    ("t.remainder(1, 2)", TypeError),
    ("t.fmod(1, t.ones(2))", TypeError),
    ("t.clamp(t.ones(2), 0, t.ones(2))", TypeError),
    ("t.zeros(size=3)", TypeError),
    ("t.ones(2).flip(dims=0)", TypeError),
    ("t.ones(2, 2).movedim(0, [1])", TypeError),
    ("t.exp(self=t.ones(2))", TypeError),
    ("t.ones(2).exp(out=None)", TypeError),
    ("t.as_tensor(1, t.int32)", TypeError),
    ("t.trace(t.ones(2, 2), out=t.ones(()))", TypeError),
    ("t.ones(3, dtype=t.int32).cumsum_(0, dtype=t.int64)", RuntimeError),
    ("t.ones(2, 2).index_copy_(0, t.tensor([0], dtype=t.int32), t.ones(1, 2))", RuntimeError),
    ("t.ones(2).index_fill_(0, t.tensor([0], dtype=t.int32), 1)", IndexError),
    ("t.addcdiv(t.ones(2), t.ones(2).int(), t.ones(2).int())", RuntimeError),
    ("+t.tensor(True)", RuntimeError),
    ("(lambda x: x.copy_(x.t()))(t.ones(2, 2))", RuntimeError),
]


@pytest.mark.parametrize(("code", "error"), REFUSED, ids=[row[0] for row in REFUSED])
@pytest.mark.parametrize("way", ["eager", "pipeline"])
def test_refused(t, code, error, way):
    if way == "eager":
        with pytest.raises(error) as caught:
            eval(code, {"t": t})
    elif not hasattr(t, "pipeline"):
        return
    else:
        with t.pipeline(), pytest.raises(error) as caught:
            eval(code, {"t": t})
    assert caught.type is error


# (call, what comes of it as a list or number): refused before, though torch takes it.
TAKEN = [
    ("t.round(t.tensor([1, 2]))", [1, 2]),
    ("t.softmax(t.ones(0, dtype=t.int64), -1)", []),
    ("t.scatter_reduce(t.ones(2), 0, t.tensor([0, 1]), t.tensor([3.0, 0.0]), 'max')", [3.0, 1.0]),
    ("t.tensor([1.5]).type_as(other=t.tensor([1]))", [1]),
    ("t.ones(2, 3).sum_to_size(size=[1, 3])", [[2.0, 2.0, 2.0]]),
    ("t.arange(4).resize_(size=(2,))", [0, 1]),
    ("t.tensor(t.ones(1).is_set_to(tensor=t.ones(1)))", False),
    ("t.add(t.tensor([1, 2]), 2, 1)", [3, 4]),
    ("t.add(t.tensor([1, 2]), 3, t.tensor([1, 1]))", [4, 5]),
    ("t.tensor([1, 2]).add(3, t.tensor([1, 1]))", [4, 5]),
    ("t.tensor([1, 2]).sub_(3, t.tensor([1, 1]))", [-2, -1]),
    ("t.addcmul(t.tensor([1, 2]), 2, t.tensor([1, 1]), t.tensor([3, 4]))", [7, 10]),
    ("t.addmm(2, t.ones(1), 3, t.ones(1, 1), t.ones(1, 1))", [[5.0]]),
    ("t.addmm(2, t.ones(1), t.ones(1, 1), t.ones(1, 1))", [[3.0]]),
    ("t.ones(1).addmv(2, 3, t.ones(1, 1), t.ones(1))", [5.0]),
    ("t.ones(2).contiguous(memory_format=t.preserve_format)", [1.0, 1.0]),
    ("t.median(t.ones(0, dtype=t.int64))", -(2**63)),
    ("t.median(t.ones(0, dtype=t.int32))", -(2**31)),
    ("t.nanmedian(t.ones(0, dtype=t.int8))", 0),
    ("t.tensor(True).cumsum_(0)", True),
    ("t.tensor([200, 100], dtype=t.uint8).cumsum_(0)", [200, 44]),
    ("t.bmm(t.ones(1, 1, 0), t.ones(1, 0, 2).double())", [[[0.0, 0.0]]]),
    ("t.bmm(t.ones(1, 1, 0, dtype=t.bool), t.ones(1, 0, 2, dtype=t.bool))", [[[False, False]]]),
    ("t.mm(t.ones(1, 0, dtype=t.bool), t.ones(0, 1, dtype=t.bool))", [[False]]),
    ("t.baddbmm(t.ones(1, 1, 1), t.ones(1, 1, 0), t.ones(1, 0, 1).double())", [[[1.0]]]),
    ("t.arange(3)[[1.5]]", [1]),
    ("t.arange(4).reshape(2, 2)[[0.5], [1.5]]", [1]),
    ("t.msort(t.tensor([2, 1]), out=t.zeros(2, dtype=t.int64))", [1, 2]),
    ("t.nn.functional.linear(t.ones(1, 2), t.ones(1, 2), out=t.ones(1, 1))", [[2.0]]),
    ("t.nan_to_num(t.tensor([float('nan')]), True)", [1.0]),
    ("t.ones(4).swapaxes(axis0=0, axis1=0)", [1.0] * 4),
    ("t.ones(3).split_with_sizes(split_sizes=[1, 2])[0]", [1.0]),
    ("t.zeros(2).copy_(other=t.ones(2))", [1.0, 1.0]),
    ("t.ones(2, out=t.zeros(1).expand(2))", [1.0, 1.0]),
    ("t.zeros(1).expand(2).masked_fill_(t.tensor(True), 2)", [2.0, 2.0]),
    ("t.sin(t.zeros(2, 2), out=t.ones(3).as_strided((2, 2), (1, 1)))", [[0.0, 0.0]] * 2),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("code", "value"), TAKEN, ids=[row[0] for row in TAKEN])
def test_taken(t, code, value):
    assert eval(code, {"t": t}).tolist() == value


def test_bmm_of_nothing_has_the_second_dtype(t):
    assert t.bmm(t.ones(1, 1, 0), t.ones(1, 0, 2).double()).dtype == t.float64


# Errors of shape come before errors of dtype.
ORDER = [
    ("t.ones(2) & t.ones(3)", RuntimeError, "The size of tensor a"),
    ("t.ones(2, dtype=t.bool).pow(t.ones(3, dtype=t.bool))", RuntimeError, "The size of tensor a"),
    ("t.ones(2).int().add(t.ones(3).int(), alpha=1.5)", RuntimeError, "The size of tensor a"),
    ("t.ones(1, dtype=t.bool).add_(t.ones(3))", RuntimeError, "output with shape [1] doesn't"),
    ("t.ones(2, dtype=t.int64).lerp(t.ones(3, dtype=t.int64), 2)", RuntimeError, "The size of"),
    ("t.ones(1).expand(2).int().expand(2).lcm_(t.ones(3).int())", RuntimeError, "The size of"),
    ("t.ones(2).scatter_(0, t.zeros(1, 1).long(), 1, reduce='x')", RuntimeError, "Index tensor"),
    ("t.histc(t.ones(2).int(), 0)", RuntimeError, "torch.histogram(): bins must be > 0"),
]


@pytest.mark.parametrize(("code", "error", "text"), ORDER, ids=[row[0] for row in ORDER])
def test_order(t, code, error, text):
    with pytest.raises(error) as caught:
        eval(code, {"t": t})
    assert caught.type is error and str(caught.value).startswith(text)


# The meta device computes nothing, so no dtype is too much for it; shapes are checked.
META = [
    "t.bitwise_and(t.ones(2, device='meta'), t.ones(2, device='meta'))",
    "t.abs(t.ones(2, dtype=t.bool, device='meta'))",
    "t.nn.functional.gelu(t.ones(2, dtype=t.int64, device='meta'))",
    "t.cumprod(t.ones(2, device='meta'), 0, dtype=t.bool)",
    "t.median(t.ones(2, dtype=t.bool, device='meta'))",
]


@pytest.mark.parametrize("code", META)
def test_meta_takes_any_dtype(t, code):
    assert eval(code, {"t": t}).device.type == "meta"


def test_meta_checks_shapes(t):
    with pytest.raises(RuntimeError):
        t.bitwise_and(t.ones(2, device="meta"), t.ones(3, device="meta"))


def test_deprecated_order_warns_once(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            torch.addbmm(1, torch.ones(1), 1, torch.ones(1, 1, 1), torch.ones(1, 1, 1))
    assert len(caught) <= 1
    for warning in caught:
        assert str(warning.message).startswith("This overload of addbmm is deprecated:")


def test_pickled_results(torch):
    result = torch.max(torch.tensor([[1, 5], [7, 2]]), 1)
    copy = pickle.loads(pickle.dumps(result))
    assert type(copy) is type(result)
    assert copy.values.tolist() == [5, 7] and copy.indices.tolist() == [1, 0]
    assert repr(copy).startswith("torch.return_types.max(")
