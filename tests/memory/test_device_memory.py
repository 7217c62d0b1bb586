"""torch.npu's functions about memory: statistics, the summary, limits, pools."""

import doctest
import inspect
import re

import pytest

MIB = 1 << 20
KINDS = ("current", "peak", "allocated", "freed")
POOLS = ("all", "small_pool", "large_pool")
METRICS = ("allocation", "allocated_bytes", "requested_bytes", "active", "active_bytes", "segment",
           "reserved_bytes", "inactive_split", "inactive_split_bytes")  # fmt: skip


class DummyAllocator:
    """All that the functions may use of an allocator."""

    def __init__(self, stats=None, snapshot=None):
        self._stats, self._snapshot = stats, snapshot

    def memory_stats(self):
        return self._stats

    def snapshot(self):
        return self._snapshot


# --- statistics ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["npu", "cuda"])
def test_no_device_is_needed_to_ask(torch, kind):
    module = getattr(torch, kind)
    assert module.memory_allocated() == module.max_memory_allocated() == 0
    assert module.memory_reserved() == module.max_memory_reserved() == 0
    assert module.memory_stats()["num_ooms"] == 0
    module.reset_peak_memory_stats()
    module.reset_accumulated_memory_stats()
    module.empty_cache()
    assert module.memory_segments() == []
    assert "Allocated memory" in module.memory_summary()
    assert module.get_per_process_memory_fraction() == 1.0
    assert module.get_allocator_backend() == "native"


def test_memory_functions(npu_module, allocator):
    a = allocator.malloc(3 * MIB)
    allocator.malloc(100)
    allocator.free(a)
    assert npu_module.memory_allocated() == npu_module.memory_allocated("npu:0") == 512
    assert npu_module.max_memory_allocated(0) == 3 * MIB + 512
    assert npu_module.memory_reserved() == npu_module.max_memory_reserved() == 22 * MIB
    npu_module.reset_peak_memory_stats()
    assert npu_module.max_memory_allocated() == 512
    npu_module.empty_cache()
    assert npu_module.memory_reserved() == 2 * MIB
    npu_module.reset_accumulated_memory_stats()
    assert npu_module.memory_stats()["allocated_bytes.all.freed"] == 0


def test_stat_keys_are_torchs(npu_module):
    stats = npu_module.memory_stats()
    expected = {f"{m}.{p}.{k}" for m in METRICS for p in POOLS for k in KINDS}
    expected |= {f"{m}.{k}" for m in ("oversize_allocations", "oversize_segments") for k in KINDS}
    expected |= {"num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc",
                 "num_device_free", "max_split_size"}  # fmt: skip
    assert len(expected) == 122
    extra = {f"allocated.{p}.{k}" for p in POOLS for k in KINDS}
    assert set(stats) == expected | extra
    assert list(stats) == sorted(stats)
    assert all(type(value) is int for value in stats.values())


def test_nested_stats(npu_module, allocator):
    allocator.malloc(5)
    nested = npu_module.memory_stats_as_nested_dict()
    flat = npu_module.memory_stats()
    assert nested["allocated_bytes"]["small_pool"]["peak"] == 512
    assert list(nested["segment"]) == list(POOLS)
    assert list(nested["segment"]["all"]) == list(KINDS)
    assert list(nested["oversize_segments"]) == list(KINDS)
    assert nested["max_split_size"] == -1

    def flatten(value, path=()):
        if not isinstance(value, dict):
            return {".".join(path): value}
        return {k: v for key in value for k, v in flatten(value[key], (*path, key)).items()}

    assert flatten(nested) == flat


@pytest.mark.parametrize(
    "old", ["memory_cached", "max_memory_cached", "reset_max_memory_allocated",
            "reset_max_memory_cached"]
)  # fmt: skip
def test_old_names_warn(npu_module, old):
    with pytest.warns(FutureWarning, match=old) as caught:
        getattr(npu_module, old)()
    assert caught[0].filename == __file__


def test_the_allocator_is_looked_up_at_each_call(torch, monkeypatch):
    monkeypatch.setattr(
        torch.npu, "_get_allocator",
        lambda device=None: DummyAllocator({"allocated_bytes.all.current": 5}),
    )  # fmt: skip
    assert torch.npu.memory_allocated() == torch.npu.memory.memory_allocated() == 5
    assert torch.npu.memory_reserved() == 0
    assert torch.npu.memory_stats() == {"allocated_bytes.all.current": 5}


