"""Tensor(...), torch.FloatTensor and its kin, Parameter, and the name of a tensor's type."""

import copy
import pickle
import warnings

import pytest

CLASSES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes(torch, name):
    cls = getattr(torch, name)
    dtype = getattr(torch, CLASSES[name])
    assert cls.dtype == dtype and cls is getattr(torch, name)
    x = cls([1, 0])
    assert x.dtype == dtype and x.tolist() == [1, 0] and type(x) is torch.Tensor
    assert isinstance(x, cls) and isinstance(torch.zeros(2, dtype=dtype), cls)
    other = torch.float64 if dtype != torch.float64 else torch.int8
    assert not isinstance(torch.zeros(2, dtype=other), cls) and not isinstance(1, cls)
    assert cls(2, 3).shape == (2, 3) and cls().shape == (0,)
    assert x.type() == f"torch.{name}"
    assert torch.zeros(1).type(cls).dtype == dtype
    assert torch.zeros(1).type(f"torch.{name}").dtype == dtype


def test_type(torch):
    x = torch.ones(2)
    assert x.type(torch.int64).dtype == torch.int64
    assert x.type(int).dtype == torch.int64 and x.type(bool).dtype == torch.bool
    assert x.type("torch.FloatTensor") is x
    for bad in ("torch.FooTensor", "FloatTensor", "torch.foo.FloatTensor"):
        with pytest.raises(ValueError, match="invalid type"):
            x.type(bad)
    with pytest.raises(RuntimeError):
        x.type("torch.npu.FloatTensor")


def test_constructor(torch):
    x = torch.arange(3.0)
    alias = torch.Tensor(x)
    assert alias is not x and alias.data_ptr() == x.data_ptr()
    assert torch.Tensor(torch.Size([2, 3])).shape == (2, 3)
    assert torch.Tensor((2, 3)).tolist() == [2, 3]
    assert torch.Tensor(x.untyped_storage()).tolist() == [0, 1, 2]
    assert torch.Tensor(2, device="meta").is_meta
    for bad in (lambda: torch.Tensor(2.5), lambda: torch.Tensor(None), lambda: torch.Tensor("a")):
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(TypeError, match="expected Float .got Long."):
        torch.FloatTensor(torch.arange(2))
    assert x.new(2, 2).shape == (2, 2) and x.new([1]).dtype == torch.float32


def test_subclass_constructor(torch):
    class Named(torch.Tensor):
        pass

    x = Named([1, 2])
    assert type(x) is Named and x.tolist() == [1, 2]
    assert type(Named(2, 3)) is Named and type(Named(torch.ones(2))) is Named
    made = torch.Tensor._make_subclass(Named, torch.ones(2))
    assert type(made) is Named and made.tolist() == [1, 1]
    assert type(torch.ones(2).as_subclass(Named)) is Named
    for bad in (int, 5, None):
        with pytest.raises(TypeError):
            torch.ones(2).as_subclass(bad)
    with pytest.raises(TypeError):
        torch.Tensor._make_subclass(Named, [1])


def test_subclass_with_slots(torch):
    class Slotted(torch.Tensor):
        __slots__ = ("tag",)

    x = torch.ones(2).as_subclass(Slotted)
    x.tag = ["a"]
    assert x.add_(1).tag == ["a"]
    del x


def test_parameter(torch):
    data = torch.ones(2)
    p = torch.nn.Parameter(data)
    assert isinstance(p, torch.Tensor) and type(p + 1) is torch.Tensor
    assert p.requires_grad is True and torch.nn.Parameter(data, False).requires_grad is False
    assert p.data_ptr() == data.data_ptr()
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    p.requires_grad = False
    assert repr(p) == "Parameter containing:\ntensor([1., 1.])"
    assert p.requires_grad_() is p and p.requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        torch.nn.Parameter(torch.arange(2))
    assert torch.nn.Parameter(torch.arange(2), requires_grad=False).tolist() == [0, 1]
    with pytest.raises(TypeError):
        torch.nn.Parameter([1.0])
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(other) is torch.nn.Parameter and other.requires_grad
        assert other.tolist() == [1, 1] and other.data_ptr() != p.data_ptr()


def test_buffer_and_uninitialized(torch):
    buffer = torch.nn.Buffer(torch.ones(1), persistent=False)
    assert buffer.persistent is False and isinstance(buffer, torch.Tensor)
    late = torch.nn.UninitializedParameter()
    late.materialize((2, 3))
    assert type(late) is torch.nn.Parameter and late.shape == (2, 3)


def test_ways_to_require_gradients(torch):
    x = torch.ones(2)
    made = [
        torch.ones(2).requires_grad_(),
        torch.ones(2, requires_grad=True),
        torch.tensor([1.0], requires_grad=True),
        torch.Tensor._make_subclass(torch.Tensor, x, True),
        x.new_tensor([1.0], requires_grad=True),
    ]
    assert all(t.requires_grad and t.is_leaf and t.grad is None for t in made)
    assert not x.requires_grad
    x.requires_grad = True
    x.requires_grad = False
    assert not x.requires_grad


def test_old_pickles(torch):
    x = torch.zeros(0)
    x.__setstate__((torch.arange(3.0).storage(), 0, (3,), (1,)))
    assert x.tolist() == [0, 1, 2]


def test_apply_and_map(torch):
    x = torch.arange(4.0).view(2, 2)
    assert x.t().apply_(lambda v: v + 1).tolist() == [[1, 3], [2, 4]]
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x.map_(torch.ones(2, 2), lambda a, b: a - b).tolist() == [[0, 1], [2, 3]]


def test_pinning_needs_an_accelerator(torch):
    x = torch.ones(2)
    assert x.is_pinned() is False and x.is_shared() is False
    with pytest.raises(RuntimeError):
        x.pin_memory()
    with pytest.raises(RuntimeError):
        torch.ones(2, pin_memory=True)


def test_nothing_warns_by_itself(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.ones(2).storage().tolist()
        torch.ones(2).type(torch.int64)
