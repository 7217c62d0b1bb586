"""compatibility: marks functions and classes whose behaviour libraries may rely on."""

import textwrap

_BACK_COMPAT_OBJECTS = {}
_MARKED_WITH_COMPATIBILITY = {}


def compatibility(is_backward_compatible):
    """A decorator that notes in the docstring whether a name is to stay as it is.

    >>> from mindtorch_v2.fx._compatibility import compatibility
    >>> @compatibility(is_backward_compatible=True)
    ... def double(x):
    ...     return 2 * x
    >>> double.__doc__.strip()
    '.. note::\\n    Backwards-compatibility for this API is guaranteed.'
    """
    if is_backward_compatible:
        note = ".. note::\n    Backwards-compatibility for this API is guaranteed.\n"
    else:
        note = ".. warning::\n    This API is experimental and is *NOT* backward-compatible.\n"

    def mark(member):
        member.__doc__ = textwrap.dedent(member.__doc__ or "") + "\n" + note
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(member)
        _MARKED_WITH_COMPATIBILITY.setdefault(member)
        return member

    return mark
