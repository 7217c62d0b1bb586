"""Picklers that use torch's names, and the restricted unpickler behind weights_only."""

import pickle
import struct
from collections import Counter, OrderedDict

import mindtorch_v2 as torch

from . import _serialization as serialization
from ._locations import location_tag

_PACKAGE = __name__.partition(".")[0]

# Functions that rebuild tensors, by the torch module a pickle finds them in.
_REBUILDERS = {
    "torch._utils": (
        "_rebuild_tensor",
        "_rebuild_tensor_v2",
        "_rebuild_tensor_v3",
        "_rebuild_meta_tensor_no_storage",
        "_rebuild_parameter",
        "_rebuild_parameter_with_state",
        "_rebuild_sparse_tensor",
    ),
    "torch._tensor": ("_rebuild_from_type_v2",),
}
_DTYPES = (
    *serialization._LEGACY_NAMES,
    *("uint16", "uint32", "uint64", "complex32", "float8_e4m3fn", "float8_e5m2"),
    *("float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
)


class _Name:
    """A global as it appears in the file. Callable only because pickle asks a reduce function to
    be; the same name is always the same object, so that a pickle writes it once."""

    _known = {}

    def __new__(cls, module, name):
        key = module, name
        if key not in cls._known:
            instance = cls._known[key] = super().__new__(cls)
            instance.module, instance.name = key
        return cls._known[key]

    def __call__(self):
        raise AssertionError("a name is written, never called")


def _file_names():
    """{object: its name in a file} for what torch keeps in other places than we do."""
    names = {torch.device: _Name("torch", "device"), torch.Tensor: _Name("torch", "Tensor")}
    for module, functions in _REBUILDERS.items():
        for function in functions:
            names[getattr(serialization, function)] = _Name(module, function)
    return names


class _Pickler(pickle._Pickler):
    dispatch = pickle._Pickler.dispatch.copy()

    def __init__(self, file, protocol, id_tail):
        super().__init__(file, protocol=protocol)
        self.storages = []  # (key, untyped storage, bytes of an element), in the order of the file
        self._id_tail = id_tail
        self._keys = {}  # what identifies a storage: (its key, its dtype)
        self._names = _file_names()

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, torch.dtype):
            obj = _Name("torch", serialization.dtype_name(obj))
        return super().save(obj, save_persistent_id)

    def reducer_override(self, obj):
        if isinstance(obj, torch.Tensor):
            is_strided = obj.layout is torch.strided
            return serialization.reduce_tensor(obj) if is_strided else obj.__reduce_ex__(2)
        if isinstance(obj, torch.device):
            index = () if obj.index is None else (obj.index,)
            return torch.device, (obj.type, *index)
        if type(obj) is torch.Size and torch.Size is not tuple:
            return _Name("torch", "Size"), (tuple(obj),)
        layout = getattr(torch, "layout", None)
        if layout is not None and isinstance(obj, layout):
            return _Name("torch.serialization", "_get_layout"), (str(obj),)
        return NotImplemented

    def save_global(self, obj, name=None):
        known = self._names.get(obj)
        if known is None:
            module = getattr(obj, "__module__", None) or ""
            if module.partition(".")[0] != _PACKAGE:
                return super().save_global(obj, name)
            known = _Name("torch" + module[len(_PACKAGE) :], name or obj.__qualname__)
        return self.save(known)

    def _save_name(self, obj):
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[_Name] = _save_name
    dispatch[type(_file_names)] = save_global

    def persistent_id(self, obj):
        if isinstance(obj, serialization.TypedStorage):
            storage, dtype = obj.untyped(), obj.dtype
            cls, count = _Name("torch", type(obj).__name__), len(obj)
        elif serialization._is_storage(obj):
            storage, dtype = obj, None
            cls, count = _Name("torch.storage", "UntypedStorage"), obj.nbytes()
        else:
            return None
        location = location_tag(storage)
        identity = (storage.data_ptr(), location) if storage.nbytes() else len(self.storages)
        key, known_dtype = self._keys.setdefault(identity, (str(len(self.storages)), dtype))
        if known_dtype != dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )
        if int(key) == len(self.storages):
            self.storages.append((key, storage, 1 if dtype is None else dtype.itemsize))
        return "storage", cls, key, location, count, *self._id_tail


