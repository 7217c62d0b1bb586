"""torch.func: functions of functions. Gradients, products with Jacobians, and batches.

>>> torch.func.grad(lambda x: x ** 3)(torch.tensor(2.))
tensor(12.)
>>> torch.func.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
tensor([2., 2., 2.])
"""

from mindtorch_v2.func._batch_norm import replace_all_batch_norm_modules_
from mindtorch_v2.func._functionalize import functionalize
from mindtorch_v2.func._jacobians import hessian, jacfwd, jacrev
from mindtorch_v2.func._modules import functional_call, stack_module_state
from mindtorch_v2.func._transforms import grad, grad_and_value, jvp, linearize, vjp
from mindtorch_v2.func._unwrap import debug_unwrap
from mindtorch_v2.func._vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
