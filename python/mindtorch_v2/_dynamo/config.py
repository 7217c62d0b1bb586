"""torch._dynamo.config: the settings that programs set. There is no tracer to read them."""

import contextlib
import sys

accumulated_recompile_limit = 256
allow_unspec_int_on_nn_module = False
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = 256
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
compiled_autograd = False
disable = False
error_on_recompile = False
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
log_level = None
optimize_ddp = True
specialize_int = False
suppress_errors = False
verbose = False


@contextlib.contextmanager
def patch(changes=None, /, **more):
    """Other values inside.

    >>> with torch._dynamo.config.patch(suppress_errors=True):
    ...     torch._dynamo.config.suppress_errors
    True
    """
    settings = sys.modules[__spec__.name]
    changes = {**(changes or {}), **more}
    before = {name: getattr(settings, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(settings, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(settings, name, value)
