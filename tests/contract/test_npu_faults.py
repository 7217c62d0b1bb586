"""What goes wrong on an NPU: a clear error, nothing lost, no hang, and the next op works."""

import pytest

from tests.contract.simulated import run

LOOP = """
import gc
s = torch.npu.simulator
s.set(print=False)
side = torch.npu.Stream()

def step():
    host = torch.ones(8, 8).pin_memory()
    x = host.to("npu", non_blocking=True)
    w = torch.full((8, 8), 0.5, device="npu")
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        z = (x @ w).relu()
        x.record_stream(side)
    torch.npu.current_stream().wait_stream(side)
    event = torch.npu.Event(enable_timing=True)
    loss = (z.softmax(1) * 2).sum()
    w.sub_(z * 0.1)
    event.record()
    event.synchronize()
    return loss.item()
"""


def test_every_call_failed_in_turn():
    """In a training-like loop each ACL call fails once, at every place where it is made."""
    text = run(
        LOOP
        + """
want = step()
torch.npu.synchronize()
torch.npu.empty_cache()
s.set(log=100000)
torch.npu.empty_cache()
step()
made = {}
for call in s.calls():
    if call.kind == "call":
        made[call.function] = made.get(call.function, 0) + 1
s.set(log=0)
torch.npu.synchronize()
gc.collect()
clean = torch.npu.memory_allocated()
failed = 0
for function, times in made.items():
    for nth in range(1, times + 1):
        torch.npu.empty_cache()
        s.add_faults(f"call:{function}:{nth}:507899")
        try:
            step()
        except RuntimeError as error:
            assert "507899" in str(error) or "memory" in str(error), (function, nth, error)
            failed += 1
            del error
        s.clear_faults()
        try:
            torch.npu.synchronize()  # tells what nobody was told
        except RuntimeError:
            pass
        torch.npu.synchronize()
        gc.collect()
        assert torch.npu.memory_allocated() == clean, (function, nth)
        assert abs(step() - want) < 1e-5, (function, nth)
print(failed, len(made))
assert s.reports() == [], s.reports()[0]
"""
    )
    failed, functions = map(int, text.split())
    assert failed >= functions > 10


@pytest.mark.parametrize("code", [507015, 507899])
def test_every_task_failed_in_turn(code):
    run(
        LOOP
        + f"""
want = step()
s.set(log=100000)
step()
tasks = sum(call.kind == "task" for call in s.calls())
s.set(log=0)
for nth in range(1, tasks + 1):
    s.add_faults("task:*:%d:{code}" % nth)
    try:
        step()
        torch.npu.synchronize()
        raise SystemExit("task %d did not fail" % nth)
    except RuntimeError as error:
        assert "{code}" in str(error), error
    s.clear_faults()
    try:
        torch.npu.synchronize()
    except RuntimeError:
        pass
    torch.npu.synchronize()
    assert abs(step() - want) < 1e-5, nth
"""
    )


def test_a_storm_of_out_of_memory():
    """Threads ask for more than there is: each failure is an OutOfMemoryError, nothing leaks."""
    run(
        """
import threading
refused = []
def work(number):
    with torch.npu.Stream():
        for turn in range(40):
            try:
                x = torch.ones((number % 3 + 1) * (1 << 20), device="npu")
                assert (x + 1)[5].item() == 2
            except torch.OutOfMemoryError as error:
                assert "NPU out of memory" in str(error)
                refused.append(number)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert refused
torch.npu.synchronize()
torch.npu.empty_cache()
assert torch.npu.memory_allocated() == 0 and torch.npu.memory_reserved() == 0
assert torch.npu.mem_get_info()[0] == torch.npu.mem_get_info()[1]
assert torch.ones(10, device="npu").sum().item() == 10
assert torch.npu.simulator.reports() == [], torch.npu.simulator.reports()[0]
""",
        MINDTORCH_SIM_MEMORY="64M",
    )


def test_errors_name_op_shapes_dtypes_code_and_text():
    text = run(
        """
torch.npu.simulator.add_faults("call:aclnnMatmul:1:561003 call:aclnnMm:1:561003")
try:
    torch.ones(2, 3, device="npu") @ torch.ones(3, 4, device="npu")
except RuntimeError as error:
    print(error)
"""
    )
    assert "float32[2, 3], float32[3, 4]" in text and "561003" in text
    assert "ACLNN_ERR_INNER_FIND_KERNEL_ERROR" in text and "a fault was set" in text
