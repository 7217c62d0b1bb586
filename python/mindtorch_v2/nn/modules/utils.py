"""What several layers need."""


def per_dimension(value, count):
    """value as a tuple with one entry per dimension."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * count


def _ntuple(count, name="parse"):
    """A function that makes a value a tuple of `count`; programs import these by torch's names."""

    def parse(value):
        return per_dimension(value, count)

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes a prefix off the keys of a state_dict, in place: "module." of a wrapped model's.

    >>> state = {"module.weight": 1}
    >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        # The wrapped module itself is named without the dot.
        if key == prefix.removesuffix("."):
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
