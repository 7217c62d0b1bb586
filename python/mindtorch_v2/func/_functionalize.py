"""functionalize: a function without mutations."""

import functools


def functionalize(func, *, remove="mutations"):
    """The same function. Torch rewrites ops in place for compilers that cannot handle them; there
    is none here, so nothing is left to remove.

    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.ones(1))
    tensor([2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for remove=. Valid "
            "options are:\n     remove='mutations': all inplace and out= operators will be removed "
            "from the program, and replaced with their out-of-place equivalents.\n     "
            "remove='mutations_and_views': In addition to the above, all aliasing operators "
            "{view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def same(*args, **kwargs):
        return func(*args, **kwargs)

    return same
