"""The Tensor as a Python object: operators, numbers, iteration, copies, subclasses, identity."""

import copy
import gc
import operator
import pickle
import weakref

import pytest

# --- operators ----------------------------------------------------------------------------------

OPERATORS = [
    (operator.add, [5, 3, -1], [7, 5, 1]),
    (operator.sub, [5, 3, -1], [3, 1, -3]),
    (operator.mul, [5, 3, -1], [10, 6, -2]),
    (operator.truediv, [5, 3, -1], [2.5, 1.5, -0.5]),
    (operator.floordiv, [5, 3, -1], [2, 1, -1]),
    (operator.mod, [5, 3, -1], [1, 1, 1]),
    (operator.pow, [5, 3, -1], [25, 9, 1]),
    (operator.and_, [5, 3, -1], [0, 2, 2]),
    (operator.or_, [5, 3, -1], [7, 3, -1]),
    (operator.xor, [5, 3, -1], [7, 1, -3]),
    (operator.lshift, [5, 3, -1], [20, 12, -4]),
    (operator.rshift, [5, 3, -1], [1, 0, -1]),
    (operator.eq, [5, 2, -1], [False, True, False]),
    (operator.ne, [5, 2, -1], [True, False, True]),
    (operator.lt, [5, 2, -1], [False, False, True]),
    (operator.le, [5, 2, -1], [False, True, True]),
    (operator.gt, [5, 2, -1], [True, False, False]),
    (operator.ge, [5, 2, -1], [True, True, False]),
]


@pytest.mark.parametrize(
    "call, data, expected", OPERATORS, ids=lambda v: getattr(v, "__name__", "")
)
def test_operators(torch, call, data, expected):
    x = torch.tensor(data)
    assert call(x, 2).tolist() == expected
    assert call(x, torch.tensor(2)).tolist() == expected
    assert call(x, torch.tensor([2, 2, 2])).tolist() == expected
    assert x.tolist() == data


