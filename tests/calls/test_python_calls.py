"""Python code that ops call, on threads that wait for each other or outlive the interpreter."""

import subprocess
import sys

import pytest

# The thread sleeps in Python code that an op has called, while the interpreter ends.
ENDING = """
import sys, threading, time, warnings
import mindtorch_v2 as torch

class Slow:
    asleep = threading.Event()
    def wait(self, *args, **kwargs):
        self.asleep.set()
        time.sleep(0.1)
        return 1
    __index__ = __array__ = __dlpack__ = __bool__ = find_spec = wait

class Last:  # while the interpreter takes this away, the thread wakes up
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

x, slow, sys.last = torch.ones(3), Slow(), Last()
def work():
    {call}
threading.Thread(target=work, daemon=True).start()
slow.asleep.wait()
"""
CALLS = {
    "an import": "sys.meta_path.insert(0, slow); x.numpy()",
    "an array": "torch.as_tensor(slow)",
    "a capsule": "torch.from_dlpack(slow)",
    "a number": "x[slow]",
    "a truth": "x.numpy(force=slow)",
    "a list of numbers": "torch.tensor([slow])",
    "a warning": "warnings.showwarning = slow.wait; torch.tensor(x)",
}


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_interpreter_ends_meanwhile(call):
    run(ENDING.format(call=call))


@pytest.mark.parametrize("first", ["x.numpy()", "torch.as_tensor(Array())"])
def test_threads_need_a_module_first(first):
    """Each finds that it has to be imported, and lets the others run while it is."""
    run(f"""
import sys, threading, time
import mindtorch_v2 as torch

class Slow:
    def find_spec(self, name, *args):
        if name == "numpy": time.sleep(0.05)
class Array:
    def __array__(self, *args, **kwargs):
        import numpy
        return numpy.ones(3)

x = torch.ones(3)
sys.meta_path.insert(0, Slow())
threads = [threading.Thread(target=lambda: {first}) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
