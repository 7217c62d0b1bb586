"""torch.library.opcheck: whether what an operator says of itself is true."""

import mindtorch_v2 as torch
from mindtorch_v2._library.operators import tensors_in
from mindtorch_v2.utils import _pytree

_DEFAULT = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


class OpCheckError(Exception):
    """An operator does something else than it says."""


def opcheck(
    op, args, kwargs=None, *, test_utils=_DEFAULT, raise_exception=True, atol=None, rtol=None
):
    """Runs an operator and checks that it writes to and returns what its schema says, that its fake
    gives the same shapes, that gradients have a rule, and that a pipeline computes the same.

    >>> torch.library.define("doc_ops::half", "(Tensor x) -> Tensor")
    >>> torch.library.impl("doc_ops::half", "default", lambda x: x / 2)
    >>> torch.library.opcheck(torch.ops.doc_ops.half.default, (torch.ones(2),))["test_schema"]
    'SUCCESS'
    """
    op = getattr(op, "_opoverload", op)
    if not hasattr(op, "_schema"):
        overloads = getattr(op, "_overloads", {})
        if len(overloads) != 1:
            raise ValueError(
                f"opcheck(op, ...) takes an operator such as torch.ops.ns.name.default, got {op}"
            )
        (op,) = overloads.values()
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    unknown = set(names) - set(_TESTS)
    if unknown:
        raise ValueError(f"there is no test {sorted(unknown)}; there are {list(_TESTS)}")
    tolerances = {} if atol is None and rtol is None else {"atol": atol or 0, "rtol": rtol or 0}
    results = {}
    for name in names:
        try:
            _TESTS[name](op, args, kwargs or {}, tolerances)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def _copied(args, kwargs):
    def copy(value):
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().clone().requires_grad_(value.requires_grad)

    return _pytree.tree_map(copy, (tuple(args), dict(kwargs)))


def _plain(result):
    return tensors_in(result if isinstance(result, (list, tuple)) else [result])


def _check_schema(op, args, kwargs, tolerances):
    args, kwargs = _copied(args, kwargs)
    before, named = _copied(args, kwargs)
    with torch.no_grad():
        result = op(*args, **kwargs)
    written = {id(tensor) for tensor in op._schema.written(args, kwargs)}
    after = tensors_in((*args, *kwargs.values()))
    for old, new in zip(tensors_in((*before, *named.values())), after, strict=True):
        if id(new) not in written and not torch.equal(old, new):
            raise RuntimeError(
                f"{op} writes to an argument that its schema {op._schema} does not mark"
            )
    storages = {tensor.untyped_storage()._cdata for tensor in after}
    aliases = any(returned.alias_info for returned in op._schema.returns)
    if not aliases and any(out.untyped_storage()._cdata in storages for out in _plain(result)):
        raise RuntimeError(
            f"{op} returns memory of an argument, which its schema {op._schema} does not say"
        )


def _check_autograd(op, args, kwargs, tolerances):
    needs_rule = any(t.requires_grad for t in tensors_in((*args, *kwargs.values())))
    if needs_rule and op.refuses_backward and op.gradient is None:
        raise RuntimeError(f"{op} has no rule for gradients; register_autograd adds one")


def _check_fake(op, args, kwargs, tolerances):
    args, kwargs = _copied(args, kwargs)

    def to_meta(value):
        return value.detach().to("meta") if isinstance(value, torch.Tensor) else value

    shown = _pytree.tree_map(to_meta, (args, kwargs))
    with torch.no_grad():
        fake = _plain(op(*shown[0], **shown[1]))
        real = _plain(op(*args, **kwargs))
    found = [(tuple(t.shape), t.dtype, t.stride()) for t in fake]
    wanted = [(tuple(t.shape), t.dtype, t.stride()) for t in real]
    if found != wanted:
        raise RuntimeError(f"the fake of {op} gives {found}, the kernel {wanted}")


def _gradients(op, args, kwargs):
    args, kwargs = _copied(args, kwargs)
    results = _plain(op(*args, **kwargs))
    leaves = [t for t in tensors_in((*args, *kwargs.values())) if t.requires_grad]
    outputs = [out for out in results if out.requires_grad]
    grads = torch.autograd.grad([out.sum() for out in outputs], leaves) if outputs else ()
    return [*results, *grads]


def _check_pipeline(op, args, kwargs, tolerances):
    wanted = _gradients(op, args, kwargs)
    with torch.pipeline():
        found = _gradients(op, args, kwargs)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, **tolerances)


_TESTS = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_static": _check_pipeline,
    "test_aot_dispatch_dynamic": _check_pipeline,
}
