"""How losses turn one value per element into one number."""

import warnings


def get_enum(reduction):
    """Refuses what is no reduction; gives torch's number of it."""
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=3,
        )
        return 1
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ("none", "mean", "sum").index(reduction)


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The reduction that the old arguments size_average and reduce mean."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = "none" if not reduce else "mean" if size_average else "sum"
    if emit_warning:
        warnings.warn(
            "size_average and reduce args will be deprecated, "
            f"please use reduction='{reduction}' instead.",
            stacklevel=4,
        )
    return reduction


def name(reduction, size_average, reduce):
    """What all three arguments of a loss mean together."""
    if size_average is not None or reduce is not None:
        return legacy_get_string(size_average, reduce)
    return reduction


def chosen(reduction, size_average, reduce):
    """The number of it, which must be a reduction."""
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return get_enum(reduction)


def reduced(loss, kind):
    """loss, its mean or its sum."""
    return loss if kind == 0 else loss.mean() if kind == 1 else loss.sum()