@pytest.mark.parametrize(
    "call, number, data, expected",
    [
        (operator.add, 2, [1, 3], [3, 5]),
        (operator.sub, 2, [1, 3], [1, -1]),
        (operator.mul, 2, [1, 3], [2, 6]),
        (operator.truediv, 3, [1, 2], [3.0, 1.5]),
        (operator.floordiv, 7, [2, 3], [3, 2]),
        (operator.mod, 7, [2, 3], [1, 1]),
        (operator.pow, 2, [0, 1, 3], [1, 2, 8]),
        (operator.and_, 6, [2, 3], [2, 2]),
        (operator.or_, 4, [1, 2], [5, 6]),
        (operator.xor, 1, [1, 0], [0, 1]),
        (operator.lshift, 1, [2, 3], [4, 8]),
        (operator.rshift, 16, [2, 3], [4, 2]),
        (operator.lt, 2, [1, 3], [False, True]),
        (operator.ge, 2, [2, 3], [True, False]),
        (operator.eq, 2, [2, 3], [True, False]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_reflected_operators(torch, call, number, data, expected):
    assert call(number, torch.tensor(data)).tolist() == expected


def test_matmul_operator(torch):
    a, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
    assert (a @ b).tolist() == [[11]]
    c = a
    c @= torch.eye(2)
    assert c.tolist() == [[1, 2]]


def test_unary_operators(torch):
    x = torch.tensor([1, -2])
    assert (-x).tolist() == [-1, 2]
    assert (+x).tolist() == [1, -2]
    assert abs(x).tolist() == [1, 2]
    assert (~x).tolist() == [-2, 1]
    assert (~torch.tensor([True, False])).tolist() == [False, True]
    with pytest.raises(
        TypeError, match=r"~ \(operator.invert\) is only implemented on integer and"
    ):
        ~torch.tensor([1.0])


def test_unknown_operands_are_left_to_the_other_side(torch):
    class Friend:
        def __radd__(self, other):
            return "radd"

        def __rmul__(self, other):
            return "rmul"

        def __lt__(self, other):
            return "lt"

        def __eq__(self, other):
            return "eq"

        __hash__ = None

    x = torch.ones(2)
    assert x + Friend() == "radd"
    assert x * Friend() == "rmul"
    assert (x > Friend()) == "lt"
    assert (x == Friend()) == "eq"
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "a") is False


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, value, kind",
    [
        ("float32", 2.5, float),
        ("float16", 2.5, float),
        ("bfloat16", 2.5, float),
        ("float64", 0.1, float),
        ("int8", -3, int),
        ("int64", 2**62, int),
        ("uint8", 255, int),
        ("bool", True, bool),
    ],
)
def test_item(torch, name, value, kind):
    x = torch.tensor(value, dtype=getattr(torch, name))
    assert x.item() == value and type(x.item()) is kind
    assert x.view(1, 1).item() == value
    assert type(x.tolist()) is kind
    assert type(x.view(1).tolist()[0]) is kind


def test_python_conversions(torch):
    assert int(torch.tensor(2.9)) == 2 and int(torch.tensor([-2.9])) == -2
    assert float(torch.tensor(2)) == 2.0 and type(float(torch.tensor(2))) is float
    assert complex(torch.tensor(1.5)) == 1.5 + 0j
    assert bool(torch.tensor(0)) is False and bool(torch.tensor([[3.5]])) is True
    assert bool(torch.tensor(float("nan"))) is True
    assert torch.tensor(5).__index__() == 5
    assert list(range(torch.tensor(3))) == [0, 1, 2]
    assert [1, 2][torch.tensor(True)] == 2


@pytest.mark.parametrize(
    "data",
    [5, 2.5, True, [], [1, 2], [[1, 2], [3, 4]], [[]], [[[1.5]]], [[True], [False]]],
    ids=str,
)
def test_tolist(torch, data):
    assert torch.tensor(data).tolist() == data


def test_tolist_of_strided(torch):
    x = torch.arange(6).view(2, 3)
    assert x.t().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert x[:, ::2].tolist() == [[0, 2], [3, 5]]
    assert x[:1].expand(2, 3).tolist() == [[0, 1, 2]] * 2


def test_format(torch):
    assert format(torch.tensor(1.5), ".3f") == "1.500"
    assert f"{torch.tensor(3):04d}" == "0003"
    assert f"{torch.ones(2)}" == str(torch.ones(2)) == "tensor([1., 1.])"


# --- container ----------------------------------------------------------------------------------


def test_length_and_iteration(torch):
    x = torch.arange(6).view(3, 2)
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    assert all(isinstance(row, torch.Tensor) for row in x)
    assert len(torch.zeros(0, 3)) == 0 and list(torch.zeros(0, 3)) == []
    a, b, c = x
    assert c.tolist() == [4, 5]
    for row in x:
        row.zero_()
    assert x.sum().item() == 0
    assert [r.tolist() for r in reversed(torch.arange(3))] == [2, 1, 0]
    assert sum(torch.ones(3)).item() == 3
    assert max(torch.arange(3)).item() == 2
    assert [v.item() for v in sorted(torch.tensor([3, 1, 2]))] == [1, 2, 3]
    first, *rest = torch.arange(4)
    assert first.item() == 0 and len(rest) == 3


def test_contains(torch):
    x = torch.tensor([1.0, 2.0])
    assert 1.0 in x and 2 in x and 3 not in x
    assert torch.tensor(2.0) in x
    assert True in torch.tensor([True, False])


def test_hash_and_identity(torch):
    x, y = torch.ones(2), torch.ones(2)
    assert hash(x) == id(x) and x is not y
    assert {x: 1, y: 2}[x] == 1
    assert len({x, y, x}) == 2
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


# --- one identity -------------------------------------------------------------------------------


def test_the_same_tensor_is_the_same_object(torch):
    x = torch.ones(3)
    assert x.add_(1) is x
    assert x.contiguous() is x
    assert x.to("cpu") is x and x.to(torch.float32) is x and x.float() is x and x.cpu() is x
    assert x.requires_grad_(False) is x
    assert torch.as_tensor(x) is x
    assert torch.neg(x, out=x) is x
    assert x.expand(3) is not x and x.view(3) is not x and x[:] is not x
    values = torch.ones(2)
    indices = torch.zeros(2, dtype=torch.int64)
    found = torch.sort(torch.ones(2), out=(values, indices))
    assert found[0] is values and found[1] is indices


def test_free_attributes(torch):
    x = torch.ones(2)
    x.note = "hello"
    x.items = [1]
    assert x.note == "hello" and x.__dict__ == {"note": "hello", "items": [1]}
    assert x.add_(1).note == "hello"
    assert not hasattr(x + 1, "note")
    assert "note" in dir(x)
    del x.note
    assert not hasattr(x, "note")
    y = x.view(2)
    assert not hasattr(y, "items")


def test_attributes_survive_while_only_the_library_holds_the_tensor(torch):
    """An object that comes back is the one that went in, with its attributes."""
    values, indices = torch.ones(1), torch.zeros(1, dtype=torch.int64)
    values.mark = 7
    result = torch.max(torch.ones(1, 2), 1, out=(values, indices))
    del values
    gc.collect()
    assert result.values.mark == 7


def test_cycles_are_collected(torch):
    x = torch.ones(2)
    x.me = x
    x.holder = {"x": [x]}
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


def test_weak_references_and_callbacks(torch):
    log = []
    x = torch.ones(2)
    weakref.finalize(x, log.append, "gone")
    y = x + 1
    del x
    gc.collect()
    assert log == ["gone"] and y.tolist() == [2, 2]


def test_dir_names_what_there_is(torch):
    names = set(dir(torch.ones(1)))
    assert {"add", "add_", "sum", "view", "shape", "dtype", "device", "numpy", "T", "item"} <= names
    assert {"add", "Tensor", "float32", "zeros", "device", "manual_seed", "testing"} <= set(
        dir(torch)
    )
    for name in ("add", "exp", "sum", "matmul"):
        assert callable(getattr(torch, name)) and getattr(torch, name).__name__ == name


# --- copies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int8", "int16",
                                  "int32", "int64", "uint8", "bool"])  # fmt: skip
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickle(torch, name, protocol):
    x = torch.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(torch, name))
    for value in (x, x.t(), x[1], x[:, ::2], x[0, 0], x[:0]):
        y = pickle.loads(pickle.dumps(value, protocol))
        assert y.dtype == value.dtype and y.shape == value.shape
        assert y.tolist() == value.tolist()
        assert y.stride() == value.stride()


