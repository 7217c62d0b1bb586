"""Jacobians and Hessians: products with all unit vectors, as one batch."""

import functools

from mindtorch_v2 import _C
from mindtorch_v2.func._graph import Graph
from mindtorch_v2.func._transforms import Arguments, check_outputs, release_aux, split_aux
from mindtorch_v2.func._vmap import vmap
from mindtorch_v2.utils import _pytree as pytree

_zeros = _C._functions["zeros"]


def unit_vectors(tensors):
    """All unit vectors of a list of tensors: one tensor for each, with the vectors in dim 0."""
    count = sum(t.numel() for t in tensors)
    start = 0
    vectors = []
    for t in tensors:
        block = _zeros((count, t.numel()), dtype=t.dtype, device=t.device)
        block[start : start + t.numel()].fill_diagonal_(1)
        vectors.append(block.view(count, *t.shape))
        start += t.numel()
    return vectors


def _evaluate(func, args, kwargs, argnums, has_aux, name):
    arguments = Arguments(args, argnums)
    with Graph(arguments.leaves) as graph:
        result = func(*arguments.replaced(graph.inputs), **kwargs)
        outputs, aux = split_aux(result, has_aux, name)
        values, spec = pytree.tree_flatten(outputs)
        check_outputs(values, name)
        graph.finish(values)
    return arguments, graph, values, spec, aux


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """The Jacobian of `func` for the arguments `argnums`, of shape (*output, *input), by products
    with vectors of the outputs: for functions with fewer outputs than inputs. `chunk_size` rows
    are computed at a time.

    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        arguments, graph, values, spec, aux = _evaluate(
            func, args, kwargs, argnums, has_aux, "vjp(f, *primals)"
        )
        rows = vmap(lambda *v: graph.pull(v), chunk_size=chunk_size)(*unit_vectors(values))
        blocks = []
        for x, all_rows in zip(arguments.leaves, rows, strict=True):
            parts = all_rows.split([y.numel() for y in values])
            blocks.append(
                [part.view(*y.shape, *x.shape) for part, y in zip(parts, values, strict=True)]
            )
        by_output = [arguments.structured(list(column)) for column in zip(*blocks, strict=True)]
        result = pytree.tree_unflatten(by_output, spec)
        return (result, release_aux(graph, aux)) if has_aux else result

    return jacobian


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The Jacobian of `func` for the arguments `argnums`, of shape (*output, *input), by products
    with vectors of the inputs: for functions with fewer inputs than outputs. The function itself
    runs once.

    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        arguments, graph, values, spec, aux = _evaluate(
            func, args, kwargs, argnums, has_aux, "jvp(f, primals, tangents)"
        )

        def product(*v):
            return tuple(
                graph.zero_tangent(i) if p is None else p for i, p in enumerate(graph.push(v))
            )

        columns = vmap(product, out_dims=-1, randomness=randomness)(*unit_vectors(arguments.leaves))
        by_output = []
        for y, all_columns in zip(values, columns, strict=True):
            parts = all_columns.split([x.numel() for x in arguments.leaves], dim=-1)
            by_output.append(
                arguments.structured(
                    [
                        part.reshape(*y.shape, *x.shape)
                        for part, x in zip(parts, arguments.leaves, strict=True)
                    ]
                )
            )
        result = pytree.tree_unflatten(by_output, spec)
        return (result, release_aux(graph, aux)) if has_aux else result

    return jacobian


def hessian(func, argnums=0):
    """The Hessian of `func` for the arguments `argnums`, of shape (*output, *input, *input).

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
