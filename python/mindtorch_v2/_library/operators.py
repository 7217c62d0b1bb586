"""torch.ops.<namespace>.<name>.<overload>: operators that Python code defines, and how a call of
one finds its kernel.
"""

import contextlib
import threading

import mindtorch_v2 as torch
from mindtorch_v2 import _C, _kinds

_fakes = threading.local()


def kernel_keys():
    """torch's dispatch keys of kernels: the device they serve. "default" serves all."""
    rows = _kinds.ROWS
    return {
        **{row.title: name for name, row in rows.items()},
        **{row.dispatch_key: _kinds.of_dispatch_key(row.dispatch_key) for row in rows.values()},
        "CompositeExplicitAutograd": "default",
        "CompositeImplicitAutograd": "default",
    }


def autograd_keys():
    """torch's dispatch keys of functions that run in place of an operator and its gradient."""
    served = [key for key, kind in kernel_keys().items() if kind in _kinds.WITH_MEMORY]
    return {"Autograd", *(f"Autograd{key}" for key in served)}


def autocast_keys():
    """torch's dispatch keys of functions that run in place of an operator inside autocast."""
    keys = [_kinds.ROWS[name].dispatch_key for name in _kinds.WITH_MEMORY]
    return {
        **{f"Autocast{key}": _kinds.of_dispatch_key(key) for key in keys},
        "AutocastMPS": "mps",
        "AutocastXPU": "xpu",
    }


def _backend_name(device):
    return _kinds.ROWS[device].dispatch_key if device in _kinds.ROWS else device


def running_fake():
    """The name of the operator whose fake this thread runs, or None."""
    return getattr(_fakes, "name", None)


def tensors_in(values):
    """The tensors, and what stands for one, among arguments and in lists of them."""
    found = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += [entry for entry in value if torch.overrides.is_tensor_like(entry)]
        elif torch.overrides.is_tensor_like(value):
            found.append(value)
    return found


def device_of(tensors, kwargs):
    """The kind of device whose kernel runs: meta before accelerators before the CPU."""
    kinds = {tensor.device.type for tensor in tensors}
    if not kinds and kwargs.get("device") is not None:
        kinds = {torch.device(kwargs["device"]).type}
    for kind in ("meta", *_kinds.ACCELERATORS):
        if kind in kinds:
            return kind
    return "cpu"


