"""DLPack both ways, and capsules that lie."""

import ctypes
import gc
import weakref

import numpy as np
import pytest

DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
INVALID = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once"
)


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [
    ("dl_tensor", DLTensor),
    ("manager_ctx", ctypes.c_void_p),
    ("deleter", DELETER),
]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Capsule:
    """A hand-made DLPack capsule over six floats; every field can be made wrong."""

    def __init__(self, name=b"dltensor", shape=(2, 3), strides=None, code=2, bits=32, lanes=1,
                 device=(1, 0), data=True, ndim=None, byte_offset=0):  # fmt: skip
        self.memory = np.arange(6, dtype=np.float32)
        self.deleted = 0
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = (ctypes.c_int64 * len(strides))(*strides) if strides is not None else None
        self.deleter = DELETER(self.count)
        self.managed = DLManagedTensor()
        tensor = self.managed.dl_tensor
        tensor.data = self.memory.ctypes.data if data else None
        tensor.device = DLDevice(*device)
        tensor.ndim = len(shape) if ndim is None else ndim
        tensor.dtype = DLDataType(code, bits, lanes)
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if self.strides is not None:
            tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        tensor.byte_offset = byte_offset
        self.managed.deleter = self.deleter
        self.capsule = new_capsule(ctypes.addressof(self.managed), name, None)

    def count(self, _):
        self.deleted += 1


class Exporter:
    """An object with __dlpack__, as libraries other than NumPy have it."""

    def __init__(self, capsule, device=(1, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_takes_our_tensors(torch, name):
    x = torch.tensor([[1, 0, 1], [0, 1, 1]], dtype=getattr(torch, name))
    array = np.from_dlpack(x)
    assert array.dtype == np.dtype(name)
    assert array.tolist() == x.tolist()
    assert array.ctypes.data == x.data_ptr()
    assert np.from_dlpack(x.t()).tolist() == x.t().tolist()
    assert np.from_dlpack(x[1, 1:]).tolist() == x[1, 1:].tolist()


@pytest.mark.parametrize("name", DTYPES)
def test_we_take_numpy_arrays(torch, name):
    array = np.arange(6).reshape(2, 3).astype(name)
    for source in (array, array.T, array[:, ::2], array[1], array[:0], array[0, 0:1]):
        tensor = torch.from_dlpack(source)
        assert tensor.dtype == getattr(torch, name)
        assert tensor.tolist() == source.tolist()
        if source.size:
            assert tensor.data_ptr() == source.ctypes.data
    tensor = torch.from_dlpack(array)
    tensor[0, 0] = 1
    assert array[0, 0] == 1


def test_scalars_and_bfloat16(torch):
    assert torch.from_dlpack(np.array(5)).shape == ()
    assert np.from_dlpack(torch.tensor(5)).shape == ()
    half = torch.ones(3, dtype=torch.bfloat16)
    again = torch.from_dlpack(half)
    assert again.dtype == torch.bfloat16 and again.data_ptr() == half.data_ptr()


def test_device_tuple(torch):
    kind, index = torch.ones(2).__dlpack_device__()
    assert (int(kind), index) == (1, 0)


def test_export_options(torch):
    x = torch.ones(2)
    assert "dltensor" in repr(x.__dlpack__())
    assert "dltensor" in repr(x.__dlpack__(stream=None))
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    assert "dltensor_versioned" not in repr(x.__dlpack__(max_version=(0, 8)))
    copied = torch.from_dlpack(x.__dlpack__(copy=True))
    assert copied.data_ptr() != x.data_ptr()
    with pytest.raises((AssertionError, BufferError, RuntimeError, ValueError)):
        x.__dlpack__(stream=1)
    with pytest.raises((BufferError, RuntimeError, NotImplementedError)):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
        torch.ones(2, device="meta").__dlpack__()


def test_to_dlpack(torch):
    x = torch.arange(3.0)
    capsule = torch.utils.dlpack.to_dlpack(x)
    y = torch.utils.dlpack.from_dlpack(capsule)
    assert y.data_ptr() == x.data_ptr()


# --- lifetimes ----------------------------------------------------------------------------------


def test_the_deleter_runs_once(torch):
    held = Capsule()
    tensor = torch.from_dlpack(held.capsule)
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    view = tensor[1]
    del tensor
    gc.collect()
    assert held.deleted == 0
    assert view.tolist() == [3, 4, 5]
    del view
    gc.collect()
    assert held.deleted == 1


def test_a_consumed_capsule_is_refused(torch):
    held = Capsule()
    tensor = torch.from_dlpack(held.capsule)
    with pytest.raises(RuntimeError, match=INVALID):
        torch.from_dlpack(held.capsule)
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    own = torch.ones(3).__dlpack__()
    torch.from_dlpack(own)
    with pytest.raises(RuntimeError, match=INVALID):
        torch.from_dlpack(own)


def test_an_unused_capsule_frees_its_tensor(torch):
    class Marked(torch.Tensor):
        pass

    x = torch.ones(1000)
    pointer = x.data_ptr()
    capsule = x.__dlpack__()
    del x
    gc.collect()
    y = torch.from_dlpack(capsule)
    assert y.data_ptr() == pointer and y.sum().item() == 1000
    del y, capsule
    unused = torch.ones(1000).__dlpack__()
    del unused
    gc.collect()


def test_numpy_lifetimes(torch):
    class Array(np.ndarray):
        pass

    array = np.arange(100.0).view(Array)
    seen = weakref.ref(array)
    tensor = torch.from_dlpack(array)
    del array
    gc.collect()
    assert tensor.sum().item() == 4950
    assert seen() is not None
    del tensor
    gc.collect()
    assert seen() is None
    kept = np.from_dlpack(torch.arange(100, dtype=torch.int64))
    fill = [torch.zeros(100, dtype=torch.int64) for _ in range(50)]
    assert kept.sum() == 4950
    del fill


# --- what is refused ----------------------------------------------------------------------------


def test_wrong_capsule_name(torch):
    for name in (b"other", b"used_dltensor", b""):
        held = Capsule(name=name)
        with pytest.raises(RuntimeError, match=INVALID):
            torch.from_dlpack(held.capsule)
        assert held.deleted == 0


@pytest.mark.parametrize("value", [5, None, "a", [1.0], {}], ids=repr)
def test_no_capsule_at_all(torch, value):
    with pytest.raises((RuntimeError, TypeError, AttributeError)):
        torch.from_dlpack(value)


def test_negative_strides_are_refused(torch):
    """A process must not die of them."""
    with pytest.raises((ValueError, RuntimeError, BufferError), match="negative|stride"):
        torch.from_dlpack(np.arange(3)[::-1])
    held = Capsule(strides=(3, -1))
    with pytest.raises((ValueError, RuntimeError, BufferError), match="negative|stride"):
        torch.from_dlpack(held.capsule)


def test_byte_order_is_refused(torch):
    with pytest.raises((BufferError, ValueError)):
        torch.from_dlpack(np.arange(3, dtype=">f4"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"code": 2, "bits": 24},
        {"code": 0, "bits": 7},
        {"code": 9, "bits": 32},
        {"lanes": 4},
        {"lanes": 0},
        {"shape": (2, -3)},
        {"shape": (2**40, 2**40)},
        {"ndim": -1},
    ],
    ids=str,
)
def test_fields_that_lie(torch, wrong):
    held = Capsule(**wrong)
    with pytest.raises((RuntimeError, ValueError, BufferError)):
        torch.from_dlpack(held.capsule)


@pytest.mark.parametrize("place", [(2, 0), (12, 0), (99, 0)])
def test_devices_that_are_not_there(torch, place):
    held = Capsule(device=place)
    with pytest.raises(
        (RuntimeError, ValueError, BufferError, AssertionError, NotImplementedError)
    ):
        torch.from_dlpack(Exporter(held.capsule, place))


def test_missing_strides_mean_contiguous(torch):
    held = Capsule(strides=None)
    assert torch.from_dlpack(held.capsule).stride() == (3, 1)


def test_byte_offset_is_not_ignored(torch):
    held = Capsule(shape=(2,), byte_offset=8)
    try:
        tensor = torch.from_dlpack(held.capsule)
    except ValueError as error:  # torch's way
        assert "byte_offset" in str(error)
    else:
        assert tensor.tolist() == [2, 3]


def test_exporters(torch):
    held = Capsule()
    tensor = torch.from_dlpack(Exporter(held.capsule))
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]

    class Broken:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        torch.from_dlpack(Broken())