def test_devices_may_be_named_in_every_way(torch, monkeypatch):
    asked = []
    real = torch.npu._get_allocator
    monkeypatch.setattr(torch.npu, "_get_allocator", lambda device=None: asked.append(device) or
                        real(device))  # fmt: skip
    for device in (None, 1, "npu:1", torch.device("npu", 1), "npu"):
        torch.npu.memory_allocated(device)
    assert asked == [None, 1, "npu:1", torch.device("npu", 1), "npu"]
    assert real("npu:1") is real(1) is real(torch.device("npu:1")) is not real()
    assert real().device_id == 0 and real(1).device_id == 1
    for bad in ("cpu", torch.device("cuda:0")):
        with pytest.raises(ValueError, match="Expected a npu device"):
            torch.npu.memory_allocated(bad)


# --- the summary --------------------------------------------------------------------------------


def some_stats(seed):
    stats, value = {}, seed
    for metric in METRICS:
        for pool in POOLS:
            for kind in KINDS:
                value = value * 48271 % 2147483647
                stats[f"{metric}.{pool}.{kind}"] = value % 10 ** (value % 10)
    for metric in ("oversize_allocations", "oversize_segments"):
        for kind in KINDS:
            value = value * 48271 % 2147483647
            stats[f"{metric}.{kind}"] = value % 10 ** (value % 10)
    return {**stats, "num_ooms": seed % 1000, "num_alloc_retries": seed // 7 % 1000}


@pytest.mark.parametrize("abbreviated", [False, True])
def test_the_summary_is_torchs_to_the_character(torch, torch_gives, monkeypatch, abbreviated):
    for seed in (1, 12345, 999331, 77):
        stats = some_stats(seed)

        def summaries(torch, stats=stats):
            def given(device=None):
                return stats

            monkeypatch.setattr(torch.cuda.memory, "memory_stats", given)
            return [torch.cuda.memory_summary(device, abbreviated) for device in (0, 7)]

        monkeypatch.setattr(
            torch.cuda, "_get_allocator", lambda device=None, stats=stats: DummyAllocator(stats)
        )
        ours = [torch.cuda.memory_summary(device, abbreviated) for device in (0, 7)]
        assert ours == torch_gives(summaries)


@pytest.mark.parametrize("abbreviated", [False, True])
def test_layout_of_the_npu_summary(npu_module, allocator, abbreviated):
    allocator.malloc(5 * MIB)
    allocator.malloc(1000)
    text = npu_module.memory_summary(abbreviated=abbreviated)
    lines = text.split("\n")
    assert lines.pop() == ""
    assert {len(line) for line in lines} == {77}
    assert all(line[0] == line[-1] == "|" for line in lines)
    assert lines[0] == lines[4] == lines[-1] == "|" + "=" * 75 + "|"
    assert lines[1] == "|" + f"{'':18}PyTorch NPU memory summary, device ID 0".ljust(75) + "|"
    assert lines[3] == ("|            NPU OOMs: 0             |        npuMalloc retries: 0   "
                        "       |")  # fmt: skip
    labels = [line[1:24].strip() for line in lines[7:] if "---" not in line and "===" not in line]
    groups = ["Allocated memory", "Active memory", "Requested memory", "Reserved memory",
              "Non-releasable memory", "Allocations", "Active allocs", "NPU reserved segments",
              "Non-releasable allocs"]  # fmt: skip
    pools = [] if abbreviated else ["from large pool", "from small pool"]
    expected = [label for group in groups for label in (group, *pools)]
    assert labels == [*expected, "Oversize allocations", "Oversize NPU segments"]
    assert "| Allocated memory      |   5121 KiB |   5121 KiB |   5121 KiB |      0 B   |" in lines
    assert "| Reserved memory       |  22528 KiB |  22528 KiB |  22528 KiB |      0 B   |" in lines


def test_the_summary_needs_no_statistic(torch, monkeypatch):
    """A dummy allocator with a few keys, and with none; no device."""
    eight = {f"{metric}.all.{kind}": 1024 for metric in ("allocated_bytes", "active_bytes",
             "reserved_bytes", "inactive_split_bytes") for kind in ("current", "peak")}  # fmt: skip
    for stats in (eight, {}):
        monkeypatch.setattr(torch.npu, "_get_allocator", lambda device=None, s=stats:
                            DummyAllocator(s))  # fmt: skip
        text = torch.npu.memory_summary()
        assert "Allocated memory" in text and "Reserved memory" in text
        shown = "  1024 B " if stats else "     0 B "
        assert re.search(rf"Reserved memory +\| {shown}", text)


@pytest.mark.parametrize(
    "value, text",
    [(0, "     0 B  "), (786431, "786431 B  "), (786432, "   768 KiB"), (805306367, "786431 KiB"),
     (805306368, "   768 MiB"), (768 << 30, "   768 GiB"), (768 << 60, "786432 PiB")],
)  # fmt: skip
def test_units_of_sizes(torch, monkeypatch, value, text):
    dummy = DummyAllocator({"allocated_bytes.all.current": value})
    monkeypatch.setattr(torch.npu, "_get_allocator", lambda device=None: dummy)
    assert f"| Allocated memory      | {text} |" in torch.npu.memory_summary()


@pytest.mark.parametrize(
    "value, text", [(749999, " 749999   "), (750000, "    750 K "), (750000000, "    750 M ")]
)
def test_units_of_counts(torch, monkeypatch, value, text):
    dummy = DummyAllocator({"allocation.all.current": value})
    monkeypatch.setattr(torch.npu, "_get_allocator", lambda device=None: dummy)
    assert f"| Allocations           | {text} |" in torch.npu.memory_summary()


# --- snapshots ----------------------------------------------------------------------------------


def test_memory_snapshot_gives_what_the_allocator_gives(torch, monkeypatch):
    snapshot = {"segments": [], "device": 0, "allocator": "npu"}
    monkeypatch.setattr(torch.npu, "_get_allocator", lambda device=None:
                        DummyAllocator(snapshot=snapshot))  # fmt: skip
    assert torch.npu.memory_snapshot() is snapshot
    assert torch.npu.memory_segments() == []
    assert torch.npu.memory._snapshot()["segments"] == []


def test_memory_snapshot(npu_module, allocator):
    ptr = allocator.malloc(3 * MIB)
    snapshot = npu_module.memory_snapshot()
    assert snapshot["device"] == 0 and snapshot["allocator"] == "npu"
    [segment] = snapshot["segments"]
    assert segment["address"] == ptr and segment["total_size"] == 20 * MIB
    assert [block["state"] for block in segment["blocks"]] == ["active_allocated", "inactive"]
    assert npu_module.memory_segments() == snapshot["segments"]
    assert npu_module.memory_segments((0, 0)) == snapshot["segments"]
    assert npu_module.memory_segments((0, 9)) == []
    assert npu_module.memory_snapshot((0, 9))["segments"] == []


# --- limits -------------------------------------------------------------------------------------


@pytest.fixture
def fraction(torch):
    yield torch.npu.set_per_process_memory_fraction
    for device in (0, 1):
        torch.npu.set_per_process_memory_fraction(1.0, device)


def test_fraction_arguments(torch, fraction):
    for bad in (1, 0, "0.5", None):
        with pytest.raises(TypeError, match="float"):
            fraction(bad)
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="Allowed range: 0~1"):
            fraction(bad)
    fraction(0.0)
    assert torch.npu.get_per_process_memory_fraction() == 0.0
    fraction(0.5, "npu:1")
    assert torch.npu.get_per_process_memory_fraction(1) == 0.5
    assert torch.npu.get_per_process_memory_fraction(0) == 0.0


