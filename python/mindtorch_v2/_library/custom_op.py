"""torch.library.custom_op: a Python function as an operator."""

import contextlib
import functools

from mindtorch_v2 import _kinds
from mindtorch_v2._library import gradients, operators, schema

_defined = {}


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes a function an operator: torch.ops knows it, autograd and meta tensors do not look into
    it but ask its register_autograd and register_fake. `mutates_args` names the arguments that it
    writes to; `device_types` the devices it works on, all by default.

    >>> @torch.library.custom_op("doc_ops::numpy_sin", mutates_args=())
    ... def numpy_sin(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(np.sin(x.numpy()))
    >>> import numpy as np
    >>> numpy_sin(torch.zeros(2))
    tensor([0., 0.])
    >>> @numpy_sin.register_fake
    ... def _(x):
    ...     return torch.empty_like(x)
    >>> numpy_sin(torch.zeros(2, device="meta")).shape
    torch.Size([2])
    """

    def make(function):
        namespace, separator, op_name = name.partition("::")
        if not separator or not namespace or not op_name:
            raise ValueError(
                f"expected a name like 'namespace::name' for a custom op, but got {name!r}"
            )
        text = schema if schema is not None else _infer(function, mutates_args)
        made = CustomOpDef(namespace, op_name, text, function, tags)
        if schema is not None:
            _check_mutations(made._opoverload._schema, mutates_args)
        if device_types is None:
            made._register("default", function)
        else:
            made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)


def _infer(function, mutates_args):
    return schema.infer_schema(function, mutates_args=mutates_args)


def _check_mutations(parsed, mutates_args):
    written = {argument.name for argument in parsed.arguments if argument.is_write}
    if mutates_args != "unknown" and written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema="
            f"{parsed}`. The schema suggests that the op mutates {written}, which is different "
            "from what was provided to us in `mutates_args`."
        )


class CustomOpDef:
    """An operator made by custom_op: called, it runs the kernel for its arguments' device."""

    def __init__(self, namespace, name, schema_text, function, tags=None):
        self._namespace, self._name, self._schema = namespace, name, schema_text
        self._qualname = f"{namespace}::{name}"
        self._init_fn = function
        self._disabled = set()
        if self._qualname in _defined:  # a cell of a notebook, run again
            operators.remove_operator(_defined[self._qualname]._opoverload)
        parsed = schema.parse_schema(self._qualname + schema_text)
        self._opoverload = operators.add_operator(parsed, tags or ())
        self._opoverload.checks_aliases = self._opoverload.refuses_backward = True
        self._opoverload.label = repr(self)
        _defined[self._qualname] = self
        functools.update_wrapper(self, function)

    def __call__(self, /, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __deepcopy__(self, memo):
        return self

    def _register(self, device, function):
        def kernel(*args, **kwargs):
            chosen = self._init_fn if device in self._disabled else function
            return chosen(*args, **kwargs)

        self._opoverload.kernels[device] = kernel

    def register_kernel(self, device_types, fn=None, /):
        """A kernel for one or several kinds of device, or for "default".

        >>> @torch.library.custom_op("doc_ops::plus_one", mutates_args=(), device_types="cpu")
        ... def plus_one(x: torch.Tensor) -> torch.Tensor:
        ...     return x + 1
        >>> @plus_one.register_kernel("npu")
        ... def _(x):
        ...     return x + 1
        """
        names = [device_types] if isinstance(device_types, str) else device_types
        names = ["default"] if names is None else list(names)

        def add(function):
            for name in names:
                self._register(checked_device(name), function)
            return function

        return add if fn is None else add(fn)

    def register_fake(self, fn, /):
        """What the results look like, made of the arguments without looking at their values."""
        self._opoverload.fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """How gradients flow: backward(ctx, *grads) returns one gradient per argument;
        setup_context(ctx, inputs, output) saves what it needs.

        >>> @torch.library.custom_op("doc_ops::square", mutates_args=())
        ... def square(x: torch.Tensor) -> torch.Tensor:
        ...     return x * x
        >>> square.register_autograd(
        ...     lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
        ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> square(x).backward()
        >>> x.grad
        tensor([6.])
        """
        if self._opoverload._schema.is_mutable:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema "
                f"{self._opoverload._schema}. Please create a functional operator and register an "
                "autograd formula for that."
            )
        gradients.set_gradient(self._opoverload, backward, setup_context)

    def register_autocast(self, device_type, cast_inputs, /):
        """Inside autocast on the device, floating-point arguments are cast to `cast_inputs`."""
        self._opoverload.autocast[checked_device(device_type)] = cast_inputs

    def register_vmap(self, func=None, /):
        """Gives it a rule for vmap: func(info, in_dims, *args) gets all samples at once and
        returns the result and where its samples lie.

        >>> @torch.library.custom_op("doc_ops::plus_one", mutates_args=())
        ... def plus_one(x: torch.Tensor) -> torch.Tensor:
        ...     return x + 1
        >>> @plus_one.register_vmap
        ... def _(info, in_dims, x):
        ...     return plus_one(x), in_dims[0]
        >>> torch.vmap(plus_one)(torch.zeros(2))
        tensor([1., 1.])
        """

        def register(rule):
            self._opoverload.vmap = rule
            return rule

        return register if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Not supported: there is no __torch_dispatch__."""
        refuse_torch_dispatch()

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """A block in which the kernel for a device is used, or the function itself instead."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before


def checked_device(name):
    """A kind of device, or "default"; refuses others."""
    if name != "default" and name not in _kinds.ROWS:
        raise ValueError(f"there is no kind of device {name!r}")
    return name


def refuse_torch_dispatch():
    raise NotImplementedError("there is no __torch_dispatch__; use __torch_function__")