def test_empty_with_no_memory(torch):
    held = Capsule(shape=(0, 3), data=False)
    assert torch.from_dlpack(held.capsule).shape == (0, 3)


class Producer:
    """Takes only some of the arguments of __dlpack__, as older libraries do."""

    def __init__(self, tensor, known=()):
        self.tensor, self.known, self.asked = tensor, set(known), []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked.append(set(options))
        if not set(options) <= self.known:
            raise TypeError(f"unexpected keyword arguments {set(options) - self.known}")
        return self.tensor.__dlpack__(**options)


@pytest.mark.parametrize(
    "known, answered",
    [
        (("max_version", "copy", "dl_device"), {"max_version", "copy", "dl_device"}),
        (("copy", "dl_device"), {"copy", "dl_device"}),
        (("dl_device",), {"dl_device"}),
        ((), set()),
    ],
)
def test_wishes_that_a_producer_does_not_know(torch, known, answered):
    source = Producer(torch.arange(4.0), known)
    copied = torch.from_dlpack(source, device="cpu", copy=True)
    copied.zero_()
    assert source.tensor.tolist() == [0, 1, 2, 3] and source.asked[-1] == answered
    shared = torch.from_dlpack(Producer(source.tensor, known), device="cpu")
    shared.add_(1)
    assert source.tensor.tolist() == [1, 2, 3, 4]


def test_wishes_about_a_capsule(torch):
    """It is on a device already."""
    for wish in ({"device": "cpu"}, {"copy": True}):
        capsule = torch.ones(2).__dlpack__()
        with pytest.raises(AssertionError, match="device and copy kwargs not supported when"):
            torch.from_dlpack(capsule, **wish)
        assert torch.from_dlpack(capsule).tolist() == [1, 1]
