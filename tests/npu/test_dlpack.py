"""DLPack on accelerators: whose stream waits for whom."""

import pytest

NPU = 12  # DLPack's number for devices that it does not know


class Producer:
    """Hands out a tensor's capsule, and remembers what it was asked for."""

    def __init__(self, tensor, refused=()):
        self.tensor = tensor
        self.refused = refused
        self.asked = []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        if set(options) & set(self.refused):
            raise TypeError(f"unexpected keyword {sorted(options)}")
        self.asked.append(options)
        return self.tensor.__dlpack__(**options)


def test_the_device(torch):
    assert torch.ones(1, device="npu:1").__dlpack_device__() == (NPU, 1)


def test_the_consumers_stream_waits_for_what_was_queued_before(torch, simulator):
    consumer = torch.npu.Stream()
    x = torch.zeros(4, device="npu")
    torch.npu.synchronize()
    simulator.hang()
    try:
        x.add_(1)
        x.__dlpack__(stream=consumer.npu_stream)
        assert not consumer.query()
    finally:
        simulator.release()
    consumer.synchronize()


@pytest.mark.parametrize("stream", [-1, "left out"])
def test_minus_one_orders_nothing(torch, simulator, stream):
    consumer = torch.npu.Stream()
    x = torch.zeros(4, device="npu")
    torch.npu.synchronize()
    with consumer:
        side = torch.ones(4, device="npu")  # the consumer's stream does something
    consumer.synchronize()
    simulator.clear_calls()
    x.add_(1)
    x.__dlpack__() if stream == "left out" else x.__dlpack__(stream=stream)
    assert "aclrtStreamWaitEvent" not in [call.function for call in simulator.calls()]
    assert side.tolist() == [1] * 4


@pytest.mark.parametrize("stream", [None, 0])
def test_none_and_zero_are_the_default_stream(torch, simulator, stream):
    side = torch.npu.Stream()
    with side:
        x = torch.zeros(4, device="npu")
        side.synchronize()
        simulator.hang()
        try:
            x.add_(1)
            x.__dlpack__(stream=stream)
            assert not torch.npu.default_stream().query()
        finally:
            simulator.release()
    torch.npu.synchronize()


def test_no_event_where_both_streams_are_one(torch, simulator):
    x = torch.ones(4, device="npu")
    simulator.clear_calls()
    x.__dlpack__(stream=None)
    side = torch.npu.Stream()
    with side:
        x.__dlpack__(stream=side.npu_stream)
    assert "aclrtStreamWaitEvent" not in [call.function for call in simulator.calls()]


def test_what_is_no_stream(torch):
    x = torch.ones(4, device="npu")
    for number in (1, 2, -2):
        with pytest.raises(BufferError, match=f"unsupported stream on NPU: {number}"):
            x.__dlpack__(stream=number)
    for text in ("1", 1.0, torch.npu.Stream()):
        with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
            x.__dlpack__(stream=text)
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        torch.ones(1).__dlpack__(stream=3)
    assert "dltensor" in repr(torch.ones(1).__dlpack__(stream=-1))


def test_the_current_stream_is_told_to_the_producer(torch):
    source = Producer(torch.arange(4.0, device="npu"))
    assert torch.from_dlpack(source).tolist() == [0, 1, 2, 3]
    side = torch.npu.Stream()
    with side:
        again = torch.from_dlpack(source)
        again.mul_(2)
    torch.npu.current_stream().wait_stream(side)
    assert source.tensor.tolist() == [0, 2, 4, 6]
    assert [options["stream"] for options in source.asked] == [0, side.npu_stream]
    host = Producer(torch.ones(2))
    torch.from_dlpack(host)
    assert "stream" not in host.asked[0]


def test_a_producer_that_knows_no_versions(torch):
    source = Producer(torch.arange(4.0, device="npu"), refused=("max_version",))
    assert torch.from_dlpack(source).tolist() == [0, 1, 2, 3]
    assert [set(options) for options in source.asked] == [{"stream"}]


def test_a_producer_that_takes_no_stream_is_waited_for(torch, simulator):
    """It orders its work before the default stream."""
    source = Producer(torch.zeros(4, device="npu"), refused=("max_version", "stream"))
    side = torch.npu.Stream()
    torch.npu.synchronize()
    simulator.hang()
    try:
        source.tensor.add_(1)
        with side:
            y = torch.from_dlpack(source)
            assert not side.query()
            y.mul_(3)
    finally:
        simulator.release()
    side.synchronize()
    assert source.tensor.tolist() == [3] * 4
    assert source.asked == [{}]


def test_a_pending_tensor_is_queued_first(torch, simulator):
    side = torch.npu.Stream()
    x = torch.ones(4, device="npu")
    with torch.pipeline():
        y = x + 1
        z = torch.from_dlpack(y)
        with side:
            w = torch.from_dlpack(Producer(z))
    side.synchronize()
    assert w.tolist() == [2] * 4


def test_the_stream_is_told_where_a_device_is_wanted(torch):
    source = Producer(torch.arange(4.0, device="npu"))
    torch.npu.synchronize()
    side = torch.npu.Stream()
    with side:
        same = torch.from_dlpack(source, device="npu")
        moved = torch.from_dlpack(source, device="cpu")
        copied = torch.from_dlpack(source, device="npu:0", copy=True)
    assert [options["stream"] for options in source.asked] == [side.npu_stream] * 3
    assert moved.device.type == "cpu" and moved.tolist() == [0, 1, 2, 3]
    side.synchronize()
    assert same.data_ptr() == source.tensor.data_ptr() != copied.data_ptr()
    host = Producer(torch.arange(4.0))
    assert torch.from_dlpack(host, device="npu").tolist() == [0, 1, 2, 3]
    assert "stream" not in host.asked[0] and "dl_device" not in host.asked[0]


def test_no_device_is_reached_without_a_copy(torch):
    text = r"cannot move DLPack tensor from device \(1, 0\) to \(12, 0\) without copying"
    with pytest.raises(ValueError, match=text):
        torch.from_dlpack(torch.ones(2), device="npu", copy=False)
