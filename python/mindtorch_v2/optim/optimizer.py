"""The base of optimizers.

An optimizer here defines `_new_state(parameter, group)` and `_update(group, params, grads,
states)`: `step` of ListOptimizer gathers per group the parameters that have gradients and calls
_update once with lists, so that one pass over many tensors can take the place of the loop in it.
"""

import functools
import warnings
import weakref
from collections import OrderedDict, defaultdict
from copy import deepcopy
from itertools import chain

import mindtorch_v2 as torch
from mindtorch_v2 import _C, _kinds
from mindtorch_v2._C import Tensor
from mindtorch_v2.optim import _subclass_helpers
from mindtorch_v2.optim._subclass_helpers import *
from mindtorch_v2.utils.hooks import RemovableHandle

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    *_subclass_helpers.__all__,
]

_global_pre_hooks = OrderedDict()
_global_post_hooks = OrderedDict()


class _RequiredParameter:
    """Stands for the value of an option that has no default."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def _add(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Runs hook(optimizer, args, kwargs) before every step of every optimizer.

    >>> handle = torch.optim.optimizer.register_optimizer_step_pre_hook(lambda *args: None)
    >>> handle.remove()
    """
    return _add(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Runs hook(optimizer, args, kwargs) after every step of every optimizer.

    >>> handle = torch.optim.optimizer.register_optimizer_step_post_hook(lambda *args: None)
    >>> handle.remove()
    """
    return _add(_global_post_hooks, hook)


def _begin_range(optimizer, method):
    """A range of the profiler; None if this thread is not recorded."""
    return _C._profiler_range(f"Optimizer.{method}#{type(optimizer).__name__}.{method}")


def _with_hooks(step):
    """step of a class, with the hooks around it."""

    @functools.wraps(step)
    def hooked(self, *args, **kwargs):
        profiled = _begin_range(self, "step") if _C._profiler_is_recording() else None
        try:
            for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                result = hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"{hook} must return None or a tuple of (new_args, new_kwargs), "
                            f"but got {result}."
                        )
                    args, kwargs = result
            result = step(self, *args, **kwargs)
            for hook in chain(
                self._optimizer_step_post_hooks.values(), _global_post_hooks.values()
            ):
                hook(self, args, kwargs)
            return result
        finally:
            if profiled is not None:
                profiled.end()

    hooked.hooked = True
    return hooked


_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class Optimizer:
    """The base of all optimizers: groups of parameters with their options, and state per parameter.

    >>> torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1).param_groups[0]["lr"]
    0.1
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._init_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be "
                f"an iterable of Tensors or dicts, but got {torch.typename(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if len(groups) == 0:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _init_hooks(self):
        if not getattr(type(self).step, "hooked", False):
            type(self).step = _with_hooks(type(self).step)
        for name in _HOOKS:
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())

    def __getstate__(self):
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._init_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        texts = []
        for i, group in enumerate(self.param_groups):
            lines = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            texts.append(f"\nParameter Group {i}\n" + "".join(lines))
        return f"{type(self).__name__} ({''.join(texts)})"

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
        """{(device, dtype): (lists, indices)}, by the tensors of the first list."""
        return _subclass_helpers.group_tensors(tensorlistlist, with_indices)

    def step(self, closure=None):
        """Changes the parameters by their gradients; every optimizer defines its own."""
        raise NotImplementedError

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or sets them to 0."""
        profiled = _begin_range(self, "zero_grad") if _C._profiler_is_recording() else None
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if set_to_none:
                    parameter.grad = None
                else:
                    parameter.grad = parameter.grad.detach().zero_()
        if profiled is not None:
            profiled.end()

    # --- groups -------------------------------------------------------------------------------

    def add_param_group(self, param_group):
        """Adds parameters with options of their own.

        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
        >>> optimizer.add_param_group({"params": torch.nn.Parameter(torch.ones(2)), "lr": 0.2})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.2]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, "
                "but the ordering of tensors in sets will change between runs. "
                "Please use a list instead."
            )
        params = list(params)
        named = [isinstance(item, tuple) for item in params]
        if any(named):
            if not all(named):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are "
                    "missing"
                )
            param_group["param_names"] = [name for name, _ in params]
            params = [parameter for _, parameter in params]
        param_group["params"] = params
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, "
                    f"but one of the params is {torch.typename(parameter)}"
                )
            if not self.defaults.get("differentiable", None) and not (
                parameter.is_leaf or parameter.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = {p for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        has_names = "param_names" in param_group
        if any(("param_names" in group) != has_names for group in self.param_groups):
            kind = "with" if has_names else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {kind} names to the optimizer"
            )
        self.param_groups.append(param_group)

    # --- hooks --------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook):
        """Runs hook(optimizer, args, kwargs) before step; it may return new ones."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Runs hook(optimizer, args, kwargs) after step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Runs hook(optimizer) before state_dict."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Runs hook(optimizer, state_dict) after state_dict; it may return another one."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Runs hook(optimizer, state_dict) before load_state_dict; it may return another one."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Runs hook(optimizer) after load_state_dict."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # --- state --------------------------------------------------------------------------------

    def state_dict(self):
        """The options of the groups, and the state by number of the parameter.

        >>> torch.optim.SGD([torch.nn.Parameter(torch.ones(1))]).state_dict()["state"]
        {}
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers, groups = {}, []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(parameter)] for parameter in group["params"]]
            groups.append(packed)
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict):
        """Takes over what state_dict gave; tensors come to the parameter's device and dtype."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group "
                "that doesn't match the size of optimizer's group"
            )
        parameters = {}
        for group, other in zip(groups, saved, strict=True):
            for number, parameter in zip(other["params"], group["params"], strict=True):
                parameters[number] = (parameter, other)
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                parameter, group = parameters[key]
                state[parameter] = _cast_state(value, parameter, group)
            else:
                state[key] = value
        for group, other in zip(groups, saved, strict=True):
            other["params"] = group["params"]
            if "param_names" in group:
                other["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _update_parts(update, group, params, grads, states):
    """A step of complex parameters: of their parts, as twice as many real numbers."""

    def parts(values):
        return [torch.view_as_real(value) for value in values]

    def is_complex(value):
        return isinstance(value, Tensor) and value.is_complex()

    shown = [
        state and {k: torch.view_as_real(v) if is_complex(v) else v for k, v in state.items()}
        for state in states
    ]
    update(group, parts(params), parts(grads), shown)
    for param, state, changed in zip(params, states, shown, strict=True):
        for name, value in (changed or {}).items():
            is_part = isinstance(value, Tensor) and value.shape == (*param.shape, 2)
            state[name] = torch.view_as_complex(value) if is_part else value


def _cast_state(value, parameter, group, key=None):
    """value where and as what the parameter is; a count of steps stays as it is."""
    if isinstance(value, Tensor):
        if key == "step":
            on_device = group.get("capturable") or group.get("fused")
            return value.to(torch.float32, device=parameter.device) if on_device else value
        if parameter.is_floating_point() or parameter.is_complex():
            return value.to(dtype=parameter.dtype, device=parameter.device)
        return value.to(device=parameter.device)
    if isinstance(value, dict):
        return {k: _cast_state(v, parameter, group, k) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_cast_state(v, parameter, group) for v in value)
    return value


_PART_BYTES = 48 * 1024  # of parameters that are stepped together, where there are temporaries


def number(value):
    """A number that may be given as a tensor of one element."""
    return value.item() if isinstance(value, Tensor) else value


def check_not_negative(**values):
    """Refuses negative options in torch's words."""
    for name, value in values.items():
        if name == "lr" and isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= number(value):
            text = {"lr": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")
            raise ValueError(f"Invalid {text}: {value}")


class ListOptimizer(Optimizer):
    """An optimizer whose step is a call of _update per group; see the notes of the module."""

    # Whether _update itself goes against the gradient where a group says so.
    _maximizes = False

    def __init__(self, params, defaults):
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        super().__init__(params, defaults)

    # Whether a step computes through temporaries of the parameters' size.
    _has_temporaries = True

    # Whether foreach=True is refused where a graph of the step is wanted.
    _foreach_needs_no_graph = True

    def _new_state(self, parameter, group):
        """The state of a parameter before its first step; None if it needs none."""
        return {}

    def _update(self, group, params, grads, states):
        raise NotImplementedError

    def _update_sparse(self, group, parameter, grad, state):
        """The same for one parameter with a sparse gradient."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def step(self, closure=None):
        """Changes the parameters by their gradients. A closure computes the loss again first.

        >>> p = torch.nn.Parameter(torch.ones(1))
        >>> p.grad = torch.ones(1)
        >>> torch.optim.SGD([p], lr=0.5).step()
        >>> p.data
        tensor([0.5000])
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                if params:
                    for alike in _alike(params):
                        for part in self._parts(alike):
                            self._step_alike(group, part)
        return loss

    def _parts(self, params):
        """Lists whose temporaries stay in the cache, where there are any: they are as large as the
        parameters. Elsewhere than on a CPU one launch for all matters more."""
        if not self._has_temporaries or params[0].device.type != "cpu":
            return (params,)
        parts, part, part_bytes = [], [], 0
        for p in params:
            if part and part_bytes + p.nbytes > _PART_BYTES:
                parts.append(part)
                part, part_bytes = [], 0
            part.append(p)
            part_bytes += p.nbytes
        return (*parts, part)

    def _step_alike(self, group, params):
        """A step of parameters of one device and dtype."""
        if group.get("capturable") and params[0].device.type not in _kinds.ACCELERATORS:
            raise AssertionError(
                "If capturable=True, params and state_steps must be on supported devices: "
                f"{list(_kinds.ACCELERATORS)}."
            )
        if group.get("differentiable") and group.get("foreach") and self._foreach_needs_no_graph:
            raise AssertionError("_foreach ops don't support autograd")
        grads = [p.grad for p in params]
        states = [self._state(p, group) for p in params]
        if any(grad.layout is not torch.strided for grad in grads):
            params, grads, states = self._step_sparse(group, params, grads, states)
            if not params:
                return
        if group.get("maximize") and not self._maximizes:
            grads = torch._foreach_neg(grads)
        if group.get("differentiable"):
            # What a graph has of earlier steps is not written over.
            for state in filter(None, states):
                state.update({k: v.clone() for k, v in state.items() if isinstance(v, Tensor)})
        if params[0].is_complex():
            _update_parts(self._update, group, params, grads, states)
        else:
            self._update(group, params, grads, states)

    def _step_sparse(self, group, params, grads, states):
        """Steps those that have sparse gradients; gives the others."""
        dense = []
        for parameter, grad, state in zip(params, grads, states, strict=True):
            if grad.layout is torch.strided:
                dense.append((parameter, grad, state))
                continue
            if group.get("maximize"):
                grad = -grad
            self._update_sparse(group, parameter, grad, state)
        return tuple(map(list, zip(*dense, strict=True))) if dense else ((), (), ())

    def _state(self, parameter, group):
        state = self.state.get(parameter)
        if not state:
            state = self._new_state(parameter, group)
            if state:
                self.state[parameter] = state
        return state


def _alike(params):
    """Lists of parameters of one device and dtype: what one pass takes."""
    if len({(p.device, p.dtype) for p in params}) == 1:
        return (params,)
    lists = defaultdict(list)
    for p in params:
        lists[p.device, p.dtype].append(p)
    return lists.values()


def takes(op, parameter):
    """Whether the parameter's device has a kernel of the op for its dtype."""
    kind = parameter.device.type
    return kind in ("cpu", "meta") or _C._kernel_takes(op, kind, parameter.dtype)


def of_each(states, name):
    """The tensors of one name."""
    return [state[name] for state in states]


def new_step(parameter, group):
    """A count of steps as torch keeps it: a float tensor, on the CPU by default."""
    on_device = group.get("capturable") or group.get("fused")
    return torch.tensor(0.0, dtype=torch.float32, device=parameter.device if on_device else None)


# {id of a tensor of one number: (the tensor, its value, its version)}. What a count of steps holds
# is known without reading it, so that a step does not flush a pipeline. Another version means
# that somebody else wrote it. (A WeakKeyDictionary would compare tensors, which reads them.)
_known_numbers = {}


def read_number(tensor):
    """The number in a tensor of the state."""
    reference, value, version = _known_numbers.get(id(tensor), (None, None, None))
    is_known = reference is not None and reference() is tensor and version == tensor._version
    return value if is_known else tensor.item()


def note_number(tensor, value):
    """The tensor has just got this number."""
    known = _known_numbers.get(id(tensor), (None,))[0]
    if known is None or known() is not tensor:
        known = weakref.ref(tensor, functools.partial(_forget_number, id(tensor)))
    _known_numbers[id(tensor)] = (known, value, tensor._version)


def _forget_number(key, reference):
    if _known_numbers.get(key, (None,))[0] is reference:
        del _known_numbers[key]


def write_number(tensor, value):
    """Puts a number into a tensor of the state."""
    tensor.fill_(value)
    note_number(tensor, value)


def count_steps(states):
    """One more step for each; their numbers."""
    steps = of_each(states, "step")
    counts = [read_number(step) + 1 for step in steps]
    torch._foreach_add_(steps, 1)
    for step, count in zip(steps, counts, strict=True):
        note_number(step, count)
    return counts


def for_all(values):
    """Numbers of several parameters as torch._foreach_* take them: one, where they are equal."""
    return values[0] if values.count(values[0]) == len(values) else values
