"""torch.library: operators of one's own, with kernels for devices, shapes for meta tensors and
gradients.

    @torch.library.custom_op("mylib::scale", mutates_args=())
    def scale(x: torch.Tensor, by: float) -> torch.Tensor: ...

    lib = torch.library.Library("mylib", "FRAGMENT")
    lib.define("mul2(Tensor x) -> Tensor")
    lib.impl("mul2", lambda x: x * 2, "CPU")
    torch.ops.mylib.mul2(x)

Kernels are Python functions. Those in C++ come with shared libraries: torch.ops.load_library.
"""

import contextlib
import weakref

from mindtorch_v2._library import gradients, operators
from mindtorch_v2._library.custom_op import (
    CustomOpDef,
    checked_device,
    custom_op,
    refuse_torch_dispatch,
)
from mindtorch_v2._library.opcheck import opcheck
from mindtorch_v2._library.schema import infer_schema, parse_schema

__all__ = [
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

_RESERVED = frozenset(("aten", "prim", "prims"))
_owners = weakref.WeakValueDictionary()  # namespace: the Library that was made with DEF


def fallthrough_kernel():
    """Stands for "no kernel here" in Library.impl; it is not to be called.

    >>> torch.library.fallthrough_kernel.__name__
    'fallthrough_kernel'
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """Operators of one namespace: "DEF" for its one owner, "FRAGMENT" to add some, "IMPL" for
    kernels of operators that others defined. When the library goes, so do they.

    >>> lib = torch.library.Library("doc_lib", "DEF")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    >>> torch.ops.doc_lib.twice(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind != "IMPL":
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if ns in _RESERVED:
            raise NotImplementedError(f"kernels of {ns} ops cannot be replaced")
        if kind == "DEF" and ns in _owners:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please "
                "put all of your definitions in a single TORCH_LIBRARY block."
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._added = []  # calls that undo what was done
        if kind == "DEF":
            _owners[ns] = self
        self._finalizer = weakref.finalize(self, _undo, self._added)

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operator by its schema; returns its name."""
        if self.kind == "IMPL":
            raise RuntimeError("an IMPL library defines no operators; use DEF or FRAGMENT")
        parsed = parse_schema(f"{self.ns}::{schema.strip()}")
        tags = tags if isinstance(tags, (list, tuple)) else (tags,)
        overload = operators.add_operator(parsed, tags)
        self._added.append(lambda: operators.remove_operator(overload))
        return overload.name().partition("::")[2]

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Gives an operator a kernel for a dispatch key of torch: "CPU", "NPU", "Meta",
        "CompositeExplicitAutograd", "Autograd" and their like.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        if with_keyset:
            raise NotImplementedError("there are no sets of dispatch keys: with_keyset=True")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        overload = self._find(op_name)
        if key in operators.autograd_keys():
            overload.autograd_kernel = None if fn is fallthrough_kernel else fn
            self._added.append(lambda: setattr(overload, "autograd_kernel", None))
            return
        device = operators.autocast_keys().get(key)
        if device is not None:
            overload.autocast_kernels[device] = fn
            self._added.append(lambda: overload.autocast_kernels.pop(device, None))
            return
        device = operators.kernel_keys().get(key)
        if device is None:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        if fn is fallthrough_kernel:
            raise NotImplementedError(f"there is nothing below {key} to fall through to")
        self._set_kernel(overload, device, fn)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Not supported: every operator names its own kernels."""
        raise NotImplementedError(
            "a fallback for all operators of a dispatch key is not supported; give each operator a "
            "kernel with impl(), or handle calls with torch.overrides.TorchFunctionMode"
        )

    def _find(self, op_name):
        if hasattr(op_name, "_schema"):
            return op_name
        name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
        if name.partition("::")[0] != self.ns:
            raise ValueError(f"{name} is not in the namespace {self.ns} of this library")
        return operators.find_operator(name)

    def _set_kernel(self, overload, device, fn):
        overload.kernels[device] = fn
        self._added.append(lambda: overload.kernels.pop(device, None))

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        overload = self._find(op_name)
        overload.fake = fn
        self._added.append(lambda: setattr(overload, "fake", None))

    def _destroy(self):
        self._finalizer()
        _owners.pop(self.ns, None)


def _undo(added):
    while added:
        added.pop()()


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


_kept = []  # libraries behind the functions below: their operators stay


def _library_for(qualname, lib):
    if lib is None:
        lib = Library(qualname.partition("::")[0], "FRAGMENT")
        _kept.append(lib)
    return lib


def _named(op):
    """(the operator's full name, the operator, its CustomOpDef or None)."""
    if isinstance(op, CustomOpDef):
        return op._qualname, op._opoverload, op
    if hasattr(op, "_schema"):
        return op.name(), op, None
    if hasattr(op, "_overloads"):
        raise ValueError(f"name an overload of {op}, such as {op}.default")
    if not isinstance(op, str):
        raise ValueError(
            f"expected the name of an operator, an OpOverload or a custom op, got {type(op)}"
        )
    return op, operators.find_operator(op), None


def define(qualname, schema, *, lib=None, tags=()):
    """Defines an operator "ns::name" by the rest of its schema.

    >>> torch.library.define("doc_ops::triple", "(Tensor x) -> Tensor")
    >>> torch.library.impl("doc_ops::triple", "cpu", lambda x: x * 3)
    >>> torch.ops.doc_ops.triple(torch.ones(1))
    tensor([3.])
    """
    if not isinstance(qualname, str):
        raise ValueError(
            f"define(qualname, schema): expected qualname to be instance of str, not {qualname!r}"
        )
    namespace, separator, name = qualname.partition("::")
    if not separator:
        raise ValueError(
            f"define(qualname, ...): expected a name like 'ns::name', got {qualname!r}"
        )
    _library_for(qualname, lib).define(name + schema, tags=tags)


def impl(qualname, types, func=None, *, lib=None):
    """A kernel for devices ("cpu", "npu", "default") or dispatch keys ("CPU", "Meta"); without
    `func` a decorator.

    >>> torch.library.define("doc_ops::quadruple", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("doc_ops::quadruple", "default")
    ... def quadruple(x):
    ...     return x * 4
    >>> torch.ops.doc_ops.quadruple(torch.ones(1))
    tensor([4.])
    """
    if isinstance(qualname, Library):  # the old form: impl(lib, name, dispatch_key)
        library, name, key = qualname, types, func or ""

        def add_to(function):
            library.impl(name, function, key)
            return function

        return add_to
    names = [types] if isinstance(types, str) else list(types)

    def add(function):
        name, overload, _ = _named(qualname)
        library = _library_for(name, lib)
        for kind in names:
            if kind in operators.kernel_keys() or kind in operators.autograd_keys():
                library.impl(overload, function, kind)
            else:
                library._set_kernel(overload, checked_device(kind), function)
        return function

    if func is None:
        return add
    add(func)
    return None


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """A kernel of an operator for kinds of devices, which may be a custom op.

    >>> torch.library.define("doc_ops::negate", "(Tensor x) -> Tensor")
    >>> torch.library.register_kernel("doc_ops::negate", "cpu", lambda x: -x)
    >>> torch.ops.doc_ops.negate(torch.ones(1))
    tensor([-1.])
    """
    _, _, custom = _named(op)
    if custom is not None:
        result = custom.register_kernel(device_types, *([] if func is None else [func]))
        return result if func is None else None
    return impl(op, ["default"] if device_types is None else device_types, func, lib=lib)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """What an operator returns for meta tensors: results of the right shape and dtype.

    >>> torch.library.define("doc_ops::abstract", "(Tensor x) -> Tensor")
    >>> torch.library.register_fake("doc_ops::abstract", lambda x: torch.empty_like(x))
    >>> torch.ops.doc_ops.abstract(torch.empty(3, device="meta")).shape
    torch.Size([3])
    """

    def add(function):
        name, overload, custom = _named(op)
        if custom is not None:
            custom.register_fake(function)
        else:
            _library_for(name, lib)._register_fake(overload, function)
        return function

    if func is None:
        return add
    add(func)
    return None


def impl_abstract(op, func=None, *, lib=None, _stacklevel=1):
    """The old name of register_fake."""
    return register_fake(op, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """How gradients flow through an operator; see CustomOpDef.register_autograd.

    >>> torch.library.define("doc_ops::same", "(Tensor x) -> Tensor")
    >>> torch.library.impl("doc_ops::same", "default", lambda x: x.clone())
    >>> torch.library.register_autograd("doc_ops::same", lambda ctx, grad: grad * 10)
    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.ops.doc_ops.same(x).backward()
    >>> x.grad
    tensor([10.])
    """
    _, overload, custom = _named(op)
    if custom is not None:
        custom.register_autograd(backward, setup_context=setup_context)
        return
    if overload._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {overload} with schema "
            f"{overload._schema}. Please create a functional operator and register an autograd "
            "formula for that."
        )
    gradients.set_gradient(overload, backward, setup_context)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Inside autocast, floating-point arguments of the operator are cast to `cast_inputs`.

    >>> torch.library.define("doc_ops::dtype_of", "(Tensor x) -> Tensor")
    >>> torch.library.impl("doc_ops::dtype_of", "cpu", lambda x: x.clone())
    >>> torch.library.register_autocast("doc_ops::dtype_of", "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     torch.ops.doc_ops.dtype_of(torch.ones(1)).dtype
    torch.bfloat16
    """
    _named(op)[1].autocast[checked_device(device_type)] = cast_inputs


def register_vmap(op, func=None, /, *, lib=None):
    """A rule for vmap: func(info, in_dims, *args) gets all samples at once and returns the result
    and where its samples lie; without `func` a decorator.

    >>> torch.library.define("doc_ops::halved", "(Tensor x) -> Tensor")
    >>> torch.library.impl("doc_ops::halved", "cpu", lambda x: x / 2)
    >>> rule = lambda info, in_dims, x: (torch.ops.doc_ops.halved(x), in_dims[0])
    >>> torch.library.register_vmap("doc_ops::halved", rule)
    >>> torch.vmap(torch.ops.doc_ops.halved)(torch.ones(2))
    tensor([0.5000, 0.5000])
    """

    def register(rule):
        _named(op)[1].vmap = rule
        return rule

    if func is None:
        return register
    register(func)
    return None


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Not supported: there is no __torch_dispatch__."""
    refuse_torch_dispatch()


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """Not supported: Triton compiles for GPUs, which are not a device here."""
    raise NotImplementedError("Triton kernels cannot run here; use torch.library.custom_op")


def wrap_triton(triton_kernel, /):
    """Not supported: Triton compiles for GPUs, which are not a device here."""
    raise NotImplementedError("Triton kernels cannot run here; use torch.library.custom_op")


def get_ctx():
    """For fakes whose shapes depend on values: in one it raises, because the results of such an
    operator have no shape on the meta device. None elsewhere.

    >>> torch.library.get_ctx() is None
    True
    """
    name = operators.running_fake()
    if name is None:
        return None
    raise RuntimeError(
        f"{name}: You're trying to run this operator with meta Tensors (as opposed to "
        "FakeTensors), but this operator may return an output Tensor with data-dependent shape. "
        "Meta Tensors don't support operators with outputs that have data-dependent shapes but "
        "FakeTensors do. If your operator does not return an output with data-dependent shape, "
        "make sure the FakeTensor and/or meta kernel does not call torch.library.get_ctx(). "
        "Otherwise, please use FakeTensors."
    )


def get_kernel(op, dispatch_key):
    """The kernel of an operator for a dispatch key of torch.

    >>> torch.library.define("doc_ops::mine", "(Tensor x) -> Tensor")
    >>> torch.library.impl("doc_ops::mine", "CPU", abs)
    >>> torch.library.get_kernel("doc_ops::mine", "CPU")(-2)
    2
    """
    name, overload, _ = _named(op)
    device = operators.kernel_keys().get(str(dispatch_key).rpartition(".")[2])
    if device not in overload.kernels:
        raise RuntimeError(f"operator {name} has no kernel for {dispatch_key}")
    return overload.kernels[device]
