"""torch.utils.checkpoint: less memory for activations, which are computed again in backward.

Without `use_reentrant` the function runs as it is, but graphs keep a placeholder for each tensor
they save. The first placeholder that backward asks for runs the function again, and what graphs
save then, in the same order, is what was saved before. With `use_reentrant` the function runs
without a graph, and one node in its place runs it again, with a graph, for a backward of its own.
"""

import contextlib
import traceback
import warnings
import weakref

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.amp._state import DEVICE_TYPES as AUTOCAST_DEVICE_TYPES
from mindtorch_v2.autograd import _engine
from mindtorch_v2.autograd.graph import saved_tensors_hooks
from mindtorch_v2.utils._checkpoint_policies import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


class CheckpointError(RuntimeError):
    """The function did something else when it ran again."""


def noop_context_fn():
    """Two with-blocks that do nothing: around the first run, and around the one in backward.

    >>> first, again = torch.utils.checkpoint.noop_context_fn()
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


class _Setting:
    """A with-block in which one of the settings below has another value."""

    _value = None

    def __init__(self, value):
        self._wanted = value

    def __enter__(self):
        self._before = type(self)._value
        type(self)._value = self._wanted

    def __exit__(self, *exc_info):
        type(self)._value = self._before


class set_checkpoint_early_stop(_Setting):
    """A with-block that says for checkpoints inside, over their own `early_stop`, whether the
    second run ends as soon as all that backward needs is there.

    >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     y = torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(1), use_reentrant=False)
    """


class set_checkpoint_debug_enabled(_Setting):
    """A with-block that says for checkpoints inside, over their own `debug`, whether errors show
    where tensors were saved.

    >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
    ...     y = torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(1), use_reentrant=False)
    """


class DefaultDeviceType:
    """The type of device whose random numbers are kept where no argument is on one.

    >>> torch.utils.checkpoint.DefaultDeviceType.get_device_type()
    'cuda'
    """

    _device_type = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._device_type = device

    @staticmethod
    def get_device_type():
        return DefaultDeviceType._device_type


# --- Random numbers -------------------------------------------------------------------------------


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def get_device_states(*args):
    """(indices, states) of the generators of the devices that tensors in `args` are on."""
    devices = _devices(args)
    return [d.index for d in devices], [_C._default_generator(d).get_state() for d in devices]


def set_device_states(devices, states, *, device_type=None):
    """Puts back what get_device_states gave."""
    kind = device_type or DefaultDeviceType.get_device_type()
    for index, state in zip(devices, states, strict=True):
        _C._default_generator(torch.device(kind, index)).set_state(state)


def _devices(args):
    found = {t.device: None for t in _tensors(args) if t.device.type not in ("cpu", "meta")}
    return list(found)


class _RandomNumbers:
    """The random numbers as they are now, for the CPU and the devices of some tensors."""

    def __init__(self, args):
        self._cpu = torch.get_rng_state()
        devices = _devices(args)
        self._states = [(d, _C._default_generator(d).get_state()) for d in devices]

    @contextlib.contextmanager
    def again(self):
        """A with-block with the same numbers, after which those of today go on."""
        now = [(d, _C._default_generator(d).get_state()) for d, _ in self._states]
        cpu = torch.get_rng_state()
        try:
            self._set(self._cpu, self._states)
            yield
        finally:
            self._set(cpu, now)

    @staticmethod
    def _set(cpu, states):
        torch.set_rng_state(cpu)
        for device, state in states:
            _C._default_generator(device).set_state(state)


class _Surroundings:
    """What the function depends on besides its arguments: how autocast is set, and the random
    numbers unless they need not be the same."""

    def __init__(self, args, preserve_rng_state):
        self._numbers = _RandomNumbers(args) if preserve_rng_state else None
        self._cache_enabled = torch.is_autocast_cache_enabled()
        self._autocast = [
            (kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind))
            for kind in AUTOCAST_DEVICE_TYPES
        ]

    @contextlib.contextmanager
    def again(self):
        """A with-block in which they are as they were."""
        with contextlib.ExitStack() as stack:
            if self._numbers:
                stack.enter_context(self._numbers.again())
            for kind, dtype, enabled in self._autocast:
                stack.enter_context(torch.autocast(kind, dtype, enabled, self._cache_enabled))
            yield


# --- use_reentrant=True ---------------------------------------------------------------------------


def check_backward_validity(inputs):
    """Warns where no input requires gradients."""
    if not any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=3
        )


def detach_variable(inputs):
    """The same arguments, their tensors cut off from the graph."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
        for x in inputs
    )


