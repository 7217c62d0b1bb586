"""NumPy and buffers, both ways: shared memory, lifetimes, and hostile arrays."""

import ctypes
import gc
import warnings
import weakref

import numpy as np
import pytest


class BufferView(ctypes.Structure):
    """Python's Py_buffer."""

    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]  # fmt: skip


DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")


@pytest.mark.parametrize("name", DTYPES)
def test_round_trip(torch, name):
    array = np.arange(6).reshape(2, 3).astype(name)
    tensor = torch.from_numpy(array)
    assert tensor.dtype == getattr(torch, name) and tensor.shape == (2, 3)
    assert tensor.tolist() == array.tolist()
    back = tensor.numpy()
    assert back.dtype == array.dtype
    assert back.ctypes.data == array.ctypes.data == tensor.data_ptr()


def test_memory_is_shared_both_ways(torch):
    array = np.zeros(3, np.float32)
    tensor = torch.from_numpy(array)
    array[0] = 1
    tensor[1] = 2
    assert tensor.tolist() == array.tolist() == [1, 2, 0]
    out = tensor.numpy()
    out[2] = 3
    assert array.tolist() == [1, 2, 3]
    own = torch.zeros(2)
    own.numpy()[:] = 5
    assert own.tolist() == [5, 5]


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[1:],
        lambda a: a[:, ::2],
        lambda a: a[::2, 1::2],
        lambda a: a[0],
        lambda a: a[0, 0],
        lambda a: a[:0],
        lambda a: np.asfortranarray(a),
        lambda a: np.broadcast_to(a[0], (3, 4)),
        lambda a: a.reshape(2, 2, 3),
        lambda a: np.array(5.0, np.float32),
    ],
)
def test_layouts(torch, make):
    array = np.asarray(make(np.arange(12, dtype=np.float32).reshape(3, 4)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # broadcast_to gives a read-only array
        tensor = torch.from_numpy(array)
    assert tensor.tolist() == array.tolist()
    assert tuple(tensor.shape) == array.shape
    back = tensor.numpy()
    assert back.tolist() == array.tolist()
    if array.size:
        long = [dim for dim, size in enumerate(array.shape) if size > 1]
        assert [tensor.stride(d) * 4 for d in long] == [array.strides[d] for d in long]
        assert [back.strides[d] for d in long] == [array.strides[d] for d in long]


def test_views_of_tensors(torch):
    x = torch.arange(12.0).view(3, 4)
    for view in (x.t(), x[1:, ::2], x[0], x[1, 1], x[:0], x[:1].expand(5, 4)):
        assert view.numpy().tolist() == view.tolist()
    x.t().numpy()[0, 2] = -1
    assert x[2, 0].item() == -1


def test_the_array_keeps_the_memory_alive(torch):
    array = torch.arange(1000, dtype=torch.int64).numpy()
    fill = [torch.zeros(1000, dtype=torch.int64) for _ in range(50)]
    gc.collect()
    assert array.tolist() == list(range(1000))
    del fill


def test_the_tensor_keeps_the_array_alive_and_lets_it_go(torch):
    class Array(np.ndarray):
        pass

    array = np.arange(1000, dtype=np.int64).view(Array)
    seen = weakref.ref(array)
    tensor = torch.from_numpy(array)
    view = tensor[10:20]
    del array, tensor
    gc.collect()
    assert seen() is not None
    assert view.tolist() == list(range(10, 20))
    del view
    gc.collect()
    assert seen() is None


# --- hostile arrays -----------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ["from_numpy", "tensor", "as_tensor"])
def test_negative_strides(torch, entry):
    text = "At least one stride in the given numpy array is negative"
    for array in (np.arange(4)[::-1], np.ones((2, 3))[:, ::-1], np.ones((2, 3))[::-1]):
        with pytest.raises(ValueError, match=text):
            getattr(torch, entry)(array)
        assert getattr(torch, entry)(array.copy()).tolist() == array.tolist()


@pytest.mark.parametrize("entry", ["from_numpy", "tensor", "as_tensor"])
@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i2", ">i8"])
def test_wrong_byte_order(torch, entry, dtype):
    text = "given numpy array has byte order different from the native byte order"
    with pytest.raises(ValueError, match=text):
        getattr(torch, entry)(np.arange(4).astype(dtype))


def test_explicit_native_order_is_fine(torch):
    assert torch.from_numpy(np.arange(3, dtype="<i4")).tolist() == [0, 1, 2]
    assert torch.from_numpy(np.arange(3, dtype="=f8")).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array(["a"]),
        np.array([b"a"]),
        np.array(["2020-01-01"], dtype="M8[s]"),
        np.zeros(2, dtype=[("a", "f4")]),
        np.zeros(2, dtype="V8"),
        np.zeros(2, dtype=np.longdouble),
    ],
    ids=lambda a: a.dtype.name,
)
def test_dtypes_that_do_not_exist(torch, array):
    text = r"can't convert np.ndarray of type numpy.\w+. The only supported types are: float64"
    with pytest.raises(TypeError, match=text):
        torch.from_numpy(array)
    with pytest.raises(TypeError, match=text):
        torch.tensor(array)


