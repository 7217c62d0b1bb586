"""The alloc conf: where it comes from, what it says, and what the allocator makes of it."""

import warnings

import pytest


@pytest.fixture
def conf(clean_conf):
    """Sets a variable and reads the conf anew."""
    from mindtorch_v2._backends.npu import allocator

    def read(text, variable="MINDTORCH_NPU_ALLOC_CONF"):
        clean_conf.setenv(variable, text)
        return allocator._load_alloc_conf(force=True)

    return read


def test_values_have_types(conf):
    assert conf("max_split_size_mb:8") == {"max_split_size_mb": 8}
    assert type(conf("max_split_size_mb:8")["max_split_size_mb"]) is int
    text = "garbage_collection_threshold:0.8, expandable_segments=True,roundup_power2_divisions:4"
    assert conf(text) == {
        "garbage_collection_threshold": 0.8,
        "expandable_segments": True,
        "roundup_power2_divisions": 4,
    }
    assert conf("roundup_power2_divisions:[256:1,>:8],max_split_size_mb:1") == {
        "roundup_power2_divisions": "[256:1,>:8]",
        "max_split_size_mb": 1,
    }


@pytest.mark.parametrize(
    "text",
    ["unknown:1", "max_split_size_mb:x", "max_split_size_mb:0", "max_split_size_mb",
     "garbage_collection_threshold:2", "expandable_segments:perhaps", "backend:cudaMallocAsync",
     "roundup_power2_divisions:[256:3]"],
)  # fmt: skip
def test_mistakes_warn_and_are_ignored(conf, text):
    with pytest.warns(UserWarning, match="ignored"):
        assert conf(text) == {}


def test_good_settings_survive_bad_ones(conf):
    with pytest.warns(UserWarning, match="unknown key"):
        assert conf("no_such_key:1,max_split_size_mb:4") == {"max_split_size_mb": 4}


def test_settings_without_effect_are_silent(conf):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conf("backend:native,release_lock_on_cudamalloc:True,pinned_use_background_threads:True")


def test_the_first_variable_that_says_something_counts(conf, clean_conf):
    assert conf("max_split_size_mb:1", "PYTORCH_ALLOC_CONF") == {"max_split_size_mb": 1}
    assert conf("max_split_size_mb:2", "PYTORCH_NPU_ALLOC_CONF") == {"max_split_size_mb": 2}
    assert conf("max_split_size_mb:3", "PYTORCH_CUDA_ALLOC_CONF") == {"max_split_size_mb": 3}
    assert conf("max_split_size_mb:4", "MINDTORCH_NPU_ALLOC_CONF") == {"max_split_size_mb": 4}
    assert conf("", "MINDTORCH_NPU_ALLOC_CONF") == {"max_split_size_mb": 3}


def test_the_conf_is_read_once(conf, clean_conf):
    from mindtorch_v2._backends.npu import allocator

    conf("max_split_size_mb:4")
    clean_conf.setenv("MINDTORCH_NPU_ALLOC_CONF", "max_split_size_mb:8")
    assert allocator._load_alloc_conf() == {"max_split_size_mb": 4}
    allocator._load_alloc_conf()["max_split_size_mb"] = 0  # a copy
    assert allocator._load_alloc_conf() == {"max_split_size_mb": 4}
    assert allocator._load_alloc_conf(force=True) == {"max_split_size_mb": 8}
    clean_conf.setenv("MINDTORCH_NPU_ALLOC_CONF", "max_split_size_mb:1")
    allocator._reset_alloc_conf_for_test()
    assert allocator._load_alloc_conf() == {"max_split_size_mb": 1}


def test_the_allocator_follows_the_conf(conf):
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    conf("")
    plain = NpuAllocator()
    assert plain.max_split_size is None and plain.gc_threshold is None
    assert plain.memory_fraction == 1.0
    assert plain.memory_stats()["max_split_size"] == -1
    conf("max_split_size_mb:4,garbage_collection_threshold:0.6,per_process_memory_fraction:0.25")
    allocator = NpuAllocator()
    assert allocator.max_split_size == 4 << 20
    assert allocator.gc_threshold == 0.6
    assert allocator.memory_fraction == 0.25
    assert allocator.memory_stats()["max_split_size"] == 4 << 20


def test_a_replaced_loader_counts(clean_conf):
    from mindtorch_v2._backends.npu import allocator

    clean_conf.setattr(allocator, "_load_alloc_conf", lambda: {"max_split_size_mb": 1})
    assert allocator.NpuAllocator().max_split_size == 1 << 20


def test_settings_change_on_the_object(allocator):
    allocator.max_split_size = 30 << 20
    assert allocator.max_split_size == 30 << 20
    allocator.max_split_size = None
    assert allocator.max_split_size is None
    allocator.gc_threshold = 0.5
    assert allocator.gc_threshold == 0.5
    allocator.gc_threshold = None
    assert allocator.gc_threshold is None
    with pytest.raises(ValueError, match="gc_threshold"):
        allocator.gc_threshold = 1.5


def test_rounding_follows_the_conf(conf, npu):
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    conf("roundup_power2_divisions:4")
    allocator = npu.attach(NpuAllocator())
    allocator.malloc((65 << 20) + 1)
    assert allocator.memory_stats()["allocated_bytes.all.current"] == 80 << 20
    assert allocator.memory_stats()["requested_bytes.all.current"] == (65 << 20) + 1