_OWN_DISPATCH = (_Name, type(_file_names))


def _pickler_class(pickle_module):
    """Picklers of other libraries write torch's names, too, where they extend Python's."""
    if pickle_module is None or pickle_module is pickle:
        return _Pickler
    base = pickle_module.Pickler
    if not issubclass(base, pickle._Pickler):
        raise TypeError(f"{base} must extend pickle._Pickler for torch.save to use it")
    dispatch = {**base.dispatch, **{cls: _Pickler.dispatch[cls] for cls in _OWN_DISPATCH}}
    return type("Pickler", (_Pickler, base), {"dispatch": dispatch})


def dump(obj, protocol, pickle_module=None, id_tail=()):
    """(the pickle of `obj`, its storages as (key, storage, bytes of an element)). `id_tail` is what
    the file format has at the end of a reference to a storage."""
    import io

    buffer = io.BytesIO()
    pickler = _pickler_class(pickle_module)(buffer, protocol, id_tail)
    pickler.dump(obj)
    return buffer.getbuffer(), pickler.storages


def _encode(text, encoding):
    # How protocol 2 spells bytes. No other codec is needed, and some are not harmless.
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"Unsupported encoding {encoding}")
    return text.encode(encoding)


def _bytearray(source=b"", encoding=None):
    # A number would be a size, and a file could ask for all memory.
    if isinstance(source, str) and encoding is not None:
        source = _encode(source, encoding)
    if not isinstance(source, (bytes, list)):
        raise pickle.UnpicklingError("a bytearray is made of bytes")
    return bytearray(source)


def _get_layout(name):
    return getattr(torch, name.rpartition(".")[2])


def _make_known_globals():
    known = {
        ("collections", "OrderedDict"): OrderedDict,
        ("collections", "Counter"): Counter,
        ("_codecs", "encode"): _encode,
        ("torch", "Tensor"): torch.Tensor,
        ("torch", "Size"): torch.Size,
        ("torch", "device"): torch.device,
        ("torch.serialization", "_get_layout"): _get_layout,
        ("torch.storage", "UntypedStorage"): serialization._C.UntypedStorage,
        ("torch", "UntypedStorage"): serialization._C.UntypedStorage,
    }
    for builtin in (set, complex, bytearray, int, float, bool):
        for module in ("builtins", "__builtin__"):
            known[module, builtin.__name__] = _bytearray if builtin is bytearray else builtin
    for module, functions in _REBUILDERS.items():
        for function in functions:
            known[module, function] = getattr(serialization, function)
    for name in _DTYPES:
        if hasattr(torch, name):
            known["torch", name] = getattr(torch, name)
    for prefix in serialization._LEGACY_NAMES.values():
        cls = serialization.storage_class(prefix + "Storage")
        if cls is not None:
            known["torch", prefix + "Storage"] = cls
    if hasattr(torch, "nn"):
        known["torch.nn.parameter", "Parameter"] = torch.nn.Parameter
    return known


_known_globals = {}


def _known(module, name):
    if not _known_globals:
        _known_globals.update(_make_known_globals())
    return _known_globals.get((module, name))


def _storage_from(pid, storage_by_key):
    """What a persistent id names: a storage, or in old files a part of one, or a class that was
    saved with its source code."""
    kind = pid[0]
    if kind == "module":
        return pid[1]
    if kind != "storage":
        raise RuntimeError(f"Unknown typename for persistent_load, expected 'storage': {kind}")
    _, cls, key, location, count, *view = pid
    if not isinstance(key, str) or not isinstance(location, str) or not isinstance(count, int):
        raise pickle.UnpicklingError("a storage needs a key, a location and a size")
    if count < 0:
        raise pickle.UnpicklingError(f"a storage of {count} elements")
    if not (isinstance(cls, type) and issubclass(cls, serialization.TypedStorage)):
        return storage_by_key(key, None, location, count)
    width = cls.dtype.itemsize
    storage = storage_by_key(key, cls.dtype, location, count * width)
    if view and view[0] is not None:
        _, start, length = view[0]
        if start < 0 or length < 0 or (start + length) * width > storage.nbytes():
            raise pickle.UnpicklingError("a part outside of its storage")
        storage = storage[start * width : (start + length) * width]
    return cls(wrap_storage=storage)


