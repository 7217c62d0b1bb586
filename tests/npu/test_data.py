"""DataLoader and multiprocessing beside NPUs."""

import json

import mindtorch_v2 as torch
import pytest

data = torch.utils.data


class Numbers(data.Dataset):
    def __init__(self, source=None):
        self.source = source

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if self.source is not None:
            return self.source[index]
        return torch.full((3, 40, 40), float(index))


@pytest.mark.parametrize("workers", [0, 2])
def test_pinned_batches(workers):
    loader = data.DataLoader(Numbers(), 2, num_workers=workers, pin_memory=True)
    for number, batch in enumerate(loader):
        assert batch.is_pinned()
        moved = batch.to("npu", non_blocking=True)
        assert moved[:, 0, 0, 0].tolist() == [2.0 * number, 2.0 * number + 1]


def test_pinned_batches_are_copied_while_the_device_computes(simulator, tmp_path):
    """By a stream of their own, beside a product that cannot end before them: its stream hangs."""
    weight, copies = torch.ones(8, 8, device="npu"), torch.npu.Stream()
    torch.npu.synchronize()
    simulator.clear_calls()
    simulator.hang(torch.npu.current_stream())
    product = weight @ weight
    moved = []
    for batch in data.DataLoader(Numbers(), 2, pin_memory=True):
        with copies:
            moved.append(batch.to("npu", non_blocking=True))
    assert not any("Synchronize" in call.function for call in simulator.calls())
    copies.synchronize()
    assert not torch.npu.current_stream().query()
    simulator.release()
    torch.npu.synchronize()
    assert product[0, 0].item() == 8
    assert [each[1, 0, 0, 0].item() for each in moved] == [1.0, 3.0, 5.0]

    simulator.trace(str(tmp_path / "run.json"))
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]

    def spans(name, on_device):
        return [
            (event["ts"], event["ts"] + event["dur"])
            for event in events
            if event["ph"] == "X" and event["name"] == name and (event["pid"] > 0) == on_device
        ]

    [(given, _)] = spans("aclnnMm", on_device=False)
    [(_, ended)] = spans("aclnnMm", on_device=True)
    copied = spans("aclrtMemcpyAsync", on_device=True)[:3]
    assert len(copied) == 3
    for start, end in copied:
        assert given < start < end < ended


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_with_pinned_batches(workers):
    loader = data.DataLoader([1, "a"], 2, num_workers=workers, pin_memory=True)
    with pytest.raises((TypeError, ValueError), match="in DataLoader worker process 0"):
        list(loader)


def test_pinned_batches_that_are_left(workers=2):
    for _ in data.DataLoader(Numbers(), 2, num_workers=workers, pin_memory=True):
        break


def test_npu_tensors_are_refused_in_workers():
    values = torch.arange(6.0, device="npu")
    with pytest.raises(RuntimeError, match="Cannot re-initialize NPU in forked subprocess"):
        list(data.DataLoader(Numbers(values), num_workers=1))
    with pytest.raises(RuntimeError, match="a tensor on npu:0 can not be sent to another process"):
        list(data.DataLoader(range(3), num_workers=1, collate_fn=lambda batch: values))
    with pytest.raises(RuntimeError, match="a tensor on npu:0 can not be sent to another process"):
        torch.multiprocessing.SimpleQueue().put(values)
    assert values.is_shared()
    assert values.share_memory_() is values


def test_fork_rng_takes_the_accelerator():
    before = torch.npu.get_rng_state(), torch.get_rng_state()
    with torch.random.fork_rng():
        torch.rand(4, device="npu")
        torch.rand(4)
        torch.manual_seed(99)
    assert torch.equal(torch.npu.get_rng_state(), before[0])
    assert torch.equal(torch.get_rng_state(), before[1])
    torch.rand(4, device="npu")
    assert not torch.equal(torch.npu.get_rng_state(), before[0])
    torch.npu.set_rng_state(before[0])
    assert torch.equal(torch.npu.get_rng_state(), before[0])


def test_checkpoint_on_an_npu(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"a": torch.arange(4.0, device="npu")}, path)
    assert torch.load(path)["a"].device.type == "npu"
    assert torch.load(path, map_location="cpu", mmap=True)["a"].tolist() == [0.0, 1.0, 2.0, 3.0]
    on_device = torch.load(path, map_location={"npu:0": "npu:0"}, mmap=True)["a"]
    assert on_device.device.type == "npu"
    assert on_device.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_orders_are_those_of_the_cpu_whatever_the_default_device():
    """What a loader draws, only Python reads: with generators of the CPU, and with none."""

    def orders(seed):
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        numbers = range(7)
        samplers = [
            data.RandomSampler(numbers),
            data.RandomSampler(numbers, replacement=True, generator=generator),
            data.SubsetRandomSampler(numbers, generator),
            data.WeightedRandomSampler([1.0, 2.0, 3.0], 5, generator=generator),
            data.DistributedSampler(numbers, 2, 0, seed=seed),
            *data.random_split(numbers, [3, 4]),
            data.DataLoader(numbers, shuffle=True, collate_fn=list),
            torch.quasirandom.SobolEngine(2, scramble=True, seed=seed).draw(3).tolist(),
        ]
        return [list(sampler) for sampler in samplers]

    expected = orders(3)
    with torch.device("npu"):
        assert orders(3) == expected
