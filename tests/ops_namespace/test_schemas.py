"""The operators of torch.ops.aten: names, schemas, tags, and what a call may give them. Every test
that takes `torch` runs against torch, too.
"""

import copy
import importlib
import pickle

import mindtorch_v2
import pytest

from tests.conftest import TORCH_INSTALLED

LIBRARIES = ["mindtorch_v2", *(["torch"] if TORCH_INSTALLED else [])]


@pytest.fixture(params=LIBRARIES)
def torch(request):
    return importlib.import_module(request.param)


@pytest.fixture
def aten(torch):
    return torch.ops.aten


def all_overloads():
    aten = mindtorch_v2.ops.aten
    for name in dir(aten):
        packet = getattr(aten, name)
        if hasattr(packet, "overloads"):
            yield from (getattr(packet, each) for each in packet.overloads())


def test_there_are_many():
    assert sum(1 for _ in all_overloads()) > 1900  # each found the function behind it


def test_schemas_are_written_as_they_are_read():
    from mindtorch_v2._library.aten import _table

    lines = [line.partition(" # ")[0] for lines in _table().values() for line in lines]
    by_name = {overload.name(): str(overload._schema) for overload in all_overloads()}
    for line in lines:
        assert by_name["aten::" + line.partition("(")[0]] == "aten::" + line


def schemas_and_tags(torch, names):
    found = {}
    for name in names:
        operator, _, overload = name.removeprefix("aten::").partition(".")
        theirs = getattr(getattr(torch.ops.aten, operator), overload or "default")
        found[name] = [str(theirs._schema), sorted(tag.name for tag in theirs.tags)]
    return found


def test_schemas_and_tags_are_torchs(torch_gives):
    ours = {overload.name(): overload for overload in all_overloads()}
    theirs = torch_gives(schemas_and_tags, list(ours))
    assert set(ours) == set(theirs)
    for name, (schema, tags) in theirs.items():
        assert str(ours[name]._schema) == schema
        if tags:
            assert sorted(tag.name for tag in ours[name].tags) == tags


def test_names(aten):
    op = aten.add.Tensor
    assert (op.name(), op._opname, op._overloadname) == ("aten::add.Tensor", "add", "Tensor")
    assert (op.namespace, op.__name__, str(op)) == ("aten", "add.Tensor", "aten.add.Tensor")
    assert op.overloadpacket is aten.add and op._overloadpacket is aten.add
    assert repr(op) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert aten.relu.default.name() == "aten::relu"
    assert aten.add.overloads()[:3] == ["Tensor", "Scalar", "out"]
    assert aten.view.default.is_view and not aten.add_.Tensor.is_view


def test_schema(torch, aten):
    schema = aten.add_.Tensor._schema
    assert (schema.name, schema.overload_name) == ("aten::add_", "Tensor")
    target, other, alpha = schema.arguments
    assert [a.name for a in schema.arguments] == ["self", "other", "alpha"]
    assert (str(target.type), str(alpha.type)) == ("Tensor", "number")
    assert target.alias_info.is_write and target.alias_info.before_set == {"a"}
    assert other.alias_info is None and not other.kwarg_only and alpha.kwarg_only
    assert (alpha.default_value, alpha.has_default_value()) == (1, True)
    assert other.default_value is None and not other.has_default_value()
    assert schema.is_mutable and schema.returns[0].alias_info.is_write
    assert aten.topk.default._schema.returns[0].name == "values"
    assert not aten.topk.default._schema.is_mutable
    assert aten.add.out._schema.arguments[-1].is_out
    assert aten.max_pool2d.default._schema.arguments[1].N == 2
    types = [str(a.type) for a in aten.index_put.default._schema.arguments]
    assert types == ["Tensor", "List[Optional[Tensor]]", "Tensor", "bool"]
    types = [a.type.kind() for a in aten.sum.dim_IntList._schema.arguments]
    assert types == ["TensorType", "OptionalType", "BoolType", "OptionalType"]
    assert torch.Tag.pointwise in aten.sin.default.tags


