"""Passes over graphs."""

from mindtorch_v2.fx.passes import shape_prop, utils

__all__ = ["shape_prop", "utils"]
