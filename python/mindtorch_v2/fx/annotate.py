"""annotate: types of values while a program is traced."""

from mindtorch_v2.fx.proxy import Proxy


def annotate(val, type):
    """Notes the type of a traced value; gives back anything else as it is.

    >>> def program(x):
    ...     return torch.fx.annotate.annotate(x + 1, int)
    >>> torch.fx.symbolic_trace(program).graph.find_nodes(op="call_function")[0].type
    <class 'int'>
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"Tried to annotate a value that already had a type on it! Existing type is "
                f"{val.node.type} and new type is {type}. This could happen if you tried to "
                "annotate a function parameter value (in which case you should use the type slot "
                "on the function signature) or you called annotate on the same value twice"
            )
        val.node.type = type
    return val