def _translate(module, name):
    """(the object that a name in torch means here or None, the module to look it up in)."""
    if module != "torch" and not module.startswith("torch."):
        return None, module
    known = _known(module, name)
    # Ops such as gelu are in a native module there.
    module = module.replace("torch._C._nn", "torch.nn.functional")
    return known, _PACKAGE + module[len("torch") :]


def _unpickler_class(pickle_module):
    """weights_only=False: anything a pickle can say. Names in torch mean ours."""

    class Unpickler(pickle_module.Unpickler):
        def __init__(self, file, storage_by_key, **kwargs):
            super().__init__(file, **kwargs)
            self._storage_by_key = storage_by_key

        def persistent_load(self, pid):
            if isinstance(pid, tuple) and pid[0] in ("storage", "module"):
                return _storage_from(pid, self._storage_by_key)
            return self._storage_by_key(pid)  # a number in a tar archive

        def find_class(self, module, name):
            known, module = _translate(module, name)
            return known if known is not None else super().find_class(module, name)

    return Unpickler


# Classes that a pickle names and never calls: they would take a size, and all memory with it.
_NEVER_CALLED = (torch.Tensor, serialization._C.UntypedStorage, serialization.TypedStorage)


class _Opcodes(dict):
    def __missing__(self, opcode):
        raise pickle.UnpicklingError(f"Unsupported operand {opcode}")


def _global_names(entry):
    if isinstance(entry, tuple):
        return entry
    return entry, f"{entry.__module__}.{entry.__qualname__}"


class _WeightsUnpickler(pickle._Unpickler):
    """Makes plain values, containers, tensors, and what add_safe_globals allowed. It calls nothing
    but objects of that list, and knows only the opcodes that torch.save uses."""

    _OPCODES = (
        "PROTO STOP MARK GLOBAL REDUCE NEWOBJ BUILD BINPERSID APPEND APPENDS SETITEM SETITEMS "
        "TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_TUPLE EMPTY_LIST EMPTY_DICT NONE NEWTRUE "
        "NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE SHORT_BINSTRING BINGET "
        "LONG_BINGET BINPUT LONG_BINPUT"
    ).split()
    dispatch = _Opcodes(
        (getattr(pickle, name)[0], pickle._Unpickler.dispatch[getattr(pickle, name)[0]])
        for name in _OPCODES
    )

    def __init__(self, file, storage_by_key, **kwargs):
        super().__init__(file, **kwargs)
        self._storage_by_key = storage_by_key
        self._allowed = {}
        for entry in serialization.get_safe_globals():
            obj, full_name = _global_names(entry)
            self._allowed[full_name] = obj
        self._callable_ids = set()
        self.storage_error = None

    def persistent_load(self, pid):
        if type(pid) is not tuple:
            raise pickle.UnpicklingError("a persistent id must be a tuple")
        return _storage_from(pid, self._give_storage)

    def _give_storage(self, *request):
        # A device that is missing or a map_location that fails is no fault of the pickle.
        try:
            return self._storage_by_key(*request)
        except Exception as error:
            self.storage_error = error
            raise

    def find_class(self, module, name):
        obj = _known(module, name)
        if obj is None:
            full_name = f"{'builtins' if module == '__builtin__' else module}.{name}"
            obj = self._allowed.get(full_name)
            if obj is None and module.partition(".")[0] == "torch":
                obj = self._allowed.get(_PACKAGE + full_name[len("torch") :])
        if obj is None:
            full_name = full_name.removeprefix("builtins.")
            raise pickle.UnpicklingError(
                f"Unsupported global: GLOBAL {full_name} was not an allowed global by default. "
                f"Please use `torch.serialization.add_safe_globals([{full_name}])` or the "
                f"`torch.serialization.safe_globals([{full_name}])` context manager to allowlist "
                "this global if you trust this class/function."
            )
        if not isinstance(obj, type) or not issubclass(obj, _NEVER_CALLED):
            self._callable_ids.add(id(obj))
        return obj

    def _check_callable(self, function):
        if id(function) not in self._callable_ids:
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized {function!r}")

    def load_reduce(self):
        arguments = self.stack.pop()
        self._check_callable(self.stack[-1])
        self.stack[-1] = self.stack[-1](*arguments)

    def load_newobj(self):
        arguments = self.stack.pop()
        cls = self.stack.pop()
        self._check_callable(cls)
        if cls in (int, bool):
            raise pickle.UnpicklingError(f"Trying to make an instance of {cls.__name__}")
        self.stack.append(cls.__new__(cls, *arguments))

    def load_build(self):
        state = self.stack.pop()
        instance = self.stack[-1]
        if type(instance) is OrderedDict:
            instance.__dict__.update(state)
        elif type(instance) in self._allowed.values():
            if hasattr(instance, "__setstate__"):
                instance.__setstate__(state)
            else:
                instance.__dict__.update(state)
        else:
            raise pickle.UnpicklingError(
                "Can only build OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {type(instance)}"
            )

    def load_binget(self):
        self.append(self.memo[self.read(1)[0]])

    def load_long_binget(self):
        self.append(self.memo[int.from_bytes(self.read(4), "little")])

    def load_append(self):
        value = self.stack.pop()
        self._target(list).append(value)

    def load_appends(self):
        values = self.pop_mark()
        self._target(list).extend(values)

    def load_setitem(self):
        value = self.stack.pop()
        key = self.stack.pop()
        self._target(dict)[key] = value

    def load_setitems(self):
        items = self.pop_mark()
        target = self._target(dict)
        for index in range(0, len(items), 2):
            target[items[index]] = items[index + 1]

    def _target(self, kind):
        if not isinstance(self.stack[-1], kind):
            raise pickle.UnpicklingError(f"Can only fill a {kind.__name__}")
        return self.stack[-1]

    dispatch.update(
        {
            pickle.REDUCE[0]: load_reduce,
            pickle.NEWOBJ[0]: load_newobj,
            pickle.BUILD[0]: load_build,
            pickle.BINGET[0]: load_binget,
            pickle.LONG_BINGET[0]: load_long_binget,
            pickle.APPEND[0]: load_append,
            pickle.APPENDS[0]: load_appends,
            pickle.SETITEM[0]: load_setitem,
            pickle.SETITEMS[0]: load_setitems,
        }
    )