def test_objects_that_are_no_arrays(torch):
    for value, kind in (([1, 2], "list"), (np.float32(1), "numpy.float32"), (None, "NoneType")):
        with pytest.raises(TypeError, match=rf"expected np.ndarray \(got {kind}\)"):
            torch.from_numpy(value)


def test_read_only_array_warns(torch):
    array = np.arange(4.0)
    array.flags.writeable = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tensor = torch.from_numpy(array)
    assert tensor.tolist() == [0, 1, 2, 3]
    # The text comes once in a process.
    assert all("not writable" in str(w.message) for w in caught)
    copied = torch.tensor(array)
    copied[0] = 9
    assert array[0] == 0


def test_strides_between_elements(torch):
    array = np.zeros(3, dtype=[("a", "f4"), ("b", "u1")])["a"]
    with pytest.raises(ValueError, match="strides not a multiple of the element byte size"):
        torch.from_numpy(array)


def test_unaligned_array(torch):
    raw = np.zeros(17, np.uint8)
    array = raw[1:17].view("f4")
    array[:] = [1, 2, 3, 4]
    tensor = torch.from_numpy(array)
    assert tensor.tolist() == [1, 2, 3, 4]
    assert (tensor + 1).tolist() == [2, 3, 4, 5]
    assert tensor.sum().item() == 10


def test_from_numpy_memory_does_not_grow(torch):
    tensor = torch.from_numpy(np.zeros(3, np.float32))
    with pytest.raises(RuntimeError, match="resize storage that is not resizable"):
        tensor.resize_(100)
    assert tensor.shape == (3,) and tensor.tolist() == [0, 0, 0]


# --- out of tensors -----------------------------------------------------------------------------


def test_numpy_refuses(torch):
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        torch.ones(2, dtype=torch.bfloat16).numpy()
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        torch.ones(2, device="meta").numpy()


def test_array_protocol(torch):
    x = torch.arange(4.0)
    shared = np.asarray(x)
    assert shared.dtype == np.float32 and shared.ctypes.data == x.data_ptr()
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.array(x).ctypes.data != x.data_ptr()
    assert np.array(x).tolist() == [0, 1, 2, 3]
    assert np.stack([x, x]).shape == (2, 4)
    assert np.allclose(x, [0, 1, 2, 3])
    np.testing.assert_array_equal(x, np.arange(4))
    assert float(np.array(torch.tensor(2.5))) == 2.5


def test_numpy_scalars_are_numbers(torch):
    x = torch.arange(3.0)
    assert (x * np.float32(2)).tolist() == [0, 2, 4]
    assert (x + np.int64(2)).dtype == torch.float32
    assert (x * np.float64(2)).dtype == torch.float32
    assert (torch.arange(3) * np.int32(2)).dtype == torch.int64
    x[0] = np.float64(7)
    assert x[0].item() == 7
    assert x[np.int64(1)].item() == 1
    assert torch.full((2,), np.float32(1.5)).tolist() == [1.5, 1.5]
    assert torch.zeros(np.int64(3)).shape == (3,)
    assert torch.zeros((np.int32(2), 3)).shape == (2, 3)


def test_arrays_beside_tensors(torch):
    x, array = torch.arange(3.0), np.array([0.0, 5.0, 2.0])
    assert (x + array).tolist() == [0, 6, 4] and (x + array).dtype == torch.float64
    for found in (x == array, array == x):
        assert isinstance(found, torch.Tensor) and found.tolist() == [True, False, True]
    assert isinstance(np.sin(x), torch.Tensor) and isinstance(np.add(x, x), torch.Tensor)
    assert (np.float64(2) * x).tolist() == [0, 2, 4] and (np.int64(3) - x).tolist() == [3, 2, 1]