def test_defaults_and_names_of_arguments(torch, aten):
    x = torch.tensor([[3.0, 1.0], [2.0, 4.0]])
    assert aten.sum.dim_IntList(self=x, dim=[0]).tolist() == [5.0, 5.0]
    assert aten.sum.dim_IntList(x, 1, keepdim=True).tolist() == [[4.0], [6.0]]
    assert aten.add.Scalar(x, 1, 2).tolist() == [[5.0, 3.0], [4.0, 6.0]]
    assert aten.kl_div(x, x).dim() == 0 and aten.mse_loss(x, x, 0).shape == (2, 2)
    assert aten.add.Tensor(x, 2).tolist() == aten.add(x, 2).tolist()
    assert aten.split.Tensor(x, 1)[1].tolist() == [[2.0, 4.0]]
    assert type(aten.split.Tensor(x, 1)) is list and type(aten.max.dim(x, 0)) is tuple
    assert aten.sym_size.default(x) == [2, 2] and aten.size.int(x, 0) == 2
    assert aten.view(x, [4]).tolist() == [3.0, 1.0, 2.0, 4.0]
    assert aten.einsum("ij->i", [x]).tolist() == [4.0, 6.0]
    assert aten.clamp(x, None, 2).tolist() == [[2.0, 1.0], [2.0, 2.0]]
    out = torch.empty(0)
    assert aten._softmax.out(x, 1, False, out=out) is out and out.shape == (2, 2)
    y = x.clone()
    assert aten.add_.Tensor(y, x) is y and y[0, 0] == 6


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("aten.relu.default()", "aten::relu() is missing value for argument 'self'. Declaration:"),
        ("aten.relu.default(x, x)", "aten::relu() expected at most 1 argument(s) but received 2"),
        ("aten.relu.default(x, foo=1)", "expected at most 1 argument(s) but received 2"),
        ("aten.gelu.default(x, 'tanh')", "takes 1 positional argument(s) but 2 was/were given."),
        ("aten.add.Tensor(x, x, foo=1)", "Unknown keyword argument 'foo' for operator 'aten::add'"),
        ("aten.mul.Tensor(x, 'a')", "Expected a value of type 'Tensor' for argument 'other'"),
        ("aten.add.Scalar(x, x)", "Expected a value of type 'number' for argument 'other'"),
        ("aten.select.int(x, 1.0, 0)", "Expected a value of type 'int' for argument 'dim'"),
        ("aten.permute(x, 1)", "Expected a value of type 'List[int]' for argument 'dims'"),
        ("aten.cat.default(x)", "Expected a value of type 'List[Tensor]' for argument 'tensors'"),
        ("aten.sum.dim_IntList(x, 1, dtype='f')", "for argument 'dtype' but instead found type"),
        ("aten.mul(x, 'a')", "Overloaded torch operator invoked from Python failed to match any"),
        ("aten.bmm(x, x)", "batch1 must be a 3D tensor"),
    ],
)
def test_mistakes(torch, aten, expression, text):
    with pytest.raises(RuntimeError) as raised:
        eval(expression, {"aten": aten, "x": torch.ones(2, 3)})
    assert text in str(raised.value)


def test_unknown_names(aten):
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute"):
        aten.no_such_operator  # noqa: B018
    with pytest.raises(AttributeError, match="'aten.add' has no overload name 'foo'"):
        aten.add.foo  # noqa: B018


def test_subclasses_and_modes_see_the_operator(torch, aten):
    class Seen(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return str(func), len(args)

    x = torch.ones(2).as_subclass(Seen)
    assert aten.add.Tensor(x, 1) == ("aten.add.Tensor", 2)
    assert aten.add(x, 1) == ("aten.add", 2)


def test_gradients(torch, aten):
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    aten._softmax(x, 0, False)[0].backward()
    expected = 0.8175744761936437 * 0.18242552380635635
    assert x.grad.tolist() == pytest.approx([expected, -expected])
    ones = torch.ones(2)
    found = aten.tanh_backward(ones, ones / 2)
    assert found.tolist() == [0.75, 0.75]
    if torch is mindtorch_v2:  # torch wants its own buffer
        assert aten.log_sigmoid_backward(ones, ones * 0, ones).tolist() == [0.5, 0.5]
    assert aten.threshold_backward(ones, x.detach(), 0).tolist() == [1.0, 0.0]


def test_copies_and_pickles():
    packet = mindtorch_v2.ops.aten.add
    for value in (packet, packet.Tensor):
        assert copy.deepcopy(value) is value
        assert pickle.loads(pickle.dumps(value)) is value