def test_pickle_keeps_attributes(torch):
    x = torch.ones(2)
    x.note = {"a": 1}
    assert pickle.loads(pickle.dumps(x)).note == {"a": 1}


def test_copy(torch):
    x = torch.arange(4.0)
    x.note = 1
    shallow = copy.copy(x)
    assert shallow is not x and shallow.data_ptr() == x.data_ptr() and shallow.note == 1
    deep = copy.deepcopy(x)
    assert deep.data_ptr() != x.data_ptr() and deep.tolist() == x.tolist() and deep.note == 1
    a, b = copy.deepcopy([x, x])
    assert a is b
    c, d = copy.deepcopy([x, x[1:]])
    assert c.untyped_storage().data_ptr() == d.untyped_storage().data_ptr()
    t = copy.deepcopy(x.view(2, 2).t())
    assert t.stride() == (1, 2)


# --- subclasses ---------------------------------------------------------------------------------


def make_parameter(torch):
    class Parameter(torch.Tensor):
        def __new__(cls, data, label=""):
            made = data.as_subclass(cls)
            made.label = label
            return made

        def double(self):
            return self * 2

        def __repr__(self):
            return f"Parameter({self.label})"

    return Parameter


def test_subclass(torch):
    Parameter = make_parameter(torch)
    p = Parameter(torch.ones(3), "weight")
    assert isinstance(p, Parameter) and isinstance(p, torch.Tensor)
    assert p.label == "weight" and repr(p) == "Parameter(weight)"
    assert p.double().tolist() == [2, 2, 2]
    assert (p + 1).tolist() == [2, 2, 2]
    assert torch.exp(p).shape == (3,)
    assert p.add_(1) is p and p.tolist() == [2, 2, 2]
    assert torch.is_tensor(p)
    p[0] = 5
    assert p.sum().item() == 9
    assert p.numpy().tolist() == [5, 2, 2]


