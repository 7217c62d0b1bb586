"""The cache of phase one: what a program planned under a key runs again with other addresses and
without its descriptions. Called as a program does that looks the functions up by name."""

import ctypes
import time

import numpy as np
import pytest

from tests.simulator.ops import acl

INNER = 561000


@pytest.fixture(scope="module")
def npu():
    return acl.Device()


@pytest.fixture
def arrays(npu):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(6).astype(np.float32) for _ in range(4)]


def begin(key, addresses):
    """As before each op: the key, and the addresses of its tensors in order."""
    acl.function("InitPTACacheThreadLocal", None)()
    for address in addresses:
        acl.function("AddTensorAddrToCachedList", None)(address)
    if isinstance(key, int):
        acl.function("SetPTAHashKey", None)(ctypes.c_uint64(key))
    else:
        acl.function("SetPTACacheHashKey", None)(key, ctypes.c_size_t(len(key or b"")))


def find(key):
    """(workspace size, executor), or None."""
    size = ctypes.c_uint64()
    if isinstance(key, int):
        get = acl.function("PTAGetExecCache", ctypes.c_void_p)
        found = get(ctypes.c_uint64(key), ctypes.byref(size))
    else:
        get = acl.function("PTAFindExecCache", ctypes.c_void_p)
        found = get(key, ctypes.c_size_t(len(key)), ctypes.byref(size))
    return (size.value, ctypes.c_void_p(found)) if found else None


def end():
    acl.function("UnInitPTACacheThreadLocal", None)()


def tensor(pointer, count=6, strides=(1,)):
    return acl.create_tensor([count], "f32", strides, 0, count, pointer)


def run(npu, op, size, executor):
    workspace = npu.malloc(size) if size else ctypes.c_void_p()
    acl.phase_two(op, workspace, size, executor, npu.stream)
    npu.synchronize()


def first_sub(npu, key, arrays):
    """The first a - b under the key, with descriptions that are destroyed at once."""
    pointers = [npu.upload(array) for array in (*arrays, np.zeros(6, np.float32))]
    begin(key, pointers)
    assert find(key) is None
    tensors = [tensor(pointer) for pointer in pointers]
    one = acl.create_scalar(1.0, "f32")
    size, executor = acl.phase_one("aclnnSub", [tensors[0], tensors[1], one, tensors[2]])
    run(npu, "aclnnSub", size, executor)
    end()
    for handle in tensors:
        acl.check("aclDestroyTensor", handle)
    acl.check("aclDestroyScalar", one)
    np.testing.assert_array_equal(npu.download(pointers[2], arrays[0]), arrays[0] - arrays[1])


@pytest.mark.parametrize("key", [b"sub 6 float", 0x1234567])
def test_a_plan_runs_again_with_other_addresses(npu, arrays, key):
    a, b, c, d = arrays
    first_sub(npu, key, [a, b])
    pointers = [npu.upload(array) for array in (c, d, np.zeros_like(c))]
    begin(key, pointers)
    size, executor = find(key)
    run(npu, "aclnnSub", size, executor)
    end()
    np.testing.assert_array_equal(npu.download(pointers[2], c), c - d)


def test_one_tensor_twice_at_first_two_tensors_later(npu, arrays):
    """Addresses are told apart by their place, not by their value."""
    a, b, c, _ = arrays
    first_sub(npu, b"other key", [a, a])
    pointers = [npu.upload(array) for array in (b, c, np.zeros_like(c))]
    begin(b"other key", pointers)
    run(npu, "aclnnSub", *find(b"other key"))
    end()
    np.testing.assert_array_equal(npu.download(pointers[2], c), b - c)


def test_lists_count_their_members(npu, arrays):
    outs = [npu.upload(np.zeros(12, np.float32)) for _ in range(2)]
    inputs = [[npu.upload(array) for array in pair] for pair in (arrays[:2], arrays[2:])]
    begin(b"cat", [*inputs[0], outs[0]])
    members = acl.create_list("Tensor", [tensor(pointer) for pointer in inputs[0]])
    size, executor = acl.phase_one(
        "aclnnCat", [members, 0, acl.create_tensor([12], "f32", [1], 0, 12, outs[0])]
    )
    run(npu, "aclnnCat", size, executor)
    begin(b"cat", [*inputs[1], outs[1]])
    run(npu, "aclnnCat", *find(b"cat"))
    end()
    like = np.zeros(12, np.float32)
    np.testing.assert_array_equal(npu.download(outs[0], like), np.concatenate(arrays[:2]))
    np.testing.assert_array_equal(npu.download(outs[1], like), np.concatenate(arrays[2:]))


def test_nothing_is_kept_without_a_key_or_with_other_tensors(npu, arrays):
    pointers = [npu.upload(array) for array in arrays[:3]]
    for key, told in ((None, pointers), (0, pointers), (b"too few", pointers[:2])):
        begin(key, told)
        tensors = [tensor(pointer) for pointer in pointers]
        one = acl.create_scalar(1.0, "f32")
        size, executor = acl.phase_one("aclnnSub", [tensors[0], tensors[1], one, tensors[2]])
        run(npu, "aclnnSub", size, executor)
        end()
        begin(key or b"", told)
        assert find(key or b"") is None
        end()


def test_an_executor_of_the_cache_is_used_once(npu, arrays):
    first_sub(npu, b"once", arrays[:2])
    pointers = [npu.upload(array) for array in arrays[:3]]
    begin(b"once", pointers)
    size, executor = find(b"once")
    assert acl.function("aclSetAclOpExecutorRepeatable")(executor) == INNER
    run(npu, "aclnnSub", size, executor)
    with pytest.raises(acl.Error, match="used up"):
        acl.phase_two("aclnnSub", None, 0, executor, npu.stream)
    end()


@pytest.fixture
def costs():
    """Sets what the host spends, in microseconds."""
    control = acl.function("mtsim_set")

    def set_to(phase_one, repeat):
        assert control(b"phase_one", str(phase_one).encode()) == 0
        assert control(b"repeat", str(repeat).encode()) == 0

    yield set_to
    set_to(0, 0)


def test_the_host_may_be_kept_as_long_as_by_a_card(npu, arrays, costs):
    """At least so long, for the first time and for the others."""
    costs(30000, 10000)
    begun = time.perf_counter()
    first_sub(npu, b"dear", arrays[:2])
    assert time.perf_counter() - begun >= 0.03
    pointers = [npu.upload(array) for array in arrays[:3]]
    begin(b"dear", pointers)
    size, executor = find(b"dear")
    begun = time.perf_counter()
    acl.phase_two("aclnnSub", None, size, executor, npu.stream)
    assert time.perf_counter() - begun >= 0.01
    npu.synchronize()
    end()