def test_fraction_holds_for_every_allocator_of_the_device(fraction, clean_conf):
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    older, other = NpuAllocator(), NpuAllocator(1)
    fraction(0.5)
    younger = NpuAllocator()
    assert older.memory_fraction == younger.memory_fraction == 0.5
    assert other.memory_fraction == 1.0
    older._mem_get_info = lambda: (40, 100)
    older._stats["reserved_bytes.all.current"] = 60
    with pytest.raises(RuntimeError):
        older._enforce_memory_fraction(50)
    # Without a device nobody knows how much a part of it is: no limit.
    younger._raw_malloc = lambda size: (1 << 33, size)
    assert younger.malloc(100) == 1 << 33


def test_mem_get_info(torch, monkeypatch):
    from mindtorch_v2._backends.npu import runtime

    class Rt:
        def set_device(self, device):
            self.device = device
            return 0

        def set_context(self, context):
            return 0

        def get_mem_info(self, attr):
            return 100 + self.device, 1000, 0

    class Acl:
        rt = Rt()

    monkeypatch.setattr(runtime, "acl", Acl())
    assert torch.npu.mem_get_info() == torch.npu.mem_get_info("npu:0") == (100, 1000)
    assert torch.npu.mem_get_info(2) == (102, 1000)
    assert torch.npu.mem_get_info(-1) == (100, 1000)


