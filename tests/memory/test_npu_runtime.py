"""mindtorch_v2._backends.npu.runtime: the stream, deferred frees, and the device's memory."""

import pytest


class Rt:
    """ACL's runtime functions, as far as they are used; keeps a log."""

    def __init__(self):
        self.calls = []
        self.failing = None

    def _log(self, *call):
        self.calls.append(call)
        return 507 if call[0] == self.failing else 0

    def synchronize_stream(self, stream):
        return self._log("synchronize_stream", stream)

    def free(self, ptr):
        return self._log("free", ptr)


@pytest.fixture
def runtime(monkeypatch):
    from mindtorch_v2._backends.npu import runtime

    monkeypatch.setattr(runtime, "_runtimes", {})
    return runtime


@pytest.fixture
def rt(runtime, monkeypatch):
    class Acl:
        rt = Rt()

    monkeypatch.setattr(runtime, "acl", Acl())
    return Acl.rt


def test_runtimes_need_no_device(runtime):
    made = runtime.get_runtime()
    assert made is runtime.get_runtime(0) and made is not runtime.get_runtime(1)
    assert made.device_id == 0 and runtime.get_runtime(1).device_id == 1
    assert made.stream is None and made.context is None and not made.initialized


def test_without_an_npu_the_reason_is_raised(torch, runtime):
    if torch.npu.is_available():
        return
    runtime.get_runtime().defer_free(1)
    for call in (runtime.get_runtime().synchronize, runtime.mem_get_info):
        with pytest.raises(RuntimeError, match="npu:0"):
            call()


def test_the_stream_comes_first_then_the_frees_in_order(runtime, rt):
    made = runtime._Runtime()
    made.initialized, made.stream = True, 42
    made.defer_free(111)
    made.defer_free(222)
    assert rt.calls == []
    made.synchronize()
    assert rt.calls == [("synchronize_stream", 42), ("free", 111), ("free", 222)]
    made.synchronize()
    assert rt.calls[3:] == [("synchronize_stream", 42)]


def test_a_failed_wait_frees_nothing(runtime, rt):
    made = runtime.get_runtime()
    made.defer_free(111)
    rt.failing = "synchronize_stream"
    with pytest.raises(RuntimeError, match="507"):
        made.synchronize()
    rt.failing = None
    made.synchronize()
    assert rt.calls[1:] == [("synchronize_stream", None), ("free", 111)]


def test_a_failed_free_leaves_the_others_for_later(runtime, rt):
    made = runtime.get_runtime()
    for ptr in (1, 2, 3):
        made.defer_free(ptr)
    made.defer_free(0)  # nothing
    rt.failing = "free"
    with pytest.raises(RuntimeError, match="aclrtFree"):
        made.synchronize()
    rt.failing = None
    made.synchronize()
    assert [call[1] for call in rt.calls if call[0] == "free"] == [1, 2, 3]


def test_mem_get_info_with_three_functions(runtime, monkeypatch):
    """set_device, set_context and get_mem_info are all there is; nothing is initialised."""

    class Three:
        def set_device(self, device):
            assert device == 3
            return 0

        def set_context(self, context):
            return 0

        def get_mem_info(self, attr):
            return 10 + attr, 100, 0

    class Acl:
        rt = Three()

    monkeypatch.setattr(runtime, "acl", Acl())
    assert runtime.mem_get_info(3) == (10, 100)
    assert runtime.mem_get_info(device_id=3, attr=1) == (11, 100)
    runtime.get_runtime(3).context = "context"
    assert runtime.mem_get_info(3) == (10, 100)


def test_mem_get_info_with_a_replaced_runtime(runtime, monkeypatch):
    class Dummy:
        def set_device(self, device):
            pass

        def set_context(self, context):
            pass

        def get_mem_info(self, attr):
            return 1, 2

    monkeypatch.setattr(runtime, "get_runtime", lambda device_id=0: Dummy())
    assert runtime.mem_get_info() == (1, 2)


def test_mem_get_info_reports_errors(runtime, monkeypatch):
    class Failing:
        def set_device(self, device):
            return 0

        def get_mem_info(self, attr):
            return 0, 0, 107002

    class Acl:
        rt = Failing()

    monkeypatch.setattr(runtime, "acl", Acl())
    with pytest.raises(RuntimeError, match="107002"):
        runtime.mem_get_info()


def test_the_allocator_asks_the_runtime(runtime, monkeypatch, clean_conf):
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    monkeypatch.setattr(runtime, "mem_get_info", lambda device_id=0, attr=0: (device_id, 8))
    assert NpuAllocator(5)._mem_get_info() == (5, 8)
