"""A function at a point, as the graph of what it computes there."""

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2._grad_mode import enable_grad

_zeros_like = _C._functions["zeros_like"]
_ones_like = _C._functions["ones_like"]


def check_tensors(values):
    """Raises where something is no tensor that gradients can be asked for."""
    for value in values:
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")


class Graph:
    """Products with the Jacobian of a function: `with Graph(inputs) as graph`, call the function on
    `graph.inputs` and give its results to `graph.finish`.

    Inside vmap it works on the ordinary tensors behind batched ones, which have all samples: since
    those do not depend on each other, one pass gives the gradients of all.

    What it gives can be differentiated in turn exactly where the function read something else that
    requires grad: an input of another graph around this one, or a tensor of the user's.
    """

    def __init__(self, inputs):
        self._level = _C._vmap_level()
        self._nests = _C._is_grad_enabled()
        self._leaves = []
        self._transposed = None
        self.inputs = tuple(map(self.add_input, inputs))

    def add_input(self, x):
        """One more input, as the function gets it."""
        with enable_grad():
            leaf = self._own(_C._to_physical(x, self._level))
            self._leaves.append(leaf)
            return self._show(leaf)

    def _own(self, x):
        if self._nests and x.requires_grad:
            return x.view_as(x)
        return x.detach().requires_grad_()

    def _show(self, x):
        return _C._from_physical(x, self._level)

    def __enter__(self):
        self._mode = enable_grad()
        self._mode.__enter__()
        return self

    def __exit__(self, *error):
        self._mode.__exit__(*error)

    def finish(self, outputs):
        """What the function returned."""
        self._outputs = tuple(_C._to_physical(y, self._level) for y in outputs)
        self._nests &= _C._reaches_other_leaves(self._outputs, self._leaves)

    def release(self, value):
        """A result for the user, who knows nothing of this graph."""
        return value if self._nests else value.detach()

    def ones(self):
        """The gradient to start from, of one number per sample."""
        return tuple(self._show(_ones_like(y)) for y in self._outputs)

    def pull(self, cotangents, retain_graph=True, create_graph=False):
        """The products of vectors with the Jacobian: gradients of the inputs."""
        vectors = [_C._to_physical(v, self._level) for v in cotangents]
        for i, (v, y) in enumerate(zip(vectors, self._outputs, strict=True)):
            if v.shape != y.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of "
                    f"{cotangents[i].shape} and output[{i}] has a shape of "
                    f"{self._show(y).shape}."
                )
        create_graph = create_graph or self._creates_graph(vectors)
        grads = _run(
            self._outputs, vectors, retain_graph or create_graph, create_graph, self._leaves
        )
        return tuple(
            self._show(_zeros_like(leaf).detach() if g is None else g)
            for g, leaf in zip(grads, self._leaves, strict=True)
        )

    def push(self, tangents):
        """The products of the Jacobian with vectors, None for outputs that do not depend on the
        inputs.

        The gradients of the inputs are linear in those of the outputs; the gradient of that map, in
        turn, is the product.
        """
        vectors = [_C._to_physical(v, self._level) for v in tangents]
        for v, x in zip(vectors, self._leaves, strict=True):
            if v.shape != x.shape:
                raise RuntimeError(
                    "Trying to set a forward gradient that has a different size than that of the "
                    "original Tensor, this is not supported. Tensor is of size "
                    f"{list(self._show(x).shape)} while the given forward gradient is of size "
                    f"{list(self._show(v).shape)}."
                )
        if self._transposed is None:
            # Any weights do, since the map is linear; at 0 some ways to compute it are not smooth.
            weights = tuple(
                _ones_like(y).detach().requires_grad_(y.requires_grad) for y in self._outputs
            )
            self._transposed = weights, _run(self._outputs, weights, True, True, self._leaves)
        weights, grads = self._transposed
        pairs = [
            (g, v) for g, v in zip(grads, vectors, strict=True) if g is not None and g.requires_grad
        ]
        products = [None] * len(weights)
        wanted = [i for i, w in enumerate(weights) if w.requires_grad]
        if pairs and wanted:
            grads, vectors = zip(*pairs, strict=True)
            found = _run(
                grads, vectors, True, self._creates_graph(vectors), [weights[i] for i in wanted]
            )
            for i, product in zip(wanted, found, strict=True):
                products[i] = product
        return tuple(None if p is None else self._show(p) for p in products)

    def zero_tangent(self, i):
        """The product for an output that does not depend on the inputs."""
        return self._show(_zeros_like(self._outputs[i]).detach())

    def _creates_graph(self, vectors):
        return self._nests or (_C._is_grad_enabled() and any(map(_C._is_tracked, vectors)))


def _run(outputs, vectors, retain_graph, create_graph, inputs):
    """One backward pass; None for inputs that no output depends on."""
    pairs = [(y, v) for y, v in zip(outputs, vectors, strict=True) if y.requires_grad]
    if not pairs or not inputs:
        return (None,) * len(inputs)
    outputs, vectors = zip(*pairs, strict=True)
    return _C._run_backward(
        outputs, vectors, retain_graph, create_graph, tuple(inputs), True, False
    )
