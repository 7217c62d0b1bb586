"""Streams, events and asynchrony of torch.npu, on simulated devices."""

import pytest

from tests.support.simulated import run


def test_streams_come_from_a_pool():
    run(
        """
streams = [torch.npu.Stream() for _ in range(33)]
assert len(set(streams)) == 32 and streams[32] == streams[0]
assert hash(streams[32]) == hash(streams[0]) and streams[0] != streams[1]
default = torch.npu.default_stream()
assert default == torch.npu.current_stream() and default.stream_id == default.npu_stream == 0
assert (streams[0].stream_id, streams[1].stream_id) == (3, 35)
assert isinstance(default, torch.npu.Stream) and isinstance(default, torch.Stream)
assert streams[0].device == torch.device("npu:0") and streams[0].device_index == 0
assert torch.npu.Stream("npu:1").device == torch.device("npu:1")
again = torch.npu.Stream(stream_id=streams[1].stream_id, device_index=0, device_type=20)
assert again == streams[1]
same = torch.npu.ExternalStream(streams[1].npu_stream)
assert same == streams[1] == torch.npu.get_stream_from_external(streams[1].npu_stream)
assert repr(default) == "<torch.npu.Stream device=npu:0 npu_stream=0x0>"
least, greatest = torch.npu.stream_priority_range()
assert (least, greatest) == torch.npu.Stream.priority_range() == (0, -3)
assert torch.npu.Stream(priority=-2).priority == -2
assert torch.npu.Stream(priority=5).priority == 0 and torch.npu.Stream(priority=-9).priority == -3
"""
    )


@pytest.mark.parametrize("variable", ["ACL_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING"])
@pytest.mark.parametrize("value", ["1", "0"])
def test_blocking_launches_wait_after_each_op(variable, value):
    run(
        f"""
x = torch.ones(3, device="npu")
s = torch.npu.simulator
s.set(log=True)
y = x + x
z = y * x
names = [c.function for c in s.calls() if c.kind == "call"]
wanted = ["aclnnAdd", "aclrtSynchronizeStream", "aclnnMul", "aclrtSynchronizeStream"]
if {value!r} == "0":
    wanted = wanted[::2]
assert [name for name in names if name in wanted] == wanted, names
assert sum("Synchronize" in name for name in names) == (2 if {value!r} == "1" else 0)
""",
        **{variable: value},
    )


def test_with_blocking_launches_an_error_shows_at_its_line():
    program = """
import traceback
torch.npu.simulator.set(faults="task:aclnnMul:1:507015")
try:
    x = torch.ones(3, device="npu")
    y = x * x  # line 7
    z = y + 1
    torch.npu.synchronize()
except RuntimeError as error:
    print(traceback.extract_tb(error.__traceback__)[0].lineno, "507015" in str(error))
"""
    assert run(program) == "9 True\n"
    assert run(program, ACL_LAUNCH_BLOCKING="1") == "7 True\n"