def test_subclass_shares_memory(torch):
    Parameter = make_parameter(torch)
    data = torch.zeros(2)
    p = Parameter(data)
    p.fill_(3)
    assert data.tolist() == [3, 3]


def test_subclass_identity(torch):
    Parameter = make_parameter(torch)
    p = Parameter(torch.ones(2), "w")
    out = torch.add(p, 1, out=p)
    assert out is p and out.label == "w"
    assert [q for q in (p,) if q is p]
    seen = weakref.ref(p)
    del p, out
    gc.collect()
    assert seen() is None


def test_legacy_constructor(torch):
    assert torch.Tensor([1, 2]).tolist() == [1, 2] and torch.Tensor([1, 2]).dtype == torch.float32
    assert torch.Tensor(2, 3).shape == (2, 3)
    assert torch.Tensor().shape == (0,)
    assert type(torch.Tensor([1])).__name__ == "Tensor"


# --- properties ---------------------------------------------------------------------------------


def test_properties(torch):
    x = torch.ones(2, 3)
    assert x.is_cpu is True and x.is_cuda is False and x.is_meta is False
    assert x.device == torch.device("cpu") and x.layout == torch.strided
    assert x.requires_grad is False and x.grad is None and x.is_leaf is True and x.grad_fn is None
    assert x.itemsize == 4 and x.nbytes == 24 and x.numel() == 6
    assert x.is_floating_point() and not x.is_complex() and x.is_signed()
    assert not torch.ones(1, dtype=torch.uint8).is_signed()
    assert torch.is_tensor(x) and not torch.is_tensor(1)
    assert torch.is_floating_point(x) and torch.numel(x) == 6
    assert x.is_sparse is False
    assert x.get_device() == -1
    assert x.type() == "torch.FloatTensor"
    assert torch.ones(1).long().type() == "torch.LongTensor"
    assert x.element_size() == 4


def test_dtypes_are_objects(torch):
    assert repr(torch.float32) == str(torch.float32) == "torch.float32"
    assert torch.float is torch.float32 and torch.double is torch.float64
    assert torch.half is torch.float16 and torch.long is torch.int64 and torch.int is torch.int32
    assert torch.short is torch.int16
    assert torch.float32.itemsize == 4 and torch.bool.itemsize == 1
    assert torch.int8.is_signed and not torch.uint8.is_signed
    assert torch.bfloat16.is_floating_point and not torch.int32.is_floating_point
    assert not torch.half.is_complex
    assert isinstance(torch.float32, torch.dtype)
    assert pickle.loads(pickle.dumps(torch.float32)) is torch.float32
    assert copy.deepcopy(torch.int8) is torch.int8
    assert {torch.float32: 1}[torch.float] == 1
    assert torch.ones(1).dtype is torch.float32
    assert torch.float32 != torch.float64 and torch.float32 != "torch.float32"


