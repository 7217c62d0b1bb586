"""torch.compile and torch.compiler.

There is no compiler: a compiled function records its ops in a pipeline, which fuses them. It gives
what the function itself gives, for any shapes and any Python code. is_compiling() is always False.
"""

import functools

import mindtorch_v2 as torch

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]
_PIPELINE, _EAGER = "inductor", "eager"  # torch's names of what compiles, and of what does not
_BACKENDS = (_PIPELINE, _EAGER)
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_STANCES = (
    "default",
    "eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
)
_state = {"backend": _PIPELINE, "stance": "default"}


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
):
    """A function or module that records its ops in a pipeline while it runs; also a decorator.

    >>> @torch.compile
    ... def scaled(x):
    ...     return (x * 2 + 1).relu()
    >>> scaled(torch.tensor([1.0, -1.0]))
    tensor([3., 0.])

    backend="eager" runs the function as it is. Every shape and every kind of Python code will do,
    so that `fullgraph`, `dynamic`, `mode` and `options` change nothing.
    """
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
        )
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    _check_backend(_state["backend"] if backend is None else backend)
    if disable:
        return model
    if isinstance(model, torch.nn.Module):
        from mindtorch_v2._dynamo.eval_frame import OptimizedModule

        return OptimizedModule(model, backend)
    if not callable(model):
        raise RuntimeError(f"torch.compile needs a function or a module, not {type(model)}")
    return in_pipeline(model, backend)


def _check_backend(backend):
    from mindtorch_v2._dynamo.exc import InvalidBackend

    if callable(backend):
        raise NotImplementedError(
            "torch.compile(backend=function): such a function takes a torch.fx graph, and there is "
            "none"
        )
    if backend not in _BACKENDS:
        raise InvalidBackend(f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()`")


def in_pipeline(function, backend=None):
    """The function, with its ops in a pipeline, while the stance and the backend are for it."""
    recorded = torch.pipeline()(function)

    def compiled(*args, **kwargs):
        eager = (backend or _state["backend"]) == _EAGER or _state["stance"] == "force_eager"
        return (function if eager else recorded)(*args, **kwargs)

    functools.update_wrapper(compiled, function, updated=())
    compiled._torchdynamo_orig_callable = function
    return compiled


class CompiledForward:
    """The forward of a module that was compiled in place: Module.compile()."""

    def __init__(self, module, backend):
        self.module, self.backend = module, backend
        self.inner = module.__dict__.get("forward")  # one that somebody put in the class's place

    def __call__(self, *args, **kwargs):
        function = self.inner or functools.partial(type(self.module).forward, self.module)
        return in_pipeline(function, self.backend)(*args, **kwargs)


def compile_in_place(module, backend=None, disable=False, **settings):
    """From here on the module's forward runs in a pipeline."""
    compile(module, backend=backend, **settings)  # checks them
    if not disable:
        module.forward = CompiledForward(module, backend)


def is_compiling():
    """False.

    >>> torch.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling():
    """False."""
    return False


def is_exporting():
    """False."""
    return False


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself: it is never compiled.

    >>> torch.compiler.disable(len)([1])
    1
    """
    return fn if fn is not None else lambda function: function


def reset():
    """Forgets what was compiled: nothing was."""


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that `backend` takes: "inductor", for which the pipeline stands, and "eager".

    >>> torch.compiler.list_backends()
    ['inductor', 'eager']
    """
    return list(_BACKENDS)


def get_default_backend():
    """The backend of torch.compile where none is given."""
    return _state["backend"]


def set_default_backend(backend):
    """Sets the backend of torch.compile where none is given.

    >>> torch.compiler.set_default_backend("inductor")
    """
    _check_backend(backend)
    _state["backend"] = backend


class set_stance:
    """How compiled functions run, also as a context manager or decorator: "force_eager" runs them
    as they are; the others of torch's stances, "default" among them, in the pipeline.

    >>> with torch.compiler.set_stance("force_eager"):
    ...     torch.compile(torch.neg)(torch.ones(1))
    tensor([-1.])
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance {stance!r}")
        self.stance, self._before = stance, _state["stance"]
        _state["stance"] = stance

    def __enter__(self):
        _state["stance"] = self.stance

    def __exit__(self, *error):
        _state["stance"] = self._before
        return False

    def __call__(self, fn):
        _state["stance"] = self._before  # only while the function runs

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            with set_stance(self.stance):
                return fn(*args, **kwargs)

        return wrapped


def allow_in_graph(fn):
    """The function, or functions, themselves: there is no graph that they could break.

    >>> torch.compiler.allow_in_graph(len)([1])
    1
    """
    if not isinstance(fn, (list, tuple)) and not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn):
    """The function itself: it is called every time."""
    return fn


def nested_compile_region(fn=None, options=None):
    """The function itself."""
    return fn if fn is not None else lambda function: function


def substitute_in_graph(
    original_fn, *, can_constant_fold_through=False, skip_signature_check=False
):
    """A decorator that gives the function itself: without a graph nothing is substituted."""
    return lambda function: function


def cudagraph_mark_step_begin():
    """Says that an iteration begins. Outputs of compiled functions are never overwritten."""


def wrap_numpy(fn):
    """A function of NumPy arrays as one of tensors.

    >>> import numpy
    >>> torch.compiler.wrap_numpy(numpy.add)(torch.ones(2), torch.ones(2))
    tensor([2., 2.])
    """

    def as_array(value):
        return value.numpy() if isinstance(value, torch.Tensor) else value

    def as_tensor(value):
        if isinstance(value, (list, tuple)):
            return type(value)(as_tensor(item) for item in value)
        return torch.as_tensor(value) if hasattr(value, "__array__") else value

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        arrays = [as_array(value) for value in args]
        return as_tensor(fn(*arrays, **{name: as_array(value) for name, value in kwargs.items()}))

    return wrapped
