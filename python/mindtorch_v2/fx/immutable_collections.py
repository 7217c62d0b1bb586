"""Lists and dicts that cannot be changed: what the arguments of a Node hold.

A node keeps track of the nodes it uses. Changing a list in place would go unnoticed, so that it
raises; assign new arguments to the node instead.
"""

from mindtorch_v2.utils import _pytree
from mindtorch_v2.utils._pytree_nodes import (
    _flatten_list,
    _flatten_mapping,
    _mapping_keys,
    _sequence_keys,
)

__all__ = ["immutable_dict", "immutable_list"]

_HELP = """\
If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""


def _refuse(self, *args, **kwargs):
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_HELP}")


class immutable_list(list):
    """A list that raises TypeError where a list would change.

    >>> items = torch.fx.immutable_collections.immutable_list([1, 2])
    >>> items + [3]
    [1, 2, 3]
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that raises TypeError where a dict would change.

    >>> torch.fx.immutable_collections.immutable_dict(a=1)["a"]
    1
    """

    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (tuple(self.items()),)


_pytree.register_pytree_node(
    immutable_list,
    _flatten_list,
    lambda entries, _: immutable_list(entries),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=_sequence_keys,
)
_pytree.register_pytree_node(
    immutable_dict,
    _flatten_mapping,
    lambda entries, keys: immutable_dict(zip(keys, entries, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=_mapping_keys,
)
