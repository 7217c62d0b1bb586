"""torch.Tag: what is known of an operator beside its schema."""

import enum

_NAMES = (
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated "
    "inplace inplace_view maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides "
    "needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out out_variant "
    "pointwise pt2_compliant_tag reduction view_copy"
)
Tag = enum.IntEnum("Tag", _NAMES.split(), start=0, module="mindtorch_v2")
Tag.__doc__ = """What is known of an operator, in its `tags`.

>>> torch.Tag.core in torch.ops.aten.add.Tensor.tags
True
"""
