"""Flattening along a structure that is known: for GraphModules that take nested arguments."""

from collections import namedtuple

from mindtorch_v2.utils._pytree_nodes import is_namedtuple_class

SUPPORTED_NODES = {}  # class: function(value, spec) -> children
SUPPORTED_NODES_EXACT_MATCH = {}  # class: function(value, spec) -> whether the sizes agree


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """Tells how the children of `cls` are found along a structure.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> torch.fx._pytree.register_pytree_flatten_spec(Pair, lambda pair, spec: [pair.a, pair.b])
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _deregister_pytree_flatten_spec(cls):
    del SUPPORTED_NODES[cls], SUPPORTED_NODES_EXACT_MATCH[cls]


def tree_flatten_spec(pytree, spec):
    """The leaves of `pytree` along `spec`. More entries than the structure has are left out.

    >>> import mindtorch_v2.utils._pytree as pytree
    >>> _, spec = pytree.tree_flatten([0, {"a": 0}])
    >>> torch.fx._pytree.tree_flatten_spec([1, {"a": 2}], spec)
    [1, 2]
    """
    if spec.is_leaf():
        return [pytree]
    kind = namedtuple if is_namedtuple_class(spec.type) else spec.type
    if kind not in SUPPORTED_NODES:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register "
            "one with torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your "
            "model, make sure that any custom pytrees have been registered before loading it."
        )
    leaves = []
    children = SUPPORTED_NODES[kind](pytree, spec)
    for child, child_spec in zip(children, spec.children(), strict=True):
        leaves += tree_flatten_spec(child, child_spec)
    return leaves


def _entries(value, spec):
    return [value[i] for i in range(spec.num_children)]


register_pytree_flatten_spec(dict, lambda value, spec: [value[key] for key in spec.context])
register_pytree_flatten_spec(list, _entries)
register_pytree_flatten_spec(tuple, _entries)
register_pytree_flatten_spec(namedtuple, _entries)
