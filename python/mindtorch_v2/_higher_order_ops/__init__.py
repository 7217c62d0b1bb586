"""torch._higher_order_ops: functions that take functions of tensors."""

from mindtorch_v2._control_flow import cond, while_loop
from mindtorch_v2._higher_order_ops.associative_scan import associative_scan

__all__ = ["associative_scan", "cond", "while_loop"]