@pytest.mark.parametrize("kind", ["npu", "cuda"])
def test_mem_get_info_without_a_device(torch, kind):
    module = getattr(torch, kind)
    if not module.is_available():
        with pytest.raises(RuntimeError, match=kind):
            module.mem_get_info()


def test_raw_allocation(npu_module, allocator):
    ptr = npu_module.caching_allocator_alloc(1000)
    assert npu_module.memory_allocated() == 1024
    npu_module.caching_allocator_delete(ptr)
    npu_module.caching_allocator_delete(0)
    assert npu_module.memory_allocated() == 0
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        npu_module.caching_allocator_delete(ptr)
    side = npu_module.caching_allocator_alloc(1000, stream=5)
    [segment] = [s for s in npu_module.memory_segments() if s["stream"] == 5]
    assert segment["address"] == side


# --- pools --------------------------------------------------------------------------------------


def test_pools(npu_module, allocator, npu):
    pool = npu_module.MemPool()
    assert pool.id[0] == 0 and pool.id[1] > 0 and pool.id != npu_module.MemPool().id
    assert pool.use_count() == 1 and pool.snapshot() == []
    outside = allocator.malloc(100)
    with npu_module.use_mem_pool(pool):
        assert pool.use_count() == 2
        inside = allocator.malloc(100)
        with pytest.raises(RuntimeError, match="already"), npu_module.use_mem_pool(pool):
            pass
    assert pool.use_count() == 1
    [segment] = pool.snapshot()
    assert segment["address"] == inside and segment["segment_pool_id"] == pool.id
    assert npu_module.memory_segments(pool.id) == [segment]
    assert allocator.malloc(100) == outside + 512
    allocator.free(inside)
    npu_module.empty_cache()
    assert inside in npu.segments  # the pool keeps its memory
    del pool
    npu_module.empty_cache()
    assert inside not in npu.segments


def test_pools_take_no_allocator(npu_module):
    with pytest.raises(NotImplementedError):
        npu_module.MemPool(allocator=object())


def test_a_pool_may_help_out(npu_module, allocator, npu):
    npu.total = 50 * MIB
    pool = npu_module.MemPool(use_on_oom=True)
    with npu_module.use_mem_pool(pool):
        ptr = allocator.malloc(40 * MIB)
        allocator.free(ptr)
    assert allocator.malloc(30 * MIB) == ptr


# --- the rest -----------------------------------------------------------------------------------


def test_host_memory_stats(torch):
    stats = torch.npu.host_memory_stats()
    assert len(stats) == 28 and list(stats) == sorted(stats)
    assert torch.npu.host_memory_stats_as_nested_dict()["active_bytes"]["peak"] >= 0
    torch.npu.reset_peak_host_memory_stats()
    torch.npu.reset_accumulated_host_memory_stats()


def test_name_and_capability_are_looked_up_at_each_call(torch, monkeypatch):
    assert torch.npu.get_device_capability() == (0, 0)
    if not torch.npu.is_available():
        with pytest.raises(RuntimeError, match="npu"):
            torch.npu.get_device_name()
    monkeypatch.setattr(torch.npu, "_get_device_name", lambda device=None: f"Ascend {device}")
    monkeypatch.setattr(torch.npu, "_get_device_capability", lambda device=None: (9, 2))
    assert torch.npu.get_device_name(1) == "Ascend 1"
    assert torch.npu.get_device_capability("npu:0") == (9, 2)
    properties = torch.npu.get_device_properties(0)
    assert (properties.name, properties.major, properties.minor) == ("Ascend 0", 9, 2)


@pytest.mark.parametrize("kind", ["npu", "cuda"])
def test_examples_and_names(torch, kind):
    """What torch.npu.memory has is documented, is in torch.npu, and does what its examples say."""
    memory = getattr(torch, kind).memory
    for name in memory.__all__:
        value = getattr(memory, name)
        assert value.__doc__, name
        assert getattr(getattr(torch, kind), name) is value
        text = inspect.cleandoc(value.__doc__)
        test = doctest.DocTestParser().get_doctest(text, {"torch": torch}, name, None, None)
        runner = doctest.DocTestRunner(verbose=False)
        report = []
        runner.run(test, out=report.append)
        assert runner.summarize(verbose=False).failed == 0, "".join(report)
