"""Streams and events of every kind of device: torch.Stream, torch.npu.Stream, torch.cuda.Stream."""

from mindtorch_v2 import _C, _kinds

# The classes of torch.npu, torch.cuda, ...: {kind: (Stream, Event)}.
_classes = {}


def _locate(device, kind):
    """(kind, index) of what a caller named."""
    if isinstance(device, int):
        kind = kind or _kinds.accelerator()
        return kind, device if device >= 0 else _C._current_device(kind)
    if device is not None:
        device = _C.device(device)
        if kind is not None and device.type != kind:
            raise ValueError(f"Expected a {kind} device, but got: {device}")
        kind = device.type
    kind = kind or _kinds.accelerator()
    _C._check_device_available(_C.device(kind))
    index = None if device is None else device.index
    return kind, _C._current_device(kind) if index is None else index


# Called after every wait of the host: what the checks of a simulator found may be an exception.
_after_wait = []


def _synchronized():
    for function in _after_wait:
        function()


class Stream(_C._Stream):
    """A queue of work on one device, which runs in order. Streams come from a pool of 32 for each
    priority; a lower number is a higher priority. Two are equal when they are the same queue.

    >>> side = torch.npu.Stream()
    >>> with side:
    ...     y = torch.ones(2, device="npu") * 2
    >>> torch.npu.current_stream().wait_stream(side)
    >>> (y + 1).tolist()
    [3.0, 3.0]
    """

    _kind_of_class = None

    def __init__(self, device=None, priority=0, *, stream_id=None, device_index=None,
                 device_type=None):  # fmt: skip
        if isinstance(device, _C._Stream):
            super().__init__(device)
            return
        if stream_id is not None:
            kind = self._kind_of_class or _kinds.accelerator()
            super().__init__(_C._find_stream(kind, device_index or 0, stream_id))
            return
        kind, index = _locate(device, self._kind_of_class)
        super().__init__(kind, index, priority)

    @property
    def device(self):
        """The device it belongs to."""
        return _C.device(self._kind, self.device_index)

    @property
    def device_type(self):
        """The kind of device, as torch numbers it."""
        return _kinds.ROWS[self._kind].torch_type

    def query(self):
        """Whether all work given to it is done."""
        return self._query()

    def synchronize(self):
        """Waits until all work given to it is done."""
        self._synchronize()
        _synchronized()

    def wait_stream(self, stream):
        """Work given to it from now on runs after what the other has been given by now."""
        self._wait_stream(stream)

    def wait_event(self, event):
        """Work given to it from now on runs after the event."""
        event._wait(self)

    def record_event(self, event=None):
        """Marks the work given to it by now; returns the event, a new one if none is given."""
        if event is None:
            event = _classes.get(self._kind, (Stream, Event))[1]()
        event.record(self)
        return event

    @staticmethod
    def priority_range():
        """(least, greatest): a lower number is a higher priority."""
        kind = _kinds.accelerator()
        return _C._stream_priority_range(kind, _C._current_device(kind))

    def is_capturing(self):
        """Whether work given to it is being captured."""
        return self._is_capturing()

    def __enter__(self):
        self.__dict__.setdefault("_entered", []).append(_enter(self))
        return self

    def __exit__(self, *error):
        _leave(self._entered.pop())

    def ipc_handle(self):
        """What from_ipc_handle() of another process makes the same event of."""
        return self._share()

    @classmethod
    def from_ipc_handle(cls, device, handle):
        """An event that another process shares."""
        event = cls(interprocess=True)
        event._open(*_locate(device, cls._kind_of_class), handle)
        return event

    def __reduce__(self):
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self):
        name = f"torch.{self._kind}.Stream"
        return f"<{name} device={self.device} {self._kind}_stream={self.native_handle:#x}>"


def _enter(stream):
    """Makes a stream and its device current; returns what was, for _leave."""
    kind = stream._kind
    device = _C._current_device(kind)
    before = [_C._current_stream(kind, stream.device_index)]
    if device != stream.device_index:
        before.append(_C._current_stream(kind, device))
    _C._set_stream(stream)
    return before


def _leave(before):
    for stream in before:
        _C._set_current_stream(stream)
    _C._set_current_device(before[-1]._kind, before[-1].device_index)