def test_numpy_data_for_tensor(torch):
    assert torch.tensor(np.bool_(True)).dtype == torch.bool
    assert torch.tensor(np.float32(1.5)).dtype == torch.float32
    assert torch.tensor(np.float64(1.5)).dtype == torch.float64
    assert torch.tensor([np.float64(1.5), np.float64(2)]).dtype == torch.float64
    assert torch.tensor(np.arange(3, dtype=np.int16)).dtype == torch.int16
    assert torch.tensor(np.arange(3), dtype=torch.float32).tolist() == [0, 1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.tensor([np.arange(2), np.arange(2)]).shape == (2, 2)


def test_as_tensor_shares_where_it_can(torch):
    array = np.zeros(3, np.float32)
    assert torch.as_tensor(array).data_ptr() == array.ctypes.data
    assert torch.as_tensor(array, dtype=torch.float64).data_ptr() != array.ctypes.data
    tensor = torch.zeros(3)
    assert torch.as_tensor(tensor) is tensor
    assert torch.asarray(array).data_ptr() == array.ctypes.data
    assert torch.asarray(array, copy=True).data_ptr() != array.ctypes.data
    assert torch.tensor(array).data_ptr() != array.ctypes.data


# --- buffers ------------------------------------------------------------------------------------


def test_frombuffer(torch):
    raw = bytearray(b"\x01\x00\x02\x00\x03\x00")
    x = torch.frombuffer(raw, dtype=torch.int16)
    assert x.tolist() == [1, 2, 3]
    raw[0] = 9
    assert x[0].item() == 9
    x[1] = 7
    assert raw[2] == 7
    assert torch.frombuffer(raw, dtype=torch.int16, offset=2).tolist() == [7, 3]
    assert torch.frombuffer(raw, dtype=torch.int16, count=1, offset=4).tolist() == [3]
    assert torch.frombuffer(memoryview(raw), dtype=torch.uint8).shape == (6,)
    array = np.arange(3, dtype=np.float32)
    assert torch.frombuffer(array, dtype=torch.float32).data_ptr() == array.ctypes.data


def test_frombuffer_holds_the_buffer(torch):
    raw = bytearray(8)
    x = torch.frombuffer(raw, dtype=torch.int32)
    with pytest.raises(BufferError):
        raw.append(0)
    del x
    gc.collect()
    raw.append(0)


@pytest.mark.parametrize(
    "size, options, text",
    [
        (
            7,
            {},
            r"buffer length \(7 bytes\) after offset \(0 bytes\) must be a multiple of element",
        ),
        (
            8,
            {"count": 3},
            r"requested buffer length \(3 \* 4 bytes\) after offset \(0 bytes\) must not be",
        ),
        (
            8,
            {"offset": 9},
            r"offset \(9 bytes\) must be non-negative and no greater than buffer length",
        ),
        (8, {"offset": -1}, r"offset \(-1 bytes\) must be non-negative"),
        (8, {"count": 0}, "must not be 0"),
        (0, {}, "must not be 0"),
        (8, {"count": 2**62}, None),
    ],
)
def test_frombuffer_refuses(torch, size, options, text):
    with pytest.raises(ValueError, match=text):
        torch.frombuffer(bytearray(size), dtype=torch.int32, **options)


def test_frombuffer_of_no_buffer(torch):
    with pytest.raises(ValueError, match="object does not implement Python buffer protocol"):
        torch.frombuffer([1], dtype=torch.int32)
    with pytest.raises(TypeError):
        torch.frombuffer(bytearray(8))


def test_read_only_buffer(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.frombuffer(b"\x01\x00", dtype=torch.int16).tolist() == [1]


@pytest.mark.parametrize("name", DTYPES)
def test_tensor_gives_a_buffer(torch, name):
    x = torch.tensor([[1, 0, 1], [0, 1, 1]], dtype=getattr(torch, name))
    view = memoryview(x)
    assert view.shape == (2, 3) and view.itemsize == x.element_size()
    assert not view.readonly
    assert np.asarray(view).tolist() == x.tolist()
    assert np.asarray(memoryview(x.t())).tolist() == x.t().tolist()
    np.asarray(view)[0, 1] = 1
    assert x[0, 1].item() == 1


@pytest.mark.parametrize(
    ("flags", "ndim", "itemsize"), [(0, 1, 1), (1, 1, 1), (4, 1, 4), (8, 2, 4), (0x1C, 2, 4)]
)
def test_who_asks_for_no_shape_gets_a_row(torch, flags, ndim, itemsize):
    """PyBUF_SIMPLE, _WRITABLE, _FORMAT, _ND, _RECORDS_RO."""
    view = BufferView()
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.POINTER(BufferView), ctypes.c_int]
    ctypes.pythonapi.PyBuffer_Release.argtypes = [ctypes.POINTER(BufferView)]
    x = torch.ones(2, 3)
    assert get(x, view, flags) == 0
    try:
        assert (view.ndim, view.itemsize, view.len) == (ndim, itemsize, 24)
        assert bool(view.shape) == (flags & 8 != 0)
    finally:
        ctypes.pythonapi.PyBuffer_Release(view)
    if hasattr(x, "__buffer__"):  # Python 3.12
        assert x.__buffer__(flags).nbytes == 24


def test_a_buffer_holds_the_memory(torch):
    view = memoryview(torch.arange(100, dtype=torch.int64))
    gc.collect()
    fill = [torch.zeros(100, dtype=torch.int64) for _ in range(50)]
    assert view.tolist() == list(range(100))
    del fill
    with pytest.raises((BufferError, TypeError)):
        memoryview(torch.ones(2, device="meta"))