class OpOverload:
    """One operator: a schema, a kernel for each device, a rule for shapes, one for gradients.

    >>> torch.library.define("doc_ops::double", "(Tensor x) -> Tensor")
    >>> torch.library.impl("doc_ops::double", "default", lambda x: x * 2)
    >>> torch.ops.doc_ops.double.default(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, packet, schema, tags=()):
        self._overloadpacket = packet
        self._schema = schema
        self._overloadname = schema.overload_name or "default"
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = packet.__module__
        self.tags = list(tags)
        self.kernels = {}  # by device, or "default"
        self.fake = None
        self.autograd_kernel = None
        self.gradient = None  # what _autograd.function_of made
        self.refuses_backward = False  # where there is no rule for gradients
        self.vmap = None  # a rule (info, in_dims, *args, **kwargs) -> (result, out_dims)
        self.autocast = {}  # device: dtype
        self.autocast_kernels = {}  # device: what runs in place of the operator
        self.checks_aliases = False
        self.label = None  # in messages

    @property
    def namespace(self):
        return self._schema.name.partition("::")[0]

    @property
    def overloadpacket(self):
        return self._overloadpacket

    @property
    def _resolved_name(self):
        return str(self)

    @property
    def _opname(self):
        return self._overloadpacket.__name__

    @property
    def _name(self):
        return self.name()

    @property
    def is_view(self):
        """Whether its results are views of an argument."""
        returned = [r.alias_info for r in self._schema.returns]
        return not self._schema.is_mutable and any(info is not None for info in returned)

    def name(self):
        """ "ns::name", with the overload's name behind a dot if it has one."""
        overload = self._schema.overload_name
        return f"{self._schema.name}.{overload}" if overload else self._schema.name

    def has_kernel_for_dispatch_key(self, key):
        """Whether a kernel was given for one of torch's dispatch keys."""
        return kernel_keys().get(str(key).rpartition(".")[2]) in self.kernels

    def __call__(self, /, *args, **kwargs):
        tensors = tensors_in((*args, *kwargs.values()))
        if _C._has_torch_function(tensors):
            return torch.overrides.handle_torch_function(self, tensors, *args, **kwargs)
        args, kwargs = self._schema.bind(args, kwargs)
        if self.vmap is not None and _C._vmap_level() > 0:
            from mindtorch_v2.autograd import _function_vmap

            level = _function_vmap.level_of(args)
            if level > 0:
                return _function_vmap.apply_rule(self.vmap, str(self), args, kwargs, level)
        device = device_of(tensors, kwargs)
        if device in self.autocast_kernels and torch.is_autocast_enabled(device):
            return self.autocast_kernels[device](*args, **kwargs)
        if device in self.autocast and torch.is_autocast_enabled(device):
            return self._call_autocast(device, args, kwargs)
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            if self.autograd_kernel is not None:
                return self.autograd_kernel(*args, **kwargs)
            if self._schema.is_mutable and self.checks_aliases:
                self._refuse_leaves(args, kwargs)
            elif self.gradient is not None or self.refuses_backward:
                from mindtorch_v2._library.gradients import call_with_gradient

                return call_with_gradient(self, device, args, kwargs)
        return self.run(device, args, kwargs)

    def run(self, device, args, kwargs):
        """Runs the kernel for a kind of device."""
        if not self.checks_aliases:
            return self._kernel(device)(*args, **kwargs)
        with torch.no_grad() if self._schema.is_mutable else contextlib.nullcontext():
            result = self._kernel(device)(*args, **kwargs)
        written = self._schema.written(args, kwargs)
        if written:
            torch.autograd.graph.increment_version(written)
        self._check_aliases(result, tensors_in((*args, *kwargs.values())))
        return result

    def _kernel(self, device):
        if device == "meta" and self.fake is not None:
            return self._run_fake
        kernel = self.kernels.get(device)
        if kernel is None and not (device == "meta" and self.checks_aliases):
            kernel = self.kernels.get("default")
        if kernel is not None:
            return kernel
        if device == "meta":
            self._refuse_meta()
        have = [_backend_name(name) for name in self.kernels]
        raise NotImplementedError(
            f"Could not run '{self.name()}' with arguments from the '{_backend_name(device)}' "
            "backend. This could be because the operator doesn't exist for this backend. "
            f"'{self.name()}' is only available for these backends: [{', '.join(have)}]."
        )

    def _run_fake(self, *args, **kwargs):
        before, _fakes.name = running_fake(), self.name()
        try:
            return self.fake(*args, **kwargs)
        finally:
            _fakes.name = before

    def _refuse_meta(self):
        if self.label is not None:
            raise RuntimeError(
                f"There was no fake impl registered for {self.label}. This is necessary for meta "
                "tensors to work. Please use `register_fake` to add an fake impl."
            )
        raise NotImplementedError(
            f"{self.name()}: attempted to run this operator with Meta tensors, but there was no "
            "fake impl or Meta kernel registered."
        )

    def _refuse_leaves(self, args, kwargs):
        if any(t.requires_grad and t.is_leaf for t in self._schema.written(args, kwargs)):
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )

    def _check_aliases(self, result, inputs):
        storages = {tensor.untyped_storage()._cdata for tensor in inputs}
        for output in tensors_in(result if isinstance(result, (list, tuple)) else [result]):
            storage = output.untyped_storage()._cdata
            if storage in storages:
                raise RuntimeError(
                    f"{self.name()}: The output of this custom operator (1) must not also be an "
                    "input to this custom operator and (2) may not alias any inputs to this custom "
                    "operator or other returns. Please instead return a clone of the offending "
                    "output tensor(s) (e.g. return x.clone()) or refactor the custom operator to "
                    "not return y."
                )
            storages.add(storage)

    def _call_autocast(self, device, args, kwargs):
        dtype = self.autocast[device]

        def cast(value):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                is_wide = value.dtype == torch.float64 or value.device.type != device
                return value if is_wide else value.to(dtype)
            return value

        args, kwargs = torch.utils._pytree.tree_map(cast, (args, kwargs))
        with torch.autocast(device, enabled=False):
            return self(*args, **kwargs)

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self):
        return f"<OpOverload(op='{self._overloadpacket}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _find, (self._schema.name, self._overloadname)


