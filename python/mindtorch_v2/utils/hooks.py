"""torch.utils.hooks: what registering a hook gives back, and hooks in pickles."""

import warnings
import weakref
from collections import OrderedDict

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]  # noqa: F822


def __getattr__(name):
    # It needs autograd, which the import of the rest does not.
    if name == "BackwardHook":
        from mindtorch_v2.utils._backward_hooks import BackwardHook

        return BackwardHook
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class RemovableHandle:
    """Takes a hook out again. As a with-block it does so at the end.

    >>> hooks = {}
    >>> handle = torch.utils.hooks.RemovableHandle(hooks)
    >>> hooks[handle.id] = print
    >>> handle.remove()
    >>> hooks
    {}
    """

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = _reference(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        # More places (dicts or sets) that know the hook by its id.
        extra = () if extra_dict is None else extra_dict
        extra = [extra] if isinstance(extra, (dict, set)) else list(extra)
        self.extra_dict_ref = tuple(_reference(place) for place in extra)

    def remove(self):
        """Takes the hook out; again does nothing."""
        hooks = self.hooks_dict_ref()
        if hooks is not None:
            hooks.pop(self.id, None)
        for reference in self.extra_dict_ref:
            place = reference()
            if isinstance(place, set):
                place.discard(self.id)
            elif place is not None:
                place.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.remove()

    def __getstate__(self):
        if self.extra_dict_ref:
            return (self.hooks_dict_ref(), self.id, [ref() for ref in self.extra_dict_ref])
        return (self.hooks_dict_ref(), self.id)

    def __setstate__(self, state):
        hooks = OrderedDict() if state[0] is None else state[0]
        self.hooks_dict_ref = _reference(hooks)
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extra = state[2] if len(state) > 2 else []
        self.extra_dict_ref = tuple(_reference(OrderedDict() if p is None else p) for p in extra)


class _Keep:
    """Stands in for a weak reference to what has none, such as a dict."""

    def __init__(self, value):
        self.value = value

    def __call__(self):
        return self.value


def _is_weak(value):
    return type(value).__weakrefoffset__ != 0


def _reference(value):
    return weakref.ref(value) if _is_weak(value) else _Keep(value)


def unserializable_hook(f):
    """Marks a hook that may be missing after pickling without a warning.

    >>> @torch.utils.hooks.unserializable_hook
    ... def double(grad):
    ...     return grad * 2
    """
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warns of hooks of a tensor that its pickle leaves out."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=2,
            )
