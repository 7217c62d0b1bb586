"""torch.nn.Module."""

import itertools
from collections import OrderedDict

import mindtorch_v2 as torch
from mindtorch_v2._C import Tensor
from mindtorch_v2.nn.modules import _hooks
from mindtorch_v2.nn.modules._convert import ConversionMethods
from mindtorch_v2.nn.modules._hooks import (
    EVERY_MODULE,
    HookMethods,
    call_with_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from mindtorch_v2.nn.modules._state import (
    _EXTRA_STATE_KEY_SUFFIX,
    StateMethods,
    _IncompatibleKeys,
)
from mindtorch_v2.nn.parameter import Buffer, Parameter

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

# What __init__ makes, name by name: unpickling adds those that an older file lacks.
_NEW_DICTS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _indented(text):
    """text, with all lines after the first two further to the right."""
    return text.replace("\n", "\n  ")


class Module(HookMethods, StateMethods, ConversionMethods):
    """The base of all layers and models: it knows its parameters, buffers and submodules.

    >>> class Model(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = torch.nn.Linear(2, 1)
    ...
    ...     def forward(self, x):
    ...         return self.layer(x)
    >>> [name for name, _ in Model().named_parameters()]
    ['layer.weight', 'layer.bias']
    """

    dump_patches = False
    call_super_init = False

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            name = type(self).__name__
            if kwargs:
                key = next(iter(kwargs))
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{key}'")
            if args:
                raise TypeError(
                    f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        # Past __setattr__: it looks at these.
        fields = self.__dict__
        fields["training"] = True
        fields["_parameters"] = {}
        fields["_buffers"] = {}
        fields["_non_persistent_buffers_set"] = set()
        fields["_is_full_backward_hook"] = None
        for name in _NEW_DICTS:
            fields[name] = OrderedDict()
        fields["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args):
        """What a call computes; every module defines its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def _call_impl(self, *args, **kwargs):
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _hooks.forward
            or _hooks.forward_pre
            or _hooks.backward
            or _hooks.backward_pre
        ):
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    __call__ = _call_impl

    def compile(
        self, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False
    ):
        """Runs forward in a pipeline from here on, as torch.compile(module) does of a copy.

        >>> model = torch.nn.ReLU()
        >>> model.compile()
        >>> model(torch.tensor([-1.0, 1.0]))
        tensor([0., 1.])
        """
        from mindtorch_v2.compiler import compile_in_place

        compile_in_place(self, backend, disable, mode=mode, options=options)

    # --- what belongs to it -------------------------------------------------------------------

    def _check_name(self, kind, name, registered, quote=""):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {torch.typename(name)}")
        exists = hasattr(self, name) and name not in registered
        if kind == "module" and exists:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."{quote}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if exists:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is state but no parameter; state_dict() has it if it is persistent.

        >>> module = torch.nn.Module()
        >>> module.register_buffer("mean", torch.zeros(2))
        >>> module.mean
        tensor([0., 0.])
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = EVERY_MODULE.changed(
            EVERY_MODULE.buffer_registration, self, name, tensor
        )
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Adds a parameter, or None in its place.

        >>> module = torch.nn.Module()
        >>> module.register_parameter("bias", None)
        >>> module.bias is None
        True
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{torch.typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model "
                    f"parameters must be created explicitly. To express '{name}' "
                    "as a function of another Tensor, compute the value in "
                    "the forward() method."
                )
            param = EVERY_MODULE.changed(EVERY_MODULE.parameter_registration, self, name, param)
        self._parameters[name] = param

    def add_module(self, name, module):
        """Adds a submodule.

        >>> model = torch.nn.Module()
        >>> model.add_module("act", torch.nn.ReLU())
        >>> model.act
        ReLU()
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules, quote=f", got: {name}")
        self._modules[name] = EVERY_MODULE.changed(
            EVERY_MODULE.module_registration, self, name, module
        )

    def register_module(self, name, module):
        """The same as add_module."""
        self.add_module(name, module)

    def __getattr__(self, name):
        fields = self.__dict__
        for place in ("_parameters", "_buffers", "_modules"):
            found = fields.get(place)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _forget(self, name, *keep):
        """Drops an attribute of this name from everywhere but the place named in keep."""
        fields = self.__dict__
        fields.pop(name, None)
        for place in ("_parameters", "_buffers", "_modules"):
            if place not in keep:
                fields[place].pop(name, None)
        if "_buffers" not in keep:
            fields["_non_persistent_buffers_set"].discard(name)

    def __setattr__(self, name, value):
        fields = self.__dict__
        parameters = fields.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if parameters is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            kind = EVERY_MODULE.module_registration
            self._modules[name] = EVERY_MODULE.changed(kind, self, name, value)
        elif parameters is None:
            object.__setattr__(self, name, value)
        elif name in fields["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            kind = EVERY_MODULE.module_registration
            self._modules[name] = EVERY_MODULE.changed(kind, self, name, value)
        elif name in fields["_buffers"] or isinstance(value, Buffer):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name, value):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        else:
            kind = EVERY_MODULE.buffer_registration
            self._buffers[name] = EVERY_MODULE.changed(kind, self, name, value)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self):
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules]
        return sorted(name for name in {*names, *self._buffers} if not name[:1].isdigit())

    def __setstate__(self, state):
        fields = self.__dict__
        fields.update(state)
        fields.setdefault("_non_persistent_buffers_set", set())
        fields.setdefault("_is_full_backward_hook", None)
        for name in _NEW_DICTS:
            fields.setdefault(name, OrderedDict())

    # --- finding what belongs to it -----------------------------------------------------------

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules if recurse else [(prefix, self)]:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, parameter) of this module and, with recurse, of all modules in it."""
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse=True):
        """The parameters of this module and, with recurse, of all modules in it.

        >>> sum(p.numel() for p in torch.nn.Linear(3, 2).parameters())
        8
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, buffer) of this module and, with recurse, of all modules in it."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse=True):
        """The buffers of this module and, with recurse, of all modules in it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self):
        """(name, module) of the modules directly in this one, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The modules directly in this one, each once."""
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """(name, module) of this module and of all in it, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def modules(self, remove_duplicate=True):
        """This module and all in it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def get_submodule(self, target):
        """The module of this name.

        >>> torch.nn.Sequential(torch.nn.ReLU()).get_submodule("0")
        ReLU()
        """
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts a module at this name; with strict there must have been one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name

    def get_parameter(self, target):
        """The parameter of this name, as "layer.weight"."""
        module, name = self._get_member(target)
        if not isinstance(getattr(module, name), Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return getattr(module, name)

    def get_buffer(self, target):
        """The buffer of this name, as "norm.running_mean"."""
        module, name = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(module, name)

    # --- what is done with all of it ----------------------------------------------------------

    def apply(self, fn):
        """Calls fn with every module in this one, then with this one.

        >>> _ = torch.nn.Sequential(torch.nn.ReLU()).apply(lambda m: print(type(m).__name__))
        ReLU
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode=True):
        """Sets training mode here and in all modules in this one."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Ends training mode; the same as train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Says of all parameters whether they are trained."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or sets them to 0."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    # --- repr ---------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What repr() shows of this module besides the modules in it."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        inner = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if len(own) == 1 and not inner:
            return f"{self._get_name()}({own[0]})"
        lines = "".join(f"\n  {line}" for line in itertools.chain(own, inner))
        return f"{self._get_name()}({lines}\n)" if lines else f"{self._get_name()}()"