class OpOverloadPacket:
    """All overloads of one name: called, the first that takes the arguments runs."""

    def __init__(self, namespace, name):
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name
        self.__qualname__ = name
        self.__module__ = f"mindtorch_v2.ops.{namespace}"
        self._overloads = {}

    def overloads(self):
        """The names of the overloads."""
        return list(self._overloads)

    def __call__(self, /, *args, **kwargs):
        tensors = tensors_in((*args, *kwargs.values()))
        if _C._has_torch_function(tensors):
            return torch.overrides.handle_torch_function(self, tensors, *args, **kwargs)
        candidates = [getattr(self, name) for name in self.overloads()]
        if len(candidates) == 1:
            return candidates[0](*args, **kwargs)
        problems = []
        for overload in candidates:
            try:
                overload._schema.bind(args, kwargs)
            except RuntimeError as error:
                problems.append(f"{error}\n\n")
            else:
                return overload(*args, **kwargs)
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n"
            + "".join(problems)
        )

    def __getattr__(self, name):
        overloads = self.__dict__.get("_overloads", {})
        if name in overloads:
            return overloads[name]
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")

    def __dir__(self):
        return [*super().__dir__(), *self._overloads]

    def __iter__(self):
        return iter(self._overloads)

    def __str__(self):
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _find, (self._qualified_op_name, None)


class OpNamespace:
    """torch.ops.<name>: the operators of one library, or of several that share its name."""

    def __init__(self, name, functions=()):
        self.__name__ = f"mindtorch_v2.ops.{name}"
        self._name = name
        self.__dict__.update(functions)

    def __getattr__(self, name):
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")

    def __iter__(self):
        return (name for name, value in vars(self).items() if isinstance(value, OpOverloadPacket))

    def __repr__(self):
        return f"<module 'torch.ops.{self._name}' from 'torch.ops'>"


_lock = threading.Lock()


def namespace_of(name):
    """torch.ops.<name>, made where there is none."""
    spaces = vars(torch.ops)
    with _lock:
        found = spaces.get(name)
        if found is None:
            found = spaces[name] = OpNamespace(name)
        if not isinstance(found, OpNamespace):
            raise ValueError(f"{name!r} is no name for a library of ops: torch.ops has it already")
        return found


def add_operator(schema, tags=()):
    """Defines an operator; its schema's name has the namespace."""
    namespace, _, name = schema.name.partition("::")
    space = namespace_of(namespace)
    packet = vars(space).get(name)
    if packet is None:
        packet = OpOverloadPacket(namespace, name)
        setattr(space, name, packet)
    if not isinstance(packet, OpOverloadPacket):
        raise RuntimeError(f"torch.ops.{namespace}.{name} is an op of a loaded library already")
    overload = OpOverload(packet, schema, tags)
    if overload._overloadname in packet._overloads:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name "
            "multiple times. Each overload's schema should only be registered with a single call "
            "to def()."
        )
    packet._overloads[overload._overloadname] = overload
    return overload


def remove_operator(overload):
    """Takes an operator out again."""
    packet = overload._overloadpacket
    packet._overloads.pop(overload._overloadname, None)
    if not packet._overloads:
        vars(namespace_of(overload.namespace)).pop(packet.__name__, None)


def find_operator(qualname):
    """The operator of "ns::name" or "ns::name.overload"."""
    namespace, _, rest = qualname.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(vars(torch.ops).get(namespace), "__dict__", {}).get(name)
    found = getattr(packet, "_overloads", {}).get(overload or "default")
    if found is None:
        raise RuntimeError(f"operator {qualname} does not exist")
    return found


def _find(qualname, overload):
    if overload is None:
        return find_operator(qualname)._overloadpacket
    return find_operator(f"{qualname}.{overload}" if overload != "default" else qualname)