class StreamContext:
    """with torch.npu.stream(s): the stream and its device are current inside; None: no change."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        self._before = _enter(self.stream) if self.stream is not None else None

    def __exit__(self, *error):
        if self._before is not None:
            _leave(self._before)


class Event(_C._Event):
    """A mark in a stream's work. One that was never recorded counts as reached.

    >>> start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    >>> start.record()
    >>> y = torch.ones(100, device="npu") * 2
    >>> end.record()
    >>> end.synchronize()
    >>> start.elapsed_time(end) > 0  # milliseconds
    True
    """

    _kind_of_class = None

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False,
                 external=False):  # fmt: skip
        super().__init__(enable_timing, blocking, interprocess)
        if device is not None:
            self._kind_of_class = _locate(device, None)[0]
        if interprocess:
            _C._check_can_share_events(self._kind_of_class or _kinds.accelerator())

    @property
    def device(self):
        """The device it was first recorded on; None before."""
        return None if self._kind is None else _C.device(self._kind, self._device_index)

    def _stream_or_current(self, stream):
        if stream is not None:
            return stream
        kind = self._kind_of_class or _kinds.accelerator()
        _C._check_device_available(_C.device(kind))
        return _C._current_stream(kind, _C._current_device(kind))

    def record(self, stream=None):
        """Marks what the stream, or the current one, has been given by now."""
        self._record(self._stream_or_current(stream))

    def wait(self, stream=None):
        """Work given to the stream, or the current one, from now on runs after the mark."""
        if self._kind is not None:
            self._wait(self._stream_or_current(stream))

    def query(self):
        """Whether the mark is reached."""
        return self._query()

    def synchronize(self):
        """Waits until the mark is reached."""
        self._synchronize()
        _synchronized()

    def elapsed_time(self, end_event):
        """Milliseconds from this mark to that of the other event."""
        return self._elapsed_time(end_event)

    def __reduce__(self):
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self):
        kind = self._kind or self._kind_of_class or "accelerator"
        state = f" {self.event_id:#x}" if self._kind is not None else " uninitialized"
        return f"<torch.{kind}.Event{state}>"


def make_classes(kind):
    """{name: class} for the module of one kind of device."""
    place = {"__module__": f"mindtorch_v2.{kind}", "_kind_of_class": kind}

    def priority_range():
        """(least, greatest): a lower number is a higher priority."""
        return _C._stream_priority_range(kind, _locate(None, kind)[1])

    def initialize_event(self, enable_timing=False, blocking=False, interprocess=False,
                         external=False):  # fmt: skip
        Event.__init__(
            self,
            enable_timing=enable_timing,
            blocking=blocking,
            interprocess=interprocess,
            external=external,
        )

    def initialize_external(self, stream_ptr, device=None):
        _, index = _locate(device, kind)
        _C._Stream.__init__(self, kind, index, 0, stream_ptr)

    stream = type(
        "Stream",
        (Stream,),
        {
            **place,
            "__doc__": Stream.__doc__.split(">>>")[0].rstrip(),
            "priority_range": staticmethod(priority_range),
            f"{kind}_stream": property(lambda self: self.native_handle, doc="The device's handle."),
        },
    )
    event = type(
        "Event",
        (Event,),
        {
            **place,
            "__doc__": Event.__doc__.split(">>>")[0].rstrip(),
            "__init__": initialize_event,
            f"{kind}_event": property(lambda self: self.event_id, doc="The device's handle."),
        },
    )
    external = type(
        "ExternalStream",
        (stream,),
        {
            **place,
            "__doc__": "A stream that other code made, by its handle. It is not destroyed.",
            "__init__": initialize_external,
        },
    )
    _classes[kind] = stream, event
    return {
        "Stream": stream,
        "Event": event,
        "ExternalStream": external,
        "StreamContext": StreamContext,
    }


class StreamFunctions:
    """The functions of a device's module about streams, as methods; beside Devices."""

    def _wrap(self, stream):
        return _classes[self._kind][0](stream)

    def _located(self, device):
        return _locate(device, self._kind)

    def stream(self, stream):
        """with torch.npu.stream(s): the stream and its device are current inside."""
        return StreamContext(stream)

    def set_stream(self, stream):
        """Makes a stream and its device current; None changes nothing."""
        if stream is not None:
            _C._set_stream(stream)

    def current_stream(self, device=None):
        """The stream that work of this thread is given to."""
        return self._wrap(_C._current_stream(*self._located(device)))

    def default_stream(self, device=None):
        """The stream that every thread starts with."""
        return self._wrap(_C._default_stream(*self._located(device)))

    def get_stream_from_external(self, data_ptr, device=None):
        """A stream that other code made, by its handle."""
        return self._module().ExternalStream(data_ptr, device)

    def stream_priority_range(self):
        """(least, greatest) priority of streams; (0, 0) when the device knows only one, or when
        there is none.
        """
        if _C._device_count(self._kind) == 0:
            return 0, 0
        return _C._stream_priority_range(*self._located(None))

    def is_current_stream_capturing(self):
        """Whether work given to the current stream is being captured."""
        if not _C._is_initialized(self._kind):
            return False
        return _C._current_stream(*self._located(None))._is_capturing()
