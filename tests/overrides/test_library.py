"""torch.library. Every test that takes `torch` runs against torch, too."""

import copy
import importlib
import itertools
import pickle

import mindtorch_v2
import numpy as np
import pytest

from tests.conftest import TORCH_INSTALLED

LIBRARIES = ["mindtorch_v2", *(["torch"] if TORCH_INSTALLED else [])]
_numbers = itertools.count()
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(params=LIBRARIES)
def torch(request):
    return importlib.import_module(request.param)


@pytest.fixture
def name():
    """A name that no other test has."""
    return f"tests_library::op{next(_numbers)}"


def ops(torch, name):
    return getattr(torch.ops.tests_library, name.partition("::")[2])


def sine(torch, name):
    def numpy_sin(x, scale=1.0):
        return torch.from_numpy(np.sin(x.numpy(force=True))) * scale

    numpy_sin.__annotations__ = {"x": torch.Tensor, "scale": float, "return": torch.Tensor}
    return torch.library.custom_op(name, mutates_args=())(numpy_sin)


def test_a_function_becomes_an_operator(torch, name):
    op = sine(torch, name)
    x = torch.tensor([0.5, 1.0])
    wanted = np.sin([0.5, 1.0]).tolist()
    assert op(x).tolist() == pytest.approx(wanted)
    packet = ops(torch, name)
    assert packet(x, scale=2.0).tolist() == pytest.approx([2 * v for v in wanted])
    assert packet.default(x, 2.0).tolist() == pytest.approx([2 * v for v in wanted])
    assert packet.overloads() == ["default"] and packet.default.name() == name
    assert str(packet.default) == name.replace("::", ".") + ".default"
    schema = packet.default._schema
    assert str(schema).startswith(f"{name}(Tensor x, float scale=1.")
    assert [argument.name for argument in schema.arguments] == ["x", "scale"]
    assert schema.arguments[1].default_value == 1.0 and not schema.is_mutable
    assert repr(op) == f"<CustomOpDef({name})>"


def test_meta_tensors_ask_the_fake(torch, name):
    op = sine(torch, name)
    meta = torch.ones(2, 3, device="meta")
    with pytest.raises(RuntimeError, match="There was no fake impl registered for <CustomOpDef"):
        op(meta)

    @op.register_fake
    def _(x, scale=1.0):
        return torch.empty_like(x)

    assert op(meta).shape == (2, 3) and op(meta).device.type == "meta"


def test_gradients(torch, name):
    op = sine(torch, name)
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    result = op(x)
    assert "GeneratedBackwardFor_tests_library_op" in result.grad_fn.name()
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        result.sum().backward()

    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos() * ctx.scale, None

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]  # the default, too
        assert ctx.needs_input_grad[0]

    op.register_autograd(backward, setup_context=setup_context)
    op(x).sum().backward()
    assert x.grad.tolist() == pytest.approx(np.cos([0.5, 1.0]).tolist())
    x.grad = None
    (op(x, 3.0) * 2).sum().backward()
    assert x.grad.tolist() == pytest.approx((6 * np.cos([0.5, 1.0])).tolist())
    with torch.no_grad():
        assert op(x).grad_fn is None


def test_several_results_and_lists(torch, name):
    def both(xs, by, *, shift=1):
        return [x * by + shift for x in xs]

    both.__annotations__ = {
        "xs": list[torch.Tensor],
        "by": float,
        "shift": int,
        "return": list[torch.Tensor],
    }
    op = torch.library.custom_op(name, mutates_args=())(both)
    seen = []

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.by = inputs[1]
        seen.append(keyword_only_inputs)

    op.register_autograd(
        lambda ctx, grads: ([grad * ctx.by for grad in grads], None), setup_context=setup_context
    )
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(3, requires_grad=True)
    result = op([a, b], 2.0)
    assert isinstance(result, list) and [r.tolist() for r in result] == [[3.0] * 2, [3.0] * 3]
    (result[0].sum() + result[1].sum()).backward()
    assert a.grad.tolist() == [2.0] * 2 and b.grad.tolist() == [2.0] * 3
    assert seen == [{"shift": 1}]


def test_operators_that_write(torch, name):
    def add_one(x):
        x.detach().numpy()[:] += 1

    add_one.__annotations__ = {"x": torch.Tensor, "return": None}
    op = torch.library.custom_op(name, mutates_args={"x"})(add_one)
    x = torch.zeros(2)
    assert op(x) is None and x.tolist() == [1.0, 1.0]
    assert x._version == 1  # though NumPy wrote
    assert op._opoverload._schema.is_mutable and op._opoverload._schema.arguments[0].is_write
    with pytest.raises(RuntimeError, match="non-functional operator"):
        op.register_autograd(lambda ctx, grad: grad)


