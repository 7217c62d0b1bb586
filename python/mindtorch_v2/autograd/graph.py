"""torch.autograd.graph: the graph's nodes and edges, and hooks on what it saves."""

import abc
import contextlib
import threading
from typing import Any, NamedTuple

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2._grad_mode import enable_grad, no_grad
from mindtorch_v2.autograd.function import BackwardCFunction
from mindtorch_v2.utils.hooks import RemovableHandle

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

_NODE_NAMES = ("metadata", "name", "next_functions", "register_hook", "register_prehook")


class Node(abc.ABC):
    """What `grad_fn` of a tensor is.

    >>> y = torch.ones(1, requires_grad=True) * 2
    >>> isinstance(y.grad_fn, torch.autograd.graph.Node)
    True
    >>> y.grad_fn.name()
    'MulBackward0'
    """

    @abc.abstractmethod
    def name(self):
        """Its name, as printed."""

    @property
    @abc.abstractmethod
    def next_functions(self):
        """The nodes that its results go to, as pairs (node, place among the node's inputs)."""

    @property
    @abc.abstractmethod
    def metadata(self):
        """A dict of the user."""

    @abc.abstractmethod
    def register_hook(self, fn):
        """Runs fn(grad_inputs, grad_outputs) after the node; what it returns, if anything,
        replaces grad_inputs."""

    @abc.abstractmethod
    def register_prehook(self, fn):
        """Runs fn(grad_outputs) before the node; what it returns, if anything, replaces them."""

    @classmethod
    def __subclasshook__(cls, subclass):
        if cls is Node and all(hasattr(subclass, name) for name in _NODE_NAMES):
            return True
        return NotImplemented


class GradientEdge(NamedTuple):
    """A place in the graph that a gradient comes to: an output of a node. It may stand for a
    tensor in torch.autograd.grad and backward.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor):
    """The place in the graph where the gradient of a tensor comes to.

    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node = tensor.grad_fn
    if node is not None:
        # The node of a custom Function lives as long as its results do.
        token = tensor if isinstance(node, BackwardCFunction) else None
        return GradientEdge(node, tensor.output_nr, token)
    # The node of a leaf is known only to the nodes that lead to it.
    with enable_grad():
        return GradientEdge(tensor.view_as(tensor).grad_fn.next_functions[0][0], 0)


def increment_version(tensor):
    """Counts a change of one tensor or several that autograd did not see.

    >>> x = torch.ones(1)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    for changed in tensors:
        if not isinstance(changed, Tensor):
            raise TypeError(f"increment_version expects tensors, not {type(changed).__name__}")
        # An op in place on none of its elements.
        with no_grad():
            changed.detach().as_strided((0,), (1,)).zero_()


class saved_tensors_hooks:
    """A with-block in which graphs keep pack_hook(tensor) instead of each tensor they save, and
    backward uses unpack_hook of that.

    >>> x = torch.tensor([2.], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([4.])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        _C._push_saved_tensor_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc_info):
        _C._pop_saved_tensor_hooks()


class save_on_cpu(saved_tensors_hooks):
    """A with-block in which graphs keep what they save in memory of the CPU, pinned if
    `pin_memory`, and bring it back to its device in backward.

    >>> x = torch.tensor([3.], requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            if not pin_memory or tensor.is_cpu:
                return tensor.device, tensor.cpu()
            empty = _C._functions["empty"]
            kept = empty(tensor.size(), dtype=tensor.dtype, device="cpu", pin_memory=True)
            kept.copy_(tensor)
            return tensor.device, kept

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """A with-block in which hooks on saved tensors are an error with this message.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     y = torch.ones(1, requires_grad=True) * 2
    """
    before = _C._saved_tensor_hooks_disabled_message()
    _C._disable_saved_tensor_hooks(error_message)
    try:
        yield
    finally:
        if before is None:
            _C._enable_saved_tensor_hooks()
        else:
            _C._disable_saved_tensor_hooks(before)


class _Handles(RemovableHandle):
    """Takes several hooks out at once."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, handles):
        self.handles = handles


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Runs a hook once per backward pass: with mode "all" fn(grads) when the gradients of all
    `tensors` are known, with "any" fn(grad) at the first of them. Where a pass does not reach all
    of them, mode "all" runs at its end, with None for the others. A hook that no gradient comes
    to does not run.

    >>> x = torch.ones(1, requires_grad=True)
    >>> y = torch.ones(1, requires_grad=True)
    >>> _ = torch.autograd.graph.register_multi_grad_hook((x, y), print)
    >>> (x * 2 + y).backward()
    [tensor([2.]), tensor([1.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    collector = _Collector(len(tensors), fn) if mode == "all" else _First(fn)
    return _Handles(
        tensor.register_hook(lambda grad, i=i: collector.take(i, grad))
        for i, tensor in enumerate(tensors)
    )


class _Collector:
    """Gathers the gradients of one backward pass."""

    def __init__(self, size, fn):
        self._fn, self._lock = fn, threading.Lock()
        self._size = size
        self._grads = None

    def take(self, i, grad):
        with self._lock:
            if self._grads is None:
                self._grads = [None] * self._size
                self._missing = set(range(self._size))
                _C._queue_callback(self._end)
            self._grads[i] = grad
            self._missing.discard(i)
            is_complete = not self._missing
            grads = self._grads
        if is_complete:
            self._fn(grads)

    def _end(self):
        with self._lock:
            grads, self._grads = self._grads, None
            is_complete = not self._missing
        if not is_complete:
            self._fn(grads)


class _First:
    """Runs for the first gradient of a backward pass."""

    def __init__(self, fn):
        self._fn, self._lock = fn, threading.Lock()
        self._has_run = False

    def take(self, i, grad):
        with self._lock:
            if self._has_run:
                return
            self._has_run = True
            _C._queue_callback(self._end)
        self._fn(grad)

    def _end(self):
        self._has_run = False


def allow_mutation_on_saved_tensors():
    """Not there: a saved tensor that is changed in place is an error in backward."""
    raise NotImplementedError(
        "allow_mutation_on_saved_tensors is not supported: clone a tensor before it is changed in "
        "place if backward needs it"
    )