def test_to(torch):
    x = torch.ones(2)
    assert x.to(torch.float64).dtype == torch.float64
    assert x.to("cpu", torch.int8).dtype == torch.int8
    assert x.to(device="cpu", dtype=torch.int8, non_blocking=True).dtype == torch.int8
    assert x.to(torch.ones(1, dtype=torch.int32)).dtype == torch.int32
    assert x.to(torch.device("cpu"), copy=True) is not x
    assert x.to("meta").device.type == "meta"
    assert x.type_as(torch.ones(1, dtype=torch.int64)).dtype == torch.int64
    with pytest.raises(RuntimeError):
        x.to("no_such_device")


def test_new_methods(torch):
    x = torch.ones(2, dtype=torch.int32)
    assert x.new_tensor([1.7, 2]).tolist() == [1, 2]
    assert x.new_zeros(2, 3).dtype == torch.int32
    assert x.new_empty((2,)).shape == (2,)
    assert x.new_full((2,), 7).tolist() == [7, 7]
    assert x.new_ones(2, dtype=torch.float64).dtype == torch.float64


def test_results_with_names(torch):
    found = torch.tensor([[1.0, 3.0, 2.0]]).max(1)
    assert found.values.tolist() == [3] and found.indices.tolist() == [1]
    values, indices = torch.sort(torch.tensor([2, 1]))
    assert values.tolist() == [1, 2] and indices.tolist() == [1, 0]
    assert isinstance(found, tuple) and len(found) == 2
    assert "values=" in repr(found) and "indices=" in repr(found)


def test_tensor_from_tensors(torch):
    assert torch.tensor([torch.tensor(1), torch.tensor(2)]).tolist() == [1, 2]
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        y = torch.tensor(torch.ones(2))
    assert y.tolist() == [1, 1]


def test_argument_names(torch):
    """torch's names, and NumPy's where torch takes them."""
    x = torch.arange(6.0).view(2, 3)
    assert torch.sum(input=x, dim=1, keepdim=True).shape == (2, 1)
    assert torch.sum(x, axis=1).tolist() == [3, 12]
    assert x.sum(axis=0).tolist() == [3, 5, 7]
    assert x.mean(dim=(0, 1)).item() == 2.5
    assert torch.add(input=x, other=1, alpha=2)[0, 0].item() == 2
    assert torch.zeros(size=(2, 3)).shape == (2, 3)
    assert torch.cat(tensors=[x, x], dim=0).shape == (4, 3)
    assert torch.full(size=(2,), fill_value=3).tolist() == [3, 3]
    assert torch.transpose(x, dim0=0, dim1=1).shape == (3, 2)
    assert x.permute(dims=(1, 0)).shape == (3, 2)
    assert torch.arange(start=1, end=4).tolist() == [1, 2, 3]
    assert torch.clamp(x, min=1, max=2).max().item() == 2


def test_equal_and_allclose(torch):
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(x, x.clone()) is True and x.equal(x) is True
    assert torch.equal(x, torch.tensor([1.0, 2.5])) is False
    assert torch.equal(x, torch.tensor([[1.0, 2.0]])) is False
    assert torch.equal(torch.zeros(0), torch.zeros(0))
    assert not torch.equal(torch.tensor([float("nan")]), torch.tensor([float("nan")]))
    assert torch.equal(x.view(1, 2).t(), torch.tensor([[1.0], [2.0]]))
    assert torch.allclose(x, x + 1e-9) is True and x.allclose(x + 1) is False
    assert torch.allclose(x, x + 0.1, atol=0.2) and torch.allclose(x, x * 1.1, rtol=0.2)
    nan = torch.tensor([float("nan")])
    assert not torch.allclose(nan, nan) and torch.allclose(nan, nan, equal_nan=True)
    inf = torch.tensor([float("inf")])
    assert torch.allclose(inf, inf) and not torch.allclose(inf, -inf)
    with pytest.raises(RuntimeError, match="Float did not match Double"):
        torch.allclose(x, x.double())
    with pytest.raises(RuntimeError, match="must match"):
        torch.allclose(x, torch.ones(3))
