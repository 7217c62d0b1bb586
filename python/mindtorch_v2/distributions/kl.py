"""Kullback-Leibler divergences, by pairs of kinds of distributions.

>>> normal = torch.distributions.Normal
>>> torch.distributions.kl_divergence(normal(0.0, 1.0), normal(0.0, 1.0))
tensor(0.)
"""

import warnings
from functools import total_ordering

import mindtorch_v2 as torch
from mindtorch_v2.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY = {}  # by the types of p and q
_KL_MEMOIZE = {}  # found for subclasses


def register_kl(type_p, type_q):
    """A decorator that makes a function the divergence of two kinds of distributions.

    >>> class Mine(torch.distributions.Normal):
    ...     pass
    >>> @torch.distributions.register_kl(Mine, Mine)
    ... def _kl_mine_mine(p, q):
    ...     return torch.tensor(7.0)
    >>> torch.distributions.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0))
    tensor(7.)
    """
    if not isinstance(type_p, type) and issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) and issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def decorator(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


@total_ordering
class _Match:
    """Pairs of types, ordered by how special they are."""

    __slots__ = ["types"]

    def __init__(self, *types):
        self.types = types

    def __eq__(self, other):
        return self.types == other.types

    def __le__(self, other):
        for x, y in zip(self.types, other.types, strict=True):
            if not issubclass(x, y):
                return False
            if x is not y:
                break
        return True

    __hash__ = None


def _dispatch_kl(type_p, type_q):
    """The most special function for two types; the first type counts where two differ."""
    matches = [
        (super_p, super_q)
        for super_p, super_q in _KL_REGISTRY
        if issubclass(type_p, super_p) and issubclass(type_q, super_q)
    ]
    if not matches:
        return NotImplemented
    left_p, left_q = min(_Match(*m) for m in matches).types
    right_q, right_p = min(_Match(*reversed(m)) for m in matches).types
    left = _KL_REGISTRY[left_p, left_q]
    right = _KL_REGISTRY[right_p, right_q]
    if left is not right:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
            stacklevel=2,
        )
    return left


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of q from p.

    >>> exponential = torch.distributions.Exponential
    >>> torch.distributions.kl_divergence(exponential(1.0), exponential(1.0))
    tensor(0.)
    """
    try:
        function = _KL_MEMOIZE[type(p), type(q)]
    except KeyError:
        function = _dispatch_kl(type(p), type(q))
        _KL_MEMOIZE[type(p), type(q)] = function
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} "
            f"and q type {q.__class__.__name__}"
        )
    return function(p, q)


def _infinite_like(tensor):
    """Infinity in every place."""
    return torch.full_like(tensor, torch.inf)


def _x_log_x(tensor):
    """x log x, and 0 at 0."""
    return torch.special.xlogy(tensor, tensor)


def _batch_trace_XXT(matrix):
    """The trace of X X^T, for batches of matrices."""
    return matrix.reshape(matrix.shape[:-2] + (-1,)).pow(2).sum(-1)


# They register themselves.
from mindtorch_v2.distributions import _kl_mixed, _kl_same  # noqa: E402
