"""torch.multiprocessing, shared storages, and storages over files."""

import gc
import os
import time

import mindtorch_v2 as torch
import numpy as np
import pytest

mp = torch.multiprocessing


def add_one(index, *tensors):
    for tensor in tensors:
        tensor += 1


def fail_at_one(index):
    if index == 1:
        raise ValueError("this one fails")
    time.sleep(60)


def leave(index, code):
    os._exit(code) if code >= 0 else os.kill(os.getpid(), -code)


def double_all(requests, answers):
    while (tensor := requests.get()) is not None:
        tensor *= 2
        answers.put(tensor.sum())


def sum_of(tensor):
    return tensor.sum()


@pytest.fixture(params=["file_descriptor", "file_system"])
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


def named_segments():
    return [name for name in os.listdir("/dev/shm") if name.startswith(f"torch_{os.getpid()}_")]


def test_share_memory_moves_all_views():
    base = torch.arange(10.0)
    view = base[2:]
    assert not base.is_shared()
    assert base.share_memory_() is base
    assert view.is_shared()
    view[0] = 50.0
    assert base.tolist() == [0.0, 1.0, 50.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    assert base.untyped_storage().share_memory_().is_shared()
    assert torch.FloatStorage(3).share_memory_().is_shared()


def test_share_memory_of_an_array_that_numpy_looks_at():
    tensor = torch.ones(3)
    array = tensor.numpy()
    with pytest.raises(RuntimeError, match="NumPy or another library looks at"):
        tensor.share_memory_()
    del array
    assert tensor.share_memory_().is_shared()


def test_share_memory_in_a_pipeline():
    with torch.pipeline():
        tensor = torch.ones(4) + 1
        tensor.share_memory_()
        tensor += 1
    assert tensor.tolist() == [3.0] * 4


def test_shared_parameters_of_a_module():
    module = torch.nn.Linear(2, 2).share_memory()
    assert all(parameter.is_shared() for parameter in module.parameters())
    before = module.weight.detach().clone()
    with torch.no_grad():
        mp.spawn(add_one, (module.weight.detach(),), nprocs=2)
    assert torch.allclose(module.weight, before + 2)


def test_queue(strategy):
    context = mp.get_context("spawn")
    requests, answers = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=double_all, args=(requests, answers))
    process.start()
    tensors = [torch.ones(5), torch.ones(4, 4).t()[1:], torch.ones(0), torch.ones(3).int()]
    for tensor in tensors:
        requests.put(tensor)
    sums = [answers.get().item() for _ in tensors]
    requests.put(None)
    process.join()
    assert sums == [10.0, 24.0, 0.0, 6]
    assert [tensor.sum().item() for tensor in tensors] == sums
    assert named_segments() == []


def test_values_that_are_sent(strategy):
    queue = mp.SimpleQueue()
    base = torch.arange(4.0)
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    queue.put([base, base[1:], parameter, torch.float16, torch.ones(2, device="meta"), base.int()])
    first, view, sent, dtype, meta, integers = queue.get()
    first[1] = 9.0
    assert view.tolist() == [9.0, 2.0, 3.0]
    assert base.tolist() == [0.0, 9.0, 2.0, 3.0]
    assert type(sent) is torch.nn.Parameter
    assert not sent.requires_grad
    assert dtype is torch.float16
    assert meta.is_meta
    assert integers.tolist() == [0, 1, 2, 3]
    storage = torch.LongStorage([1, 2])
    queue.put(storage)
    assert queue.get().tolist() == [1, 2]


def test_pool():
    with mp.Pool(2) as pool:
        assert [value.item() for value in pool.map(sum_of, [torch.ones(3), torch.ones(4)])] == [
            3,
            4,
        ]


def test_non_leaf_is_refused():
    tensor = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        mp.SimpleQueue().put(tensor)


def test_spawn():
    counter = torch.zeros(2).share_memory_()
    assert mp.spawn(add_one, (counter,), nprocs=1) is None
    assert counter.tolist() == [1.0, 1.0]
    context = mp.spawn(add_one, (counter,), nprocs=1, join=False)
    while not context.join():
        pass
    assert counter.tolist() == [2.0, 2.0]
    assert len(context.pids()) == 1


def test_spawn_that_fails():
    with pytest.raises(mp.ProcessRaisedException, match="this one fails") as caught:
        mp.start_processes(fail_at_one, nprocs=2, start_method="fork")
    assert "-- Process 1 terminated with the following error:\nTraceback" in str(caught.value)
    assert caught.value.error_index == 1


@pytest.mark.parametrize(
    ("code", "text"), [(5, "with exit code 5"), (-9, "with signal SIGKILL")], ids=str
)
def test_spawn_that_ends(code, text):
    with pytest.raises(mp.ProcessExitedException, match=f"process 0 terminated {text}") as caught:
        mp.start_processes(leave, (code,), start_method="fork")
    assert caught.value.exit_code == code


def test_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    with pytest.raises(AssertionError, match="invalid sharing strategy 'x'"):
        mp.set_sharing_strategy("x")


def test_shared_memory_is_given_back():
    def mapped():
        gc.collect()
        with open("/proc/self/maps") as file:
            return sum("memfd:mindtorch" in line for line in file)

    before = mapped()
    tensor = torch.ones(1000).share_memory_()
    view = tensor[5:]
    assert mapped() == before + 1
    del tensor
    assert mapped() == before + 1
    del view
    assert mapped() == before


def test_storage_from_file(tmp_path):
    path = str(tmp_path / "numbers.bin")
    np.arange(6, dtype=np.float32).tofile(path)
    private = torch.UntypedStorage.from_file(path, shared=False, nbytes=24)
    private[0] = 255
    assert np.fromfile(path, np.float32).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    shared = torch.FloatStorage.from_file(path, shared=True, size=6)
    shared[2] = 20.0
    del shared
    assert np.fromfile(path, np.float32).tolist() == [0.0, 1.0, 20.0, 3.0, 4.0, 5.0]
    assert torch.empty(0).set_(private)[3:].tolist() == [3.0, 4.0, 5.0]
    assert torch.UntypedStorage.from_file(path).nbytes() == 24


def test_storage_from_file_grows_the_file(tmp_path):
    path = tmp_path / "new.bin"
    storage = torch.UntypedStorage.from_file(str(path), shared=True, nbytes=100)
    storage.fill_(7)
    assert path.read_bytes() == bytes([7]) * 100
    with pytest.raises(RuntimeError, match="unable to mmap 200 bytes from file"):
        torch.UntypedStorage.from_file(str(path), shared=False, nbytes=200)
    with pytest.raises(FileNotFoundError):
        torch.UntypedStorage.from_file(str(tmp_path / "missing"), shared=False, nbytes=1)
