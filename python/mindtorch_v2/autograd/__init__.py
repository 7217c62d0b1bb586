"""torch.autograd: gradients of what tensors were computed with.

>>> x = torch.tensor([1., 2.], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

import warnings

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2.autograd import _engine, anomaly_mode, function, grad_mode, graph, variable
from mindtorch_v2.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from mindtorch_v2.autograd.function import Function
from mindtorch_v2.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from mindtorch_v2.autograd.variable import Variable

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "variable",
]


def backward(
    tensors,
    grad_tensors=None,
    retain_graph=None,
    create_graph=False,
    grad_variables=None,
    inputs=None,
):
    """Adds to `.grad` of the leaves that `tensors` were computed from, or of `inputs`.

    `grad_tensors` are the gradients to start from; of a tensor with one element it may be None,
    which means 1. The graph is freed unless `retain_graph`; with `create_graph` the gradients can
    be differentiated in turn.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.backward([x * x, 2 * x])
    >>> x.grad
    tensor(8.)
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is None:
        inputs = ()
    else:
        inputs = tuple(inputs.values()) if isinstance(inputs, dict) else _engine.as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _engine.as_tuple(tensors)
    if grad_tensors is not None:
        grad_tensors = _engine.as_tuple(grad_tensors)
    grads = _engine.make_grads(tensors, grad_tensors)
    _engine.run(tensors, grads, retain_graph, create_graph, inputs, True, True)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of the sum of `outputs`, weighted by `grad_outputs`, for `inputs`: a tuple,
    or a dict where `inputs` is one. No `.grad` changes.

    An input that has no part in the outputs is an error, or with `allow_unused` gets None, or
    with `materialize_grads` zeros. With `is_grads_batched` the first dimension of `grad_outputs`
    counts several of them, and that of the results the gradients for each.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.grad(x ** 3, x)
    (tensor(27.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if isinstance(inputs, dict):
        names, inputs = list(inputs), tuple(inputs.values())
    else:
        names, inputs = None, _engine.as_tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    outputs = _engine.as_tuple(outputs)
    if grad_outputs is not None:
        grad_outputs = _engine.as_tuple(grad_outputs)
    grads = _engine.make_grads(outputs, grad_outputs, is_grads_batched)
    allow_unused = bool(allow_unused or materialize_grads)
    if retain_graph is None:
        retain_graph = create_graph
    if is_grads_batched:
        result = _batched_grad(outputs, grads, retain_graph, create_graph, inputs, allow_unused)
    else:
        result = _engine.run(
            outputs, grads, retain_graph, create_graph, inputs, allow_unused, False
        )
    if materialize_grads:
        result = _with_zeros(result, inputs, create_graph)
    return result if names is None else dict(zip(names, result, strict=True))


def _batched_grad(outputs, grads, retain_graph, create_graph, inputs, allow_unused):
    """One backward pass for the whole batch."""
    from mindtorch_v2.func import vmap

    unused = ()

    def run(*grads):
        nonlocal unused
        found = _engine.run(outputs, grads, retain_graph, create_graph, inputs, allow_unused, False)
        unused = [g is None for g in found]
        return tuple(g for g in found if g is not None)

    found = iter(vmap(run)(*grads))
    return tuple(None if is_unused else next(found) for is_unused in unused)


def _with_zeros(grads, inputs, create_graph):
    result = []
    for grad, tensor in zip(grads, inputs, strict=True):
        if grad is None:
            if not isinstance(tensor, Tensor):
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge"
                )
            grad = _C._functions["zeros_like"](tensor, requires_grad=create_graph)
        result.append(grad)
    return tuple(result)


from mindtorch_v2.autograd import functional  # noqa: E402 - uses grad and Function
from mindtorch_v2.autograd.gradcheck import gradcheck, gradgradcheck  # noqa: E402


def _is_checkpoint_valid():
    """Whether a checkpoint with use_reentrant may run backward: not for given inputs only."""
    return not _engine.is_partial()


def __getattr__(name):
    import importlib

    if name in ("forward_ad", "profiler", "profiler_util"):  # they need much of the library
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("DeviceType", "ProfilerActivity", "kineto_available", "_supported_activities"):
        settings = importlib.import_module(f"{__name__}._profiler_settings")
        return getattr(settings, name.removeprefix("_"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