def test_results_may_not_be_arguments(torch, name):
    def same(x):
        return x.view(-1)

    same.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op(name, mutates_args=())(same)
    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        op(torch.ones(2))


def test_mistakes_in_calls(torch, name):
    op = sine(torch, name)
    x = torch.ones(1)
    for call, text in (
        (lambda: op(), "is missing value for argument 'x'"),
        (lambda: op(x, 1.0, 2.0), "expected at most 2 argument"),
        (lambda: op(x, other=1), "Unknown keyword argument 'other'"),
        (lambda: op("a"), "Expected a value of type 'Tensor' for argument 'x'"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()
    with pytest.raises(AttributeError, match="has no attribute 'unknown'"):
        torch.ops.tests_library.unknown  # noqa: B018
    with pytest.raises(AttributeError, match="has no overload name 'unknown'"):
        ops(torch, name).unknown  # noqa: B018


def test_a_library(torch):
    with torch.library._scoped_library("tests_scoped", "FRAGMENT") as lib:
        assert lib.define("mul(Tensor x, int n=2) -> Tensor") == "mul"
        mul = torch.ops.tests_scoped.mul
        x = torch.ones(2)
        with pytest.raises(NotImplementedError, match="Could not run 'tests_scoped::mul' with arg"):
            mul(x)
        lib.impl("mul", lambda x, n=2: x * n, "CPU")
        assert mul(x).tolist() == [2.0, 2.0] and mul(x, n=3).tolist() == [3.0, 3.0]
        with pytest.raises(NotImplementedError, match="with Meta tensors"):
            mul(x.to("meta"))
        lib.impl("mul", lambda x, n=2: torch.empty_like(x), "Meta")
        assert mul(x.to("meta")).shape == (2,)
        # A kernel made of ops is differentiated through.
        leaf = torch.ones(2, requires_grad=True)
        mul(leaf, 5).sum().backward()
        assert leaf.grad.tolist() == [5.0, 5.0]
        with pytest.raises(RuntimeError, match="could not parse dispatch key: NOTHING"):
            lib.impl("mul", abs, "NOTHING")
        with pytest.raises(RuntimeError, match="same name and overload name multiple times"):
            lib.define("mul(Tensor x) -> Tensor")
        lib.define("pick.one(Tensor x) -> Tensor")
        lib.define("pick.two(Tensor x, int n) -> Tensor")
        lib.impl("pick.one", lambda x: x + 1, "CPU")
        lib.impl("pick.two", lambda x, n: x + n, "CPU")
        pick = torch.ops.tests_scoped.pick
        assert pick(x).tolist() == [2.0, 2.0] and pick(x, 5).tolist() == [6.0, 6.0]
        assert pick.two(x, 3).tolist() == [4.0, 4.0] and pick.overloads() == ["one", "two"]
    with pytest.raises(ValueError, match="Unsupported kind: OTHER"):
        torch.library.Library("tests_scoped", "OTHER")


def test_functions_of_the_module(torch, name):
    library = torch.library
    library.define(name, "(Tensor x) -> Tensor")

    @library.impl(name, "cpu")
    def _(x):
        return x + 5

    @library.register_fake(name)
    def _(x):
        return x.new_empty(x.shape)

    x = torch.ones(2)
    op = ops(torch, name)
    assert op(x).tolist() == [6.0, 6.0] and op(x.to("meta")).shape == (2,)
    library.register_autograd(name, lambda ctx, grad: grad * 7)
    leaf = torch.ones(2, requires_grad=True)
    op(leaf).sum().backward()
    assert leaf.grad.tolist() == [7.0, 7.0]
    with pytest.raises(RuntimeError, match="does not exist"):
        library.register_fake("tests_library::not_there", lambda x: x)


def test_autocast(torch, name):
    op = sine(torch, name)

    def clone(x):
        return x.clone()

    clone.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op(name + "_cast", mutates_args=())(clone)
    op.register_autocast("cpu", torch.bfloat16)
    assert op(torch.ones(1)).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert op(torch.ones(1)).dtype == torch.bfloat16


def test_vmap(torch, name):
    op = sine(torch, name)
    seen = []

    @op.register_vmap
    def _(info, in_dims, x, scale=1.0):
        seen.append((info.batch_size, in_dims[0]))
        return op(x.movedim(in_dims[0], 0), scale), 0

    x = torch.arange(6.0).reshape(2, 3)
    vmap = torch.func.vmap
    np.testing.assert_allclose(vmap(op, in_dims=1)(x).numpy(), np.sin(x.numpy().T), rtol=1e-6)
    assert vmap(lambda row: op(row, 2.0))(x)[1].tolist() == pytest.approx(
        (2 * np.sin([3.0, 4.0, 5.0])).tolist()
    )
    assert seen == [(3, 1), (2, 0)]
    torch.library.register_vmap(op, lambda info, in_dims, *args: (args[0] * 0, in_dims[0]))
    assert vmap(op)(x).tolist() == [[0.0] * 3] * 2
    torch.library.register_vmap(op, lambda info, in_dims, *args: args[0])
    with pytest.raises(RuntimeError, match="to return a tuple of"):
        vmap(op)(x)


def test_schemas_of_annotations(torch):
    from collections.abc import Sequence
    from typing import Optional

    def inferred(annotations, defaults=(), **options):
        names = ", ".join(n for n in annotations if n != "return")
        scope = {}
        exec(f"def f({names}): ...", scope)
        scope["f"].__annotations__ = annotations
        scope["f"].__defaults__ = tuple(defaults)
        return torch.library.infer_schema(scope["f"], **{"mutates_args": (), **options})

    T = torch.Tensor
    assert inferred({"x": T, "n": int, "return": T}, [3]) == "(Tensor x, SymInt n=3) -> Tensor"
    assert (
        inferred({"x": Optional[T], "s": str, "b": bool, "return": tuple[T, T]}, [None, "q", True])  # noqa: UP045
        == '(Tensor? x=None, str s="q", bool b=True) -> (Tensor, Tensor)'
    )
    assert (
        inferred({"xs": list[T], "n": Sequence[int], "d": torch.dtype, "return": None})
        == "(Tensor[] xs, SymInt[] n, ScalarType d) -> ()"
    )
    assert inferred({"x": T, "return": None}, mutates_args={"x"}) == "(Tensor(a0!) x) -> ()"
    assert inferred({"x": T, "return": None}, mutates_args="unknown") == "(Tensor(a0!) x) -> ()"
    for annotations, options, text in (
        ({"x": dict, "return": T}, {}, "has unsupported type"),
        ({"x": T}, {}, "No return type annotation was provided"),
        ({"x": T, "return": None}, {"mutates_args": {"y"}}, "were not found in the custom op"),
    ):
        with pytest.raises(ValueError, match=text):
            inferred(annotations, **options)


# --- ours alone -------------------------------------------------------------------------------


def test_opcheck(name):
    torch = mindtorch_v2
    op = sine(torch, name)
    x = torch.tensor([0.5], requires_grad=True)
    with pytest.raises(Exception, match="test_autograd_registration failed"):
        torch.library.opcheck(op, (x,), test_utils="test_autograd_registration")
    with pytest.raises(Exception, match="test_faketensor failed.*no fake impl"):
        torch.library.opcheck(op, (x.detach(),), test_utils="test_faketensor")
    op.register_fake(lambda x, scale=1.0: torch.empty_like(x))
    op.register_autograd(
        lambda ctx, grad: (grad * ctx.saved_tensors[0].cos(), None),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    assert set(torch.library.opcheck(op, (x,)).values()) == {"SUCCESS"}
    op.register_fake(lambda x, scale=1.0: x.new_empty(7))
    found = torch.library.opcheck(op, (x,), raise_exception=False)
    assert isinstance(found["test_faketensor"], RuntimeError)
    assert found["test_schema"] == "SUCCESS"


def test_opcheck_finds_a_hidden_write(name):
    torch = mindtorch_v2
    torch.library.define(name, "(Tensor x) -> Tensor")
    torch.library.impl(name, "cpu", lambda x: x.add_(1).clone())
    with pytest.raises(Exception, match="test_schema failed.*writes to an argument"):
        torch.library.opcheck(ops(torch, name).default, (torch.ones(1),))


def test_in_a_pipeline(name):
    torch = mindtorch_v2
    op = sine(torch, name)
    op.register_autograd(
        lambda ctx, grad: (grad * ctx.saved_tensors[0].cos(), None),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    with torch.pipeline():
        (op(x * 2) + 1).sum().backward()
    assert x.grad.tolist() == pytest.approx((2 * np.cos([1.0, 2.0])).tolist())


def test_subclasses_and_modes_handle_operators(name):
    torch = mindtorch_v2
    op = sine(torch, name)

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return str(func)

    assert op(Duck()) == name.replace("::", ".") + ".default"

    class Sub(torch.Tensor):
        pass

    assert type(op(torch.ones(1).as_subclass(Sub))) is Sub


def test_kernels_of_devices(name):
    torch = mindtorch_v2

    def one(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    op = torch.library.custom_op(name, one, mutates_args=(), device_types=("cpu", "npu"))
    assert op(torch.ones(1)).tolist() == [2.0]
    op.register_kernel("cpu", lambda x: x + 10)
    assert op(torch.ones(1)).tolist() == [11.0]
    with op.set_kernel_enabled("cpu", False):
        assert op(torch.ones(1)).tolist() == [2.0]
    with pytest.raises(ValueError, match="no kind of device 'toaster'"):
        op.register_kernel("toaster", one)
    assert torch.library.get_kernel(op, "CPU")(torch.ones(1)).tolist() == [11.0]


def test_what_is_refused(name):
    torch = mindtorch_v2
    sine(torch, name)
    for call in (
        lambda: torch.library.triton_op(name, mutates_args=()),
        lambda: torch.library.wrap_triton(print),
        lambda: torch.library.register_torch_dispatch(name, int, print),
        lambda: torch.library.Library("tests_refused", "DEF").fallback(print, "CPU"),
        lambda: torch.library.fallthrough_kernel(),
    ):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(ValueError, match="reserved namespace"):
        torch.library.Library("aten", "DEF")


def test_operators_are_copied_and_pickled(name):
    op = sine(mindtorch_v2, name)
    packet = ops(mindtorch_v2, name)
    for value in (packet, packet.default):
        assert copy.deepcopy(value) is value
        assert pickle.loads(pickle.dumps(value)) is value
    assert copy.deepcopy(op) is op


def test_a_library_goes_with_its_operators():
    torch = mindtorch_v2
    lib = torch.library.Library("tests_gone", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        torch.library.Library("tests_gone", "DEF")
    assert hasattr(torch.ops.tests_gone, "f")
    lib._destroy()
    assert not hasattr(torch.ops.tests_gone, "f")
    torch.library.Library("tests_gone", "DEF")._destroy()


def test_names_of_torch(torch_gives):
    theirs = torch_gives(lambda torch: sorted(torch.library.__all__))
    assert set(theirs) <= set(mindtorch_v2.library.__all__)


def test_kernels_in_autocast(torch):
    library = torch.library.Library("cast_ops", "DEF")
    library.define("kind(Tensor x) -> Tensor")
    library.impl("kind", lambda x: x.clone(), "CompositeExplicitAutograd")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

    def wide(x):
        with torch._C._ExcludeDispatchKeyGuard(keys):
            assert not torch.is_autocast_enabled("cpu")
            return torch.ops.cast_ops.kind(x.double())

    library.impl("kind", wide, "AutocastCPU")
    x = torch.ones(1)
    with torch.autocast("cpu"):
        assert torch.ops.cast_ops.kind(x).dtype == torch.float64
    assert torch.ops.cast_ops.kind(x).dtype == torch.float32
    library._destroy()


def test_sets_of_dispatch_keys():
    torch = mindtorch_v2  # torch keeps devices and what is done on them in separate bits
    keys = torch._C.DispatchKey
    both = torch._C.DispatchKeySet(keys.CPU) | torch._C.DispatchKeySet(keys.Meta)
    assert both.has(keys.CPU) and not both.remove(keys.CPU).has(keys.CPU)
    assert both - torch._C.DispatchKeySet(keys.Meta) == torch._C.DispatchKeySet(keys.CPU)
    with pytest.raises(NotImplementedError, match="only autocast"):
        torch._C._ExcludeDispatchKeyGuard(both)


def test_fakes_of_shapes_that_depend_on_values(torch):
    library = torch.library.Library("size_ops", "DEF")
    library.define("some(Tensor x) -> Tensor")
    library._register_fake("some", lambda x: x.new_empty(torch.library.get_ctx()))
    with pytest.raises(RuntimeError, match="size_ops::some.*data-dependent shape"):
        torch.ops.size_ops.some(torch.empty(2, device="meta"))
    assert torch.library.get_ctx() is None
    library._destroy()


def test_operators_of_torchaudio(tmp_path):
    folder = tmp_path / "torchaudio" / "lib"
    folder.mkdir(parents=True)
    (folder / "_torchaudio.abi3.so").write_bytes(b"made for another torch")
    mindtorch_v2.ops.load_library(folder / "_torchaudio.abi3.so")
    assert not mindtorch_v2.ops._torchaudio.is_align_available()
    # y[n] = x[n] - 0.5 y[n - 1]
    x = mindtorch_v2.tensor([[[1.0, 1.0, 1.0]]])
    padded = mindtorch_v2.zeros(1, 1, 4)
    mindtorch_v2.ops.torchaudio._lfilter_core_loop(x, mindtorch_v2.tensor([[0.5, 1.0]]), padded)
    assert padded.tolist() == [[[0.0, 1.0, 0.5, 0.75]]]
    with pytest.raises(NotImplementedError, match="forced_align"):
        mindtorch_v2.ops.torchaudio.forced_align(x, x, x, x, 0)
    with pytest.raises(OSError, match="Could not load"):
        mindtorch_v2.ops.load_library(folder / "other.so")
