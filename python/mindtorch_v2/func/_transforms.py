"""Gradients, and products with Jacobians."""

import functools

from mindtorch_v2._C import Tensor
from mindtorch_v2.func._graph import Graph, check_tensors
from mindtorch_v2.utils import _pytree as pytree


def _read_argnums(argnums, count):
    """The positions, counted from the front."""
    if not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if argnums == ():
        raise RuntimeError("argnums must be non-empty")
    positions = (argnums,) if isinstance(argnums, int) else argnums
    for position in positions:
        if not isinstance(position, int):
            raise RuntimeError(f"argnums elements must be int, got {type(position)}")
        if not -count <= position < count:
            raise RuntimeError(f"Got argnum={position}, but only {count} positional inputs")
    positions = [position % count for position in positions]
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return positions


class Arguments:
    """The arguments of a function, some of which are to be replaced by others like them."""

    def __init__(self, args, argnums):
        self._args = list(args)
        self._positions = _read_argnums(argnums, len(args))
        chosen = tuple(args[i] for i in self._positions)
        self.leaves, self._spec = pytree.tree_flatten(chosen)
        check_tensors(self.leaves)
        self._is_one = isinstance(argnums, int)

    def replaced(self, leaves):
        args = list(self._args)
        for i, value in zip(
            self._positions, pytree.tree_unflatten(leaves, self._spec), strict=True
        ):
            args[i] = value
        return args

    def structured(self, leaves):
        """Results in the structure of the chosen arguments."""
        values = pytree.tree_unflatten(leaves, self._spec)
        return values[0] if self._is_one else values


def split_aux(result, has_aux, name):
    """(what is differentiated, what is only passed on)"""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return result


def release_aux(graph, aux):
    def release(value):
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
        return graph.release(value)

    return pytree.tree_map(release, aux)


def check_outputs(leaves, name):
    for value in leaves:
        if not isinstance(value, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(value)}"
            )


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives (gradient, value) of `func`, which returns one number, or with
    `has_aux` (number, anything): then (gradient, (value, anything)).

    >>> torch.func.grad_and_value(lambda x: x ** 2)(torch.tensor(3.))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def differentiated(*args, **kwargs):
        arguments = Arguments(args, argnums)
        with Graph(arguments.leaves) as graph:
            result = func(*arguments.replaced(graph.inputs), **kwargs)
            name = "grad_and_value(f)(*args)"
            value, aux = split_aux(result, has_aux, name)
            if not isinstance(value, Tensor):
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a Tensor, got {type(value)}"
                )
            if value.dim() != 0:
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            graph.finish((value,))
        grads = arguments.structured(graph.pull(graph.ones(), retain_graph=False))
        value = graph.release(value)
        return grads, ((value, release_aux(graph, aux)) if has_aux else value)

    return differentiated


def grad(func, argnums=0, has_aux=False):
    """The gradient of `func`, which returns one number, for the arguments `argnums`, which may be
    structures of tensors. With `has_aux` func returns (number, anything), and the gradient
    (gradient, anything).

    >>> torch.func.grad(lambda x: x.sin().sum())(torch.zeros(2))
    tensor([1., 1.])
    >>> torch.func.grad(torch.func.grad(torch.exp))(torch.tensor(0.))
    tensor(1.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def differentiated(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return differentiated


def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function that multiplies a vector of the outputs' structure with the
    Jacobian: one gradient per primal)

    >>> value, product = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> product(torch.tensor([1., 2.]))
    (tensor([1., 2.]),)
    """
    leaves, spec = pytree.tree_flatten(primals)
    check_tensors(leaves)
    with Graph(leaves) as graph:
        result = func(*pytree.tree_unflatten(graph.inputs, spec))
        outputs, aux = split_aux(result, has_aux, "vjp(f, *primals)")
        values, out_spec = pytree.tree_flatten(outputs)
        check_outputs(values, "vjp(f, *primals)")
        graph.finish(values)

    def product(cotangents, retain_graph=True, create_graph=None):
        vectors, given = pytree.tree_flatten(cotangents)
        if given != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {_show(given)}, primal output: "
                f"{_show(out_spec)}"
            )
        grads = graph.pull(vectors, retain_graph, bool(create_graph))
        return pytree.tree_unflatten(grads, spec)

    shown = pytree.tree_unflatten(map(graph.release, values), out_spec)
    return (shown, product, release_aux(graph, aux)) if has_aux else (shown, product)


def _show(spec):
    """A structure with * for leaves, as torch writes it."""
    return str(pytree.tree_unflatten([_Star()] * spec.num_leaves, spec))


class _Star:
    def __repr__(self):
        return "*"


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), the product of its Jacobian with `tangents`)

    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.tensor([1., 2.]),))
    (tensor([0., 0.]), tensor([1., 2.]))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    leaves, spec = pytree.tree_flatten(primals)
    vectors, given = pytree.tree_flatten(tangents)
    if given != spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For "
            f"example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {given}"
        )
    for value in (*leaves, *vectors):
        if not isinstance(value, Tensor):
            raise RuntimeError(
                f"{name}: Expected all inputs to be Tensors, got unsupported type {type(value)}"
            )
    graph, values, out_spec, aux = _evaluate(func, leaves, spec, has_aux, name)
    products = []
    for i, product in enumerate(graph.push(vectors)):
        if product is None and strict:
            raise RuntimeError(
                f"{name}: The output of f is independent of inputs. This is not allowed with "
                "strict=True."
            )
        products.append(graph.zero_tangent(i) if product is None else product)
    shown = pytree.tree_unflatten(map(graph.release, values), out_spec)
    products = pytree.tree_unflatten(products, out_spec)
    return (shown, products, release_aux(graph, aux)) if has_aux else (shown, products)


def _evaluate(func, leaves, spec, has_aux, name):
    with Graph(leaves) as graph:
        result = func(*pytree.tree_unflatten(graph.inputs, spec))
        outputs, aux = split_aux(result, has_aux, name)
        values, out_spec = pytree.tree_flatten(outputs)
        check_outputs(values, name)
        graph.finish(values)
    return graph, values, out_spec, aux


def linearize(func, *primals):
    """(func(*primals), a function that multiplies its Jacobian with tangents). The function runs
    once, however many products are asked for.

    >>> value, product = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> product(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """
    leaves, spec = pytree.tree_flatten(primals)
    check_tensors(leaves)
    graph, values, out_spec, _ = _evaluate(func, leaves, spec, False, "linearize(f, *primals)")

    def product(*tangents):
        vectors, given = pytree.tree_flatten(tangents)
        if given != spec:
            raise RuntimeError(
                "Expected the tangents to have the same structure as the primals, got "
                f"{given} and {spec}"
            )
        products = [
            graph.zero_tangent(i) if p is None else p for i, p in enumerate(graph.push(vectors))
        ]
        return pytree.tree_unflatten(products, out_spec)

    return pytree.tree_unflatten(map(graph.release, values), out_spec), product