class Options:
    """How pickles are read: by which unpickler, with which keywords."""

    def __init__(self, weights_only, pickle_module=None, keywords=None):
        self.weights_only = weights_only
        self.keywords = {"encoding": "utf-8", **(keywords or {})}
        self.unpickler = None if weights_only else _unpickler_class(pickle_module or pickle)


# What malformed bytes lead to inside an unpickler that takes them at their word.
_MALFORMED = (
    *(TypeError, ValueError, AttributeError, IndexError, KeyError, EOFError),
    *(OverflowError, NotImplementedError, struct.error),
)


def load(data, storage_by_key, options):
    """Unpickles `data`; `storage_by_key(key, dtype or None, location, nbytes)` gives storages."""
    import io

    return load_from(io.BytesIO(data), storage_by_key, options)


def load_from(file, storage_by_key, options):
    """Reads one pickle of a file."""
    if not options.weights_only:
        return options.unpickler(file, storage_by_key, **options.keywords).load()
    unpickler = _WeightsUnpickler(file, storage_by_key, **options.keywords)
    try:
        return unpickler.load()
    except (pickle.UnpicklingError, *_MALFORMED) as error:
        if error is unpickler.storage_error:
            raise
        reason = str(error) if isinstance(error, pickle.UnpicklingError) else repr(error)
        # Classes that torch lets through.
        passed = isinstance(error, (EOFError, KeyError, IndexError))
        raise (type(error) if passed else pickle.UnpicklingError)(
            "Weights only load failed. If you trust the source of this file, torch.load with "
            "`weights_only=False` may read it, but then the file can run any code.\n"
            f"\tWeightsUnpickler error: {reason}"
        ) from None


def globals_in(data):
    """The full names of all globals in a pickle, without running it."""
    import pickletools

    found = set()
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            found.add(argument.replace(" ", ".", 1))
    return found


def is_safe(full_name):
    """Whether load(weights_only=True) takes this global."""
    module, _, name = full_name.rpartition(".")
    allowed = {_global_names(entry)[1] for entry in serialization.get_safe_globals()}
    return (
        _known(module, name) is not None
        or full_name in allowed
        or full_name.startswith("torch.")
        and _PACKAGE + full_name[len("torch") :] in allowed
    )