class CheckpointFunction(torch.autograd.Function):
    """The node in the place of a function that runs again in backward."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(args, preserve_rng_state)
        ctx.others = [None if isinstance(x, torch.Tensor) else x for x in args]
        ctx.places = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if _engine.is_partial():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        args = list(ctx.others)
        for i, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[i] = tensor
        args = detach_variable(tuple(args))
        with ctx.surroundings.again(), torch.enable_grad():
            outputs = ctx.run_function(*args)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, torch.Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        torch.autograd.backward(*zip(*pairs, strict=True))
        return (None, None, *(x.grad if isinstance(x, torch.Tensor) else None for x in args))


# --- use_reentrant=False --------------------------------------------------------------------------


class _Placeholder:
    """What a graph keeps for a tensor that will be computed again."""

    __slots__ = ("__weakref__", "index")

    def __init__(self, index):
        self.index = index


class _Stop(BaseException):
    """Ends a run early. No Exception: the function may catch those."""


class _SaveArguments(torch.autograd.Function):
    """Keeps arguments as graphs keep tensors, so that a checkpoint around this one does not have
    to hold what is computed inside of it."""

    @staticmethod
    def forward(ctx, token, *tensors):
        ctx.save_for_backward(*tensors)
        return token.view_as(token)

    @staticmethod
    def backward(ctx, *grads):
        raise AssertionError("nothing depends on this node")


class _Arguments:
    """The arguments of the function, to be had again in backward."""

    def __init__(self, args):
        self._args = list(args)
        self._places = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
        token = torch.empty(0).requires_grad_()
        # Kept itself, not its node alone: the node lives as long as its result.
        self._result = _SaveArguments.apply(token, *(args[i] for i in self._places))
        for i in self._places:
            self._args[i] = None

    def get(self):
        args = list(self._args)
        for i, tensor in zip(self._places, self._result.grad_fn.saved_tensors, strict=True):
            args[i] = tensor
        return args


class _Saved:
    """What one run of the function saved: placeholders, and while backward goes on the tensors
    behind them."""

    def __init__(self, run_again, early_stop, compare, debug):
        self._run_again, self._early_stop = run_again, early_stop
        self._compare, self._debug = compare, debug
        self._placeholders = []  # weak: of what the graph has freed nothing is kept
        self._metadata = []
        self._stacks = []
        self._tensors = {}

    def hooks(self):
        """Hooks for the first run."""
        return saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, tensor):
        made = _Placeholder(len(self._placeholders))
        self._placeholders.append(weakref.ref(made))
        self._metadata.append(_describe(tensor))
        if self._debug:
            self._stacks.append(_stack())
        return made

    def _unpack(self, placeholder):
        index = placeholder.index
        if index not in self._tensors:
            self._compute()
        if index not in self._tensors:
            raise CheckpointError(
                "torch.utils.checkpoint: trying to backward through a checkpoint whose second run "
                "did not save the tensor that is needed."
            )
        return self._tensors.pop(index)

    def _compute(self):
        if _C._is_running_backward():
            _C._queue_callback(self._tensors.clear)
        else:
            self._tensors.clear()  # a look at saved tensors: keep only what comes now
        metadata, stacks = [], []

        def pack(tensor):
            index = len(metadata)
            metadata.append(_describe(tensor))
            if self._debug:
                stacks.append(_stack())
            detached = tensor.detach()
            if index < len(self._placeholders) and self._placeholders[index]() is not None:
                self._tensors[index] = detached
            if self._early_stop and len(metadata) == len(self._placeholders):
                raise _Stop
            return detached

        hooks = saved_tensors_hooks(pack, lambda tensor: tensor)
        with contextlib.suppress(_Stop), hooks, torch.enable_grad():
            self._run_again()
        self._check(metadata, stacks)

    def _check(self, metadata, stacks):
        if len(metadata) != len(self._metadata):
            self._fail(
                "A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self._metadata)}\n"
                f"Number of tensors saved during recomputation: {len(metadata)}.",
                min(len(metadata), len(self._metadata)),
                stacks,
            )
        if not self._compare:
            return
        pairs = enumerate(zip(self._metadata, metadata, strict=True))
        different = [(i, a, b) for i, (a, b) in pairs if a != b]
        if different:
            lines = "\n".join(
                f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}"
                for i, a, b in different
            )
            self._fail(
                "Recomputed values for the following tensors have different metadata than during "
                f"the forward pass.\n{lines}",
                different[0][0],
                stacks,
            )

    def _fail(self, text, place, stacks):
        self._tensors.clear()
        if self._debug:
            for run, seen in (("forward", self._stacks), ("recomputation", stacks)):
                where = seen[place] if place < len(seen) else "(not saved)\n"
                text += f"\n\nTensor {place} in {run}:\n{where}"
        else:
            text += "\n\nPass `debug=True` to checkpoint() to see where these tensors were saved."
        raise CheckpointError(f"torch.utils.checkpoint: {text}")


def _describe(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def _stack():
    frames = [f for f in traceback.extract_stack() if f.filename != __file__]
    return "".join(traceback.format_list(frames[-4:]))


def _checkpoint_saved(function, preserve, context_fn, compare, debug, early_stop, args, kwargs):
    first, again = context_fn()
    surroundings = _Surroundings((args, kwargs), preserve)
    if not torch.is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    names = list(kwargs)
    arguments = _Arguments((*args, *kwargs.values()))
    count = len(args)

    def run_again():
        values = arguments.get()
        named = dict(zip(names, values[count:], strict=True))
        with surroundings.again(), again:
            function(*values[:count], **named)

    saved = _Saved(run_again, early_stop, compare, debug)
    with saved.hooks(), first:
        return function(*args, **kwargs)


# --- Entry points ---------------------------------------------------------------------------------


def _warn_about_default(name, rest):
    warnings.warn(
        f"torch.utils.checkpoint{name}: the use_reentrant parameter should be passed explicitly. "
        f"{rest} use_reentrant=False is recommended, but if you need to preserve the current "
        "default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
        "differences between the two variants.",
        stacklevel=3,
    )


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    **kwargs,
):
    """function(*args, **kwargs), with a graph that keeps no activations: they are computed again
    in backward, under the same autocast and with the same random numbers unless
    preserve_rng_state=False.

    >>> x = torch.ones(2, requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([-2.4783, -2.4783])
    """
    if use_reentrant is None:
        _warn_about_default(
            "",
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
        if context_fn is not noop_context_fn or debug:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    if set_checkpoint_early_stop._value is not None:
        early_stop = set_checkpoint_early_stop._value
    if set_checkpoint_debug_enabled._value is not None:
        debug = set_checkpoint_debug_enabled._value
    compare = determinism_check == "default"
    return _checkpoint_saved(
        function, preserve, context_fn, compare, debug, early_stop, args, kwargs
    )


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Runs functions, or the layers of an nn.Sequential, one after the other, in `segments` equal
    parts that are checkpoints, but for the last.

    >>> layers = [torch.sin, torch.cos, torch.sin, torch.cos]
    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False)
    tensor([0.8150], grad_fn=<CosBackward0>)
    """
    if use_reentrant is None:
        _warn_about_default(
            ".checkpoint_sequential",
            "In version 2.9 we will raise an exception if use_reentrant is not passed.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())

    def part(start, stop):
        def run(value):
            for function in functions[start:stop]:
                value = function(value)
            return value

        return run

    size = len(functions) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(
            part(start, start + size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return part(size * (segments - 1), len(functions))(input)
