"""torch.autograd.functional: products with Jacobians and Hessians, and those matrices."""

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2._grad_mode import enable_grad
from mindtorch_v2.autograd import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_ones_like = _C._functions["ones_like"]
_zeros_like = _C._functions["zeros_like"]
_stack = _C._functions["stack"]

_NOT_ALLOWED = "This is not allowed in strict mode"
_LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    "respect to input {} is independent of the input. This is not allowed in strict mode. You "
    "should ensure that your function is twice differentiable and that the jacobian depends on "
    "the inputs (this would be violated by a linear function for example)."
)
_UNUSED = f"The output of the user-provided function is independent of input {{}}. {_NOT_ALLOWED}."


# --- Arguments and results ------------------------------------------------------------------------


def _as_tuple(values, what, name):
    """(whether it was a tuple, the tensors as a tuple)"""
    is_tuple = isinstance(values, tuple)
    expected = f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the"
    if not is_tuple and not isinstance(values, Tensor):
        # Said as torch says it: of the result, not of what it was given to.
        subject = what.removesuffix(" given to")
        raise TypeError(f"{expected} given {subject} has type {type(values)}.")
    values = values if is_tuple else (values,)
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(f"{expected} value at index {i} has type {type(value)}.")
    return is_tuple, values


def _own(tensors, create_graph, needs_graph):
    """The tensors apart from the graph around, or with `create_graph` behind a node of it."""
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(needs_graph)
        for t in tensors
    )


def _finish(values, is_tuple, create_graph):
    """What the user gets: out of the graph unless `create_graph`, a tuple if it is to be one."""
    if not create_graph:
        values = _detached(values)
    return values if is_tuple else values[0]


def _detached(values):
    if isinstance(values, Tensor):
        return values.detach()
    return tuple(map(_detached, values))


