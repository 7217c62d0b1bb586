"""Arguments of backward passes, and the passes themselves."""

import threading

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor

_ones_like = _C._functions["ones_like"]
_state = threading.local()


def is_partial():
    """Whether the backward pass of this thread computes the gradients of chosen inputs only."""
    return getattr(_state, "partial", 0) > 0


def run(outputs, grads, retain_graph, create_graph, inputs, allow_unused, accumulate):
    """One backward pass from `outputs`; all gradients are there."""
    if retain_graph is None:
        retain_graph = create_graph
    if create_graph and accumulate:
        warn_about_cycle()
    if any(_is_sparse(each) for each in grads):
        from mindtorch_v2.sparse import _autograd

        grads = _autograd.seeds_like(outputs, grads)
    if any(_is_sparse(each) for each in (*outputs, *inputs)):
        return _run_sparse(
            outputs, grads, retain_graph, create_graph, inputs, allow_unused, accumulate
        )
    arguments = (grads, retain_graph, create_graph, _edges(inputs), allow_unused, accumulate)
    if not inputs:
        return _C._run_backward(_edges(outputs), *arguments)
    _state.partial = getattr(_state, "partial", 0) + 1
    try:
        return _C._run_backward(_edges(outputs), *arguments)
    finally:
        _state.partial -= 1


def _is_sparse(value):
    return isinstance(value, Tensor) and value.layout is not _C.strided


def _run_sparse(outputs, grads, retain_graph, create_graph, inputs, allow_unused, accumulate):
    """The same for sparse tensors among `outputs` and `inputs`."""
    from mindtorch_v2.sparse import _autograd

    if accumulate:
        outputs, grads = _autograd.accumulate_in_leaves(outputs, grads, inputs)
        if not outputs:
            return None
    found = run(
        _autograd.values_of(outputs),
        _autograd.seeds_of(outputs, grads),
        retain_graph,
        create_graph,
        _autograd.values_of(inputs),
        allow_unused,
        accumulate,
    )
    return found if accumulate else _autograd.gradients_for(inputs, found)


def warn_about_cycle():
    """Said of gradients with a graph that stay in `.grad`."""
    import warnings

    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the "
        "parameter and its gradient which can cause a memory leak. We recommend using "
        "autograd.grad when creating the graph to avoid this. If you have to use this function, "
        "make sure to reset the .grad fields of your parameters to None after use to break the "
        "cycle and avoid the leak.",
        stacklevel=4,
    )


def is_edge(value):
    """Whether it is a graph.GradientEdge."""
    return isinstance(value, tuple) and hasattr(value, "output_nr")


def _edges(values):
    return tuple((v.node, v.output_nr) if is_edge(v) else v for v in values)


def as_tuple(values):
    """One tensor or edge, or several, as a tuple."""
    return (values,) if isinstance(values, Tensor) or is_edge(values) else tuple(values)


def make_grads(outputs, grads, is_batched=False):
    """Gradients of `outputs`, made where there is None."""
    if grads is None:
        grads = (None,) * len(outputs)
    elif len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    return tuple(
        _make_grad(i, output, grad, is_batched)
        for i, (output, grad) in enumerate(zip(outputs, grads, strict=True))
    )


def _make_grad(i, output, grad, is_batched):
    if grad is None:
        return _implicit_grad(i, output)
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if is_edge(output):
        return grad
    shape = grad.shape[1:] if is_batched else grad.shape
    if shape != output.shape:
        found = (
            f"grad_output[{i}] has a shape of {grad.shape} and output[{i}] has a shape of "
            f"{output.shape}."
        )
        if not is_batched:
            raise RuntimeError(f"Mismatch in shape: {found}")
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as "
            "the batch dimension. The sizes of the remaining dimensions are expected to match the "
            f"shape of corresponding output, but a mismatch was detected: {found} If you only "
            "want some tensors in `grad_output` to be considered batched, consider using vmap."
        )
    if output.dtype.is_complex != grad.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{i}] has a dtype of {grad.dtype} and output[{i}] has "
            f"a dtype of {output.dtype}."
        )
    return grad


def _implicit_grad(i, output):
    if is_edge(output):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not output.requires_grad:
        raise RuntimeError(
            f"element {i} of tensors does not require grad and does not have a grad_fn"
        )
    if output.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not output.dtype.is_floating_point:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {output.dtype}"
        )
    return _ones_like(output)
