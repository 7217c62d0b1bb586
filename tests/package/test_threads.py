"""How many threads CPU ops use, and who decides."""

import os
import subprocess
import sys

import pytest

COUNT = "import mindtorch_v2 as torch; print(torch.get_num_threads())"
WORKER = """
import mindtorch_v2 as torch
from mindtorch_v2.utils.data import DataLoader, Dataset

class Threads(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return torch.get_num_threads()

if __name__ == "__main__":
    torch.set_num_threads(3)
    torch.ones(1 << 20).sum()  # the parent's pool has threads
    counts = [int(count) for batch in DataLoader(Threads(), num_workers=2) for count in batch]
    print(max(counts), torch.get_num_threads())
"""


def run(program, before=None, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=before,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"MINDTORCH_NUM_THREADS": "3"}, "3"),
        ({"OMP_NUM_THREADS": "5"}, "5"),
        ({"OMP_NUM_THREADS": "7,2"}, "7"),
        ({"MINDTORCH_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, "3"),
    ],
)
def test_the_environment_decides(environment, expected):
    assert run(COUNT, **environment) == [expected]


def test_the_program_decides_over_the_environment():
    program = "import mindtorch_v2 as torch; torch.set_num_threads(2); "
    program += "torch.ones(1 << 20).sum(); print(torch.get_num_threads())"
    assert run(program, MINDTORCH_NUM_THREADS="6") == ["2"]


def test_no_more_than_the_affinity_allows():
    one = min(os.sched_getaffinity(0))
    assert run(COUNT, before=lambda: os.sched_setaffinity(0, {one})) == ["1"]


def test_workers_of_a_data_loader_have_one_thread_each():
    assert run(WORKER) == ["1", "3"]


def test_loading_the_library_starts_no_threads():
    # OpenBLAS starts one for every processor unless it is told not to.
    program = "import os, mindtorch_v2; print(len(os.listdir('/proc/self/task')))"
    assert run(program) == ["1"]
    keeps = "import os, mindtorch_v2; print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    assert run(keeps) == ["None"] and run(keeps, OPENBLAS_NUM_THREADS="2") == ["2"]