def _vector(v, like, create_graph, name, problem):
    """The vectors to multiply with, of the shapes of `like`."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {problem}")
        return tuple(_ones_like(t) for t in like)
    _, v = _as_tuple(v, "v", name)
    v = _own(v, create_graph, False)
    if len(v) != len(like):
        if len(like) == 1:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
        )
    for i, (vector, tensor) in enumerate(zip(v, like, strict=True)):
        if vector.shape != tensor.shape:
            entry = f"Entry {i} in v" if len(like) > 1 else "v"
            raise RuntimeError(
                f"{entry} has invalid size: should be {tensor.shape} but got {vector.shape}."
            )
    return v


_SINGLE_INPUT = "the input to the user-provided function is a single Tensor with a single element."
_SINGLE_OUTPUT = "the user-provided function returns a single Tensor with a single element."


def _call(func, inputs, name, strict):
    """(whether func returned a tuple, what it returned)"""
    is_tuple, outputs = _as_tuple(func(*inputs), "outputs of the user-provided function", name)
    if strict:
        for i, output in enumerate(outputs):
            if not output.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The "
                    "outputs must be computed in a differentiable manner from the input when "
                    "running in strict mode."
                )
    return is_tuple, outputs


def _call_scalar(func, inputs, name, strict):
    is_tuple, outputs = _call(func, inputs, name, strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
    return outputs[0].squeeze()


# --- Gradients of outputs that need not depend on anything ----------------------------------------


def _grads(outputs, inputs, grad_outputs, create_graph):
    """The gradients of `inputs`, None where there is none. The graph is kept."""
    pairs = [
        (output, g) for output, g in zip(outputs, grad_outputs, strict=True) if output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    outputs, grad_outputs = zip(*pairs, strict=True)
    return grad(outputs, inputs, grad_outputs, True, create_graph, allow_unused=True)


def _filled(grads, like, strict, unused, constant):
    """`grads` with zeros in the place of None. In strict mode None is an error, `unused`, and so
    is what does not depend on anything, `constant` (not asked if None)."""
    result = []
    for i, (g, tensor) in enumerate(zip(grads, like, strict=True)):
        if strict and g is None:
            raise RuntimeError(unused.format(i))
        if strict and constant is not None and not g.requires_grad:
            raise RuntimeError(constant.format(i))
        result.append(_zeros_like(tensor) if g is None else g)
    return tuple(result)


def _constant(what, create_graph):
    if not create_graph:
        return None
    return (
        f"The {what} of the user-provided function is independent of input {{}}. "
        f"{_NOT_ALLOWED} when create_graph=True."
    )


# --- Products -------------------------------------------------------------------------------------


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the product of the vector `v` with the Jacobian of func)

    >>> x = torch.tensor([1., 2.])
    >>> torch.autograd.functional.vjp(lambda x: x ** 2, x, torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", "vjp")
        inputs = _own(inputs, create_graph, True)
        is_out_tuple, outputs = _call(func, inputs, "vjp", strict)
        v = _vector(v, outputs, create_graph, "vjp", _SINGLE_OUTPUT)
        grads = _grads(outputs, inputs, v, create_graph)
        grads = _filled(grads, inputs, strict, _UNUSED, _constant("jacobian", create_graph))
    return (
        _finish(outputs, is_out_tuple, create_graph),
        _finish(grads, is_tuple, create_graph),
    )


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the product of the Jacobian of func with the vector `v`)

    The gradient of the inputs is linear in the gradient of the outputs, by the Jacobian; the
    gradient of that, in turn, is the product.

    >>> x = torch.tensor([1., 2.])
    >>> torch.autograd.functional.jvp(lambda x: x ** 2, x, torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        _, inputs = _as_tuple(inputs, "inputs", "jvp")
        inputs = _own(inputs, create_graph, True)
        v = _vector(v, inputs, create_graph, "jvp", _SINGLE_INPUT)
        is_tuple, outputs = _call(func, inputs, "jvp", strict)
        # At 0 some ways to compute the map are not smooth.
        weights = tuple(_ones_like(output).requires_grad_() for output in outputs)
        grads = _grads(outputs, inputs, weights, True)
        constant = f"The gradient with respect to input {{}} is independent of the inputs of the \
user-provided function. {_NOT_ALLOWED}."
        grads = _filled(grads, inputs, strict, _UNUSED, constant)
        products = _grads(grads, weights, v, create_graph)
        unused = (
            "The gradient with respect to the input is independent of entry {} in the "
            "grad_outputs when using the double backward trick to compute forward mode gradients. "
            f"{_NOT_ALLOWED}."
        )
        constant = _constant("jacobian", create_graph)
        products = _filled(products, outputs, strict, unused, constant)
    return _finish(outputs, is_tuple, create_graph), _finish(products, is_tuple, create_graph)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the product of the vector `v` with the Hessian of func, which returns one
    number)

    >>> x = torch.tensor([1., 2.])
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the product of the Hessian of func, which returns one number, with `v`)

    A Hessian is symmetric: this is vhp under another name.

    >>> x = torch.tensor([1., 2.])
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(name, func, inputs, v, create_graph, strict):
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", name)
        inputs = _own(inputs, create_graph, True)
        v = _vector(v, inputs, create_graph, name, _SINGLE_INPUT)
        output = _call_scalar(func, inputs, name, strict)
        ones = (_ones_like(output),)
        jacobian = _filled(_grads((output,), inputs, ones, True), inputs, strict, _UNUSED, _LINEAR)
        products = _grads(jacobian, inputs, v, create_graph)
        unused = (
            "The jacobian of the user-provided function is independent of input {}. "
            f"{_NOT_ALLOWED}."
        )
        constant = _constant("hessian", create_graph)
        products = _filled(products, inputs, strict, unused, constant)
    return _finish((output,), False, create_graph), _finish(products, is_tuple, create_graph)


# --- Matrices -------------------------------------------------------------------------------------


def _check_strategy(name, strategy, create_graph, strict, vectorize):
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                f"torch.autograd.functional.{name}: `create_graph=True` and "
                '`strategy="forward-mode"` are not supported together (yet). Please either set '
                '`create_graph=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
                "only implemented for `vectorize=True`."
            )
    if strict and vectorize:
        raise RuntimeError(
            f"torch.autograd.functional.{name}: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """The Jacobian of func: of shape (*output, *input), a tuple over inputs and one over outputs
    where they are tuples. It takes one backward pass per element of the outputs, or with
    `vectorize` one for all of them, or, by the strategy "forward-mode", for all of the inputs.

    >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy("jacobian", strategy, create_graph, strict, vectorize)
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
        if strategy == "forward-mode":
            return _detached(_forward_jacobian(func, inputs, is_tuple))
        inputs = _own(inputs, create_graph, True)
        is_out_tuple, outputs = _call(func, inputs, "jacobian", strict)
        if vectorize and any(output.numel() for output in outputs):
            rows = _all_rows(outputs, inputs, create_graph)
        else:
            rows = [_rows(i, y, inputs, create_graph, strict) for i, y in enumerate(outputs)]
        blocks = tuple(_finish(block, is_tuple, create_graph) for block in rows)
    return blocks if is_out_tuple else blocks[0]


