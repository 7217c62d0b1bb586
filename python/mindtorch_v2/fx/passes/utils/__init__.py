"""What passes are built from."""

from mindtorch_v2.fx.passes.utils import matcher_utils

__all__ = ["matcher_utils"]
