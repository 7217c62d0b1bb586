"""Storages: the bytes behind tensors, seen from Python."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest


def test_one_object_per_storage(torch):
    x = torch.arange(4.0)
    storage = x.untyped_storage()
    assert x.untyped_storage() is storage
    assert x[1:].untyped_storage() is storage and x.view(2, 2).untyped_storage() is storage
    assert (x + 1).untyped_storage() is not storage
    seen = weakref.ref(storage)
    del storage
    gc.collect()
    assert seen() is None and x.tolist() == [0, 1, 2, 3]


def test_a_storage_keeps_the_bytes(torch):
    storage = torch.tensor([1, 2, 3], dtype=torch.uint8).untyped_storage()
    gc.collect()
    fill = [torch.zeros(3, dtype=torch.uint8) for _ in range(50)]
    assert storage.tolist() == [1, 2, 3]
    del fill


def test_bytes(torch):
    storage = torch.tensor([1, 256], dtype=torch.int16).untyped_storage()
    assert len(storage) == storage.nbytes() == storage.size() == 4
    assert storage.tolist() == [1, 0, 0, 1] and storage[-1] == 1
    assert storage.device == torch.device("cpu") and storage.element_size() == 1
    storage[1] = 2
    storage[2:4] = 7
    assert storage.tolist() == [1, 2, 7, 7]
    part = storage[1:3]
    part[0] = 9
    assert storage[1] == 9 and part.tolist() == [9, 7]
    for bad in (4, -5):
        with pytest.raises(IndexError):
            storage[bad]
    with pytest.raises(TypeError):
        storage["a"]
    with pytest.raises(RuntimeError, match="step"):
        storage[::2]
    with pytest.raises(TypeError):
        del storage[0]


def test_construction(torch):
    assert torch.UntypedStorage().nbytes() == 0
    assert torch.UntypedStorage(5).nbytes() == 5
    assert torch.UntypedStorage([1, 2, 3]).tolist() == [1, 2, 3]
    assert torch.UntypedStorage(2**40, device="meta").nbytes() == 2**40
    with pytest.raises(RuntimeError):
        torch.UntypedStorage(-1)
    with pytest.raises(TypeError):
        torch.UntypedStorage(1.5)


def test_changes(torch):
    x = torch.zeros(2)
    storage = x.untyped_storage()
    version = x._version
    assert storage.fill_(1) is storage and x._version > version
    other = torch.ones(2).untyped_storage()
    assert storage.copy_(other) is storage and x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="size does not match"):
        storage.copy_(torch.UntypedStorage(3))
    clone = storage.clone()
    clone.fill_(0)
    assert x.tolist() == [1, 1]
    assert storage.resize_(16) is storage and storage.nbytes() == 16
    assert storage.tolist()[:8] == other.tolist()


def test_memory_in_use_elsewhere_does_not_move(torch):
    x = torch.zeros(2)
    for export in (x.numpy, lambda: memoryview(x), x.__dlpack__, lambda: np.from_dlpack(x),
                   lambda: memoryview(x.untyped_storage())):  # fmt: skip
        held = export()
        with pytest.raises(RuntimeError, match="not resizable"):
            x.resize_(1000)
        with pytest.raises(RuntimeError, match="not resizable"):
            x.untyped_storage().resize_(1000)
        del held
        gc.collect()
        assert x.untyped_storage().resizable()
    assert x.resize_(1000).shape == (1000,)


def test_buffer(torch):
    x = torch.tensor([1, 2, 3], dtype=torch.uint8)
    view = memoryview(x.untyped_storage())
    assert view.nbytes == 3 and not view.readonly and bytes(view) == b"\x01\x02\x03"
    view[0] = 9
    assert x[0].item() == 9
    with pytest.raises(BufferError):
        memoryview(torch.ones(2, device="meta").untyped_storage())


def test_copies_and_pickles(torch):
    storage = torch.tensor([1.5, 2.5]).untyped_storage()
    for other in (copy.copy(storage), copy.deepcopy(storage), pickle.loads(pickle.dumps(storage))):
        assert other is not storage and other.tolist() == storage.tolist()
        assert other.data_ptr() != storage.data_ptr()
    typed = torch.tensor([1.5, 2.5]).storage()
    for other in (copy.deepcopy(typed), pickle.loads(pickle.dumps(typed))):
        assert other.tolist() == [1.5, 2.5] and other.dtype == torch.float32


def test_typed_storage(torch):
    x = torch.tensor([[1.5, 2.5], [3.5, 4.5]])
    typed = x[1].storage()
    assert typed.tolist() == list(typed) == [1.5, 2.5, 3.5, 4.5]
    assert len(typed) == typed.size() == 4 and typed.nbytes() == 16
    assert typed.dtype == torch.float32 and typed.element_size() == 4
    assert typed[0] == 1.5 and typed[-1] == 4.5
    typed[0] = 7
    assert x[0, 0].item() == 7
    assert typed.data_ptr() == x.data_ptr() and typed.untyped() is x.untyped_storage()
    assert isinstance(typed, torch.TypedStorage) and isinstance(typed, torch.FloatStorage)
    assert torch.is_storage(typed) and torch.is_storage(x.untyped_storage())
    assert "torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 4" in repr(typed)
    with pytest.raises(IndexError):
        typed[4]


def test_storage_is_an_attribute_and_a_method(torch):
    x = torch.tensor([1.0, 2.0])
    for data in (x.storage().data, x.storage.data):
        assert np.asarray(data).tolist() == [1, 2]
    x.storage().data[0] = 5
    assert x.tolist() == [5, 2]
    half = torch.tensor([1.0], dtype=torch.bfloat16)
    assert half.storage().data.tolist() == [1]


def test_storage_classes(torch):
    assert torch.LongStorage([1, 2]).tolist() == [1, 2]
    assert torch.FloatStorage(3).size() == 3 and torch.BoolStorage([True]).tolist() == [True]
    assert torch.storage.HalfStorage is torch.HalfStorage


def test_set(torch):
    x = torch.zeros(2)
    y = torch.arange(6.0)
    assert x.set_(y) is x and x.is_set_to(y) and x.data_ptr() == y.data_ptr()
    x.set_(y.untyped_storage(), 1, (2, 2), (2, 1))
    assert x.tolist() == [[1, 2], [3, 4]] and not x.is_set_to(y)
    x.set_(y.storage())
    assert x.shape == (6,)
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError):
        x.set_(torch.arange(3))
    with pytest.raises(RuntimeError):
        x.set_(y.untyped_storage(), -1, (1,))
    before = y.untyped_storage().nbytes()
    x.set_(y.untyped_storage(), 0, (8,))
    assert x.shape == (8,) and y.untyped_storage().nbytes() >= before


def test_resize(torch):
    x = torch.arange(4.0)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_((3,)).tolist() == [0, 1, 2]
    assert x.resize_(8).shape == (8,) and x[:4].tolist() == [0, 1, 2, 3]
    assert x.resize_(2, 1, 1, 2, memory_format=torch.channels_last).stride() == (2, 1, 2, 1)
    assert torch.zeros(3).resize_as_(torch.zeros(2, 2)).shape == (2, 2)
    for bad in (lambda: x.resize_(-1), lambda: x.resize_("a"), lambda: x.resize_(2, device="cpu")):
        with pytest.raises((RuntimeError, TypeError)):
            bad()
    assert x.shape == (2, 1, 1, 2)