def _forward_jacobian(func, inputs, is_tuple):
    from mindtorch_v2.func import jacfwd

    argnums = tuple(range(len(inputs))) if is_tuple else 0
    return jacfwd(func, argnums)(*(x.detach() for x in inputs))


def _all_rows(outputs, inputs, create_graph):
    """The Jacobian of all outputs, by one backward pass: for each, one tensor per input."""
    from mindtorch_v2.func._jacobians import unit_vectors, vmap

    def run(*vectors):
        grads = _grads(outputs, inputs, vectors, create_graph)
        return _filled(grads, inputs, False, None, None)

    columns = [
        rows.split([y.numel() for y in outputs]) for rows in vmap(run)(*unit_vectors(outputs))
    ]
    return [
        tuple(part.view((*y.shape, *x.shape)) for part, x in zip(parts, inputs, strict=True))
        for y, parts in zip(outputs, zip(*columns, strict=True), strict=True)
    ]


def _rows(i, output, inputs, create_graph, strict):
    """The Jacobian of one output, one tensor per input."""
    unused = (
        f"Output {i} of the user-provided function is independent of input {{}}. {_NOT_ALLOWED}."
    )
    constant = _constant("jacobian", create_graph)
    rows = []
    for place in range(output.numel()):
        one = _zeros_like(output, memory_format=_C.contiguous_format)
        one.view(-1)[place] = 1
        grads = _grads((output,), inputs, (one,), create_graph)
        rows.append(_filled(grads, inputs, strict, unused, constant))
    if not rows:
        empty = _C._functions["zeros"]
        return tuple(
            empty((*output.shape, *x.shape), dtype=output.dtype, device=x.device) for x in inputs
        )
    columns = zip(*rows, strict=True)
    return tuple(
        _stack(column).view((*output.shape, *x.shape))
        for column, x in zip(columns, inputs, strict=True)
    )


def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """The Hessian of func, which returns one number: of shape (*input, *input), a tuple of tuples
    where `inputs` is one.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    is_tuple, inputs = _as_tuple(inputs, "inputs", "hessian")
    _check_strategy("jacobian", outer_jacobian_strategy, create_graph, strict, vectorize)

    def gradients(*inputs):
        def number(*inputs):
            return _call_scalar(func, inputs, "hessian", strict)

        result = jacobian(number, inputs, create_graph=True)
        if strict:
            for i, row in enumerate(result):
                if not row.requires_grad:
                    raise RuntimeError(_LINEAR.format(i))
        return result

    result = jacobian(gradients, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return result if is_tuple else result[0][0]
