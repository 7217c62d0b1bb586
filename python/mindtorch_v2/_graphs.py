"""Graphs of every kind of device: torch.npu.NPUGraph, torch.cuda.CUDAGraph.

>>> x = torch.zeros(3, device="npu")
>>> graph = torch.npu.NPUGraph()
>>> with torch.npu.graph(graph):
...     y = x + 1
>>> _ = x.fill_(5)
>>> graph.replay()
>>> y.tolist()
[6.0, 6.0, 6.0]
"""

import gc

from mindtorch_v2 import _C
from mindtorch_v2._memory import Devices


class Graph(_C._Graph):
    """Work that is captured once and run many times, with the same tensors. What is written into
    its inputs before replay() is what it reads; its outputs are where they were.
    """

    _kind_of_class = None

    def __init__(self, keep_graph=False):
        super().__init__()

    def _current_stream(self):
        kind = self._kind_of_class
        _C._check_device_available(_C.device(kind))
        return _C._current_stream(kind, _C._current_device(kind))

    def capture_begin(self, pool=None, capture_error_mode="global"):
        """From now on what the current stream is given is captured, not run. pool: that of another
        graph, for graphs that never run at the same time, or of graph_pool_handle().
        """
        self._begin(self._current_stream(), pool or (0, 0), capture_error_mode)

    def capture_end(self):
        """Ends the capture; raises what went wrong in it."""
        self._end()

    def instantiate(self):
        """Nothing is left to do: a captured graph is ready."""
        if not self._captured:
            raise RuntimeError("Called instantiate() without a preceding successful capture.")

    def update(self, newer):
        """Does from now on what another graph does. False: the device needs a new graph for that.
        RuntimeError where it cannot change graphs."""
        return self._update(newer)

    def raw_graph(self):
        """The address of the vendor's object. RuntimeError where the device shows none."""
        return self._raw()

    def replay(self):
        """Gives the captured work to the current stream."""
        self._replay(self._current_stream())


class GraphContext:
    """with torch.npu.graph(g): what the block does is captured, on a stream of its own."""

    _kind = None
    _default_stream = None

    def __init__(self, graph, pool=None, stream=None, capture_error_mode="global"):
        self._graph, self._pool, self._mode = graph, pool, capture_error_mode
        if stream is None:
            if type(self)._default_stream is None:
                type(self)._default_stream = self._module().Stream()
            stream = type(self)._default_stream
        self._stream = stream

    def _module(self):
        return Devices(self._kind)._module()

    def __enter__(self):
        module = self._module()
        module.synchronize()
        gc.collect()
        module.empty_cache()
        self._context = module.stream(self._stream)
        self._context.__enter__()
        try:
            self._graph.capture_begin(self._pool, self._mode)
        except BaseException:
            self._context.__exit__(None, None, None)
            raise

    def __exit__(self, *error):
        try:
            if error[0] is None:
                self._graph.capture_end()
            else:
                self._graph.reset()  # what was captured so far is of no use
        finally:
            self._context.__exit__(*error)


def make_classes(kind):
    """{name: class} for the module of one kind of device."""
    place = {"__module__": f"mindtorch_v2.{kind}"}
    name = f"{kind.upper()}Graph"
    graph = type(name, (Graph,), {**place, "__doc__": Graph.__doc__, "_kind_of_class": kind})
    context = type(
        "graph", (GraphContext,), {**place, "__doc__": GraphContext.__doc__, "_kind": kind}
    )
    return {name: graph, "graph": context}


class GraphFunctions(Devices):
    """The functions of a device's module about graphs, as methods."""

    def graph_pool_handle(self):
        """A memory pool for several graphs that never run at the same time."""
        return _C._make_graph_pool()

    def make_graphed_callables(self, callables, sample_args, num_warmup_iters=3,
                               allow_unused_input=False, pool=None):  # fmt: skip
        """Functions that replay graphs of the given ones, captured with sample arguments. A call
        copies its arguments to where the samples are, and returns the graph's own outputs.
        """
        if not isinstance(callables, tuple):
            return self.make_graphed_callables((callables,), (sample_args,), num_warmup_iters,
                                               allow_unused_input, pool)[0]  # fmt: skip
        pool = pool or self.graph_pool_handle()
        module = self._module()
        side = module.Stream()
        side.wait_stream(module.current_stream())
        with module.stream(side):
            for function, arguments in zip(callables, sample_args, strict=True):
                for _ in range(num_warmup_iters):
                    function(*arguments)
        module.synchronize()
        return tuple(
            self._graphed(function, arguments, pool)
            for function, arguments in zip(callables, sample_args, strict=True)
        )

    def _graphed(self, function, samples, pool):
        module = self._module()
        graph = getattr(module, f"{self._kind.upper()}Graph")()
        with module.graph(graph, pool=pool):
            outputs = function(*samples)

        def replay(*arguments):
            for sample, argument in zip(samples, arguments, strict=True):
                if sample is not argument:
                    sample.copy_(argument)
            graph.replay()
            return outputs

        return replay
