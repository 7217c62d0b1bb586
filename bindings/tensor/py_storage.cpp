#include "bindings/tensor/py_storage.h"

#include <structmember.h>

#include <cstring>
#include <new>

#include "bindings/args/arguments.h"
#include "bindings/args/call_arguments.h"
#include "bindings/args/default_device.h"
#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/tensor/bytes.h"

namespace mindtorch::python {
namespace {

// The object owns the storage; the storage knows the object without owning it.
struct PyStorage {
  PyObject_HEAD Storage storage;
  PyObject* dict;
  PyObject* weakrefs;
};

PyTypeObject* g_storage_type = nullptr;

PyStorage* self_of(PyObject* self) { return reinterpret_cast<PyStorage*>(self); }
StorageImpl& impl_of(PyObject* self) { return *self_of(self)->storage; }

PyObject* make_object(PyTypeObject* type, Storage storage) {
  auto* self = reinterpret_cast<PyStorage*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  new (&self->storage) Storage(std::move(storage));
  self->storage->python_object = self;
  return reinterpret_cast<PyObject*>(self);
}

void storage_dealloc(PyObject* object) {
  PyStorage* self = self_of(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  // Before anything that runs Python code: nobody may find a dying object.
  if (self->storage && self->storage->python_object == self) {
    self->storage->python_object = nullptr;
  }
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  self->storage.reset();
  type->tp_free(object);
  Py_DECREF(type);
}

int storage_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self_of(object)->dict);
  return 0;
}
int storage_clear(PyObject* object) {
  Py_CLEAR(self_of(object)->dict);
  return 0;
}

uint8_t to_byte(PyObject* object) {
  int64_t value = 0;
  MT_CHECK(PyBool_Check(object) || to_int(object, value), TypeError, "can't assign a ",
           Py_TYPE(object)->tp_name, " to a torch.UntypedStorage: expected an int");
  if (PyBool_Check(object)) value = object == Py_True;
  return static_cast<uint8_t>(value);
}

void check_has_bytes(const StorageImpl& storage) {
  MT_CHECK(!storage.device().is_meta(), NotImplementedError,
           "Not available for 'meta' device type");
}

void check_on_cpu(const StorageImpl& storage) {
  check_has_bytes(storage);
  MT_CHECK(storage.device().is_cpu(), NotImplementedError,
           "the bytes of a storage are read on the CPU only: cpu()");
}

const uint8_t* bytes_of(const StorageImpl& storage) {
  check_on_cpu(storage);
  return static_cast<const uint8_t*>(storage.data());
}

uint8_t* mutable_bytes_of(StorageImpl& storage) {
  check_on_cpu(storage);
  return static_cast<uint8_t*>(storage.mutable_data());
}

// UntypedStorage(), UntypedStorage(size), UntypedStorage(values); device=.
PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* keywords[] = {"", "device", nullptr};
    PyObject* source = Py_None;
    PyObject* device = Py_None;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:UntypedStorage",
                                    const_cast<char**>(keywords), &source, &device) == 0) {
      return nullptr;
    }
    Device place;
    if (device != Py_None) place = without_host_index(to_device(device));
    int64_t size = 0;
    if (source == Py_None || to_int(source, size)) {
      MT_CHECK(size >= 0, RuntimeError, "Storage size must not be negative, got ", size);
      return make_object(type, StorageImpl::allocate(static_cast<size_t>(size), place));
    }
    PyRef values(PySequence_Fast(source, "UntypedStorage(): expected a size or a sequence"));
    values = frozen(values.get());
    const Py_ssize_t count = PyTuple_GET_SIZE(values.get());
    Storage storage = StorageImpl::allocate(static_cast<size_t>(count), DeviceType::kCpu);
    for (Py_ssize_t i = 0; i < count; ++i) {
      mutable_bytes_of(*storage)[i] = to_byte(PyTuple_GET_ITEM(values.get(), i));
    }
    MT_CHECK(place.is_cpu(), NotImplementedError, "UntypedStorage(values) on ", place.str());
    return make_object(type, std::move(storage));
  });
}

Py_ssize_t storage_length(PyObject* self) {
  return static_cast<Py_ssize_t>(impl_of(self).size_bytes());
}

void release_storage(void* context) {
  const Storage storage = Storage::adopt(static_cast<StorageImpl*>(context));
  storage->remove_export();
}

// The bytes that a key names. Reading a key may run Python code, which may resize the storage: the
// size and the address are asked for afterwards.
struct Part {
  Py_ssize_t start = 0;
  Py_ssize_t length = 1;
};

Part part_of(PyObject* self, PyObject* key) {
  Part part;
  if (PySlice_Check(key)) {
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(key, &part.start, &stop, &step) < 0) throw PythonError();
    part.length = PySlice_AdjustIndices(storage_length(self), &part.start, &stop, step);
    MT_CHECK(step == 1, RuntimeError, "Trying to slice with a step of ", step,
             ", but only a step of 1 is supported");
    return part;
  }
  int64_t index = 0;
  MT_CHECK(to_int(key, index), TypeError, "can't index a torch.UntypedStorage with ",
           Py_TYPE(key)->tp_name);
  const Py_ssize_t size = storage_length(self);
  MT_CHECK(index >= -size && index < size, IndexError, "index ", index,
           " out of range for storage of size ", size);
  part.start = index < 0 ? index + size : index;
  return part;
}

// storage[i] is a number, storage[a:b] a storage over the same bytes.
PyObject* storage_subscript(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    const Part part = part_of(self, key);
    if (!PySlice_Check(key)) return PyLong_FromLong(bytes_of(impl_of(self))[part.start]);
    uint8_t* const bytes = mutable_bytes_of(impl_of(self));
    Storage owner = self_of(self)->storage;
    owner->add_export();
    const Device device = owner->device();
    return make_object(g_storage_type,
                       StorageImpl::borrow(bytes + part.start, static_cast<size_t>(part.length),
                                           device, &release_storage, owner.release()));
  });
}

int storage_assign(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_int([&] {
    MT_CHECK(value != nullptr, TypeError, "UntypedStorage does not support deleting items");
    const uint8_t byte = to_byte(value);
    const Part part = part_of(self, key);
    uint8_t* const bytes = mutable_bytes_of(impl_of(self));
    if (part.length > 0) std::memset(bytes + part.start, byte, static_cast<size_t>(part.length));
    impl_of(self).bump_version();
    return 0;
  });
}

PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSsize_t(storage_length(self)); }
PyObject* element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(impl_of(self).mutable_data()); });
}
PyObject* resizable(PyObject* self, PyObject*) {
  return PyBool_FromLong(impl_of(self).resizable());
}
PyObject* get_device(PyObject* self, void*) { return wrap_device(impl_of(self).device()); }
PyObject* get_cdata(PyObject* self, void*) {
  return PyLong_FromVoidPtr(self_of(self)->storage.get());
}

PyObject* resize(PyObject* self, PyObject* size) {
  return guarded([&] {
    int64_t bytes = 0;
    MT_CHECK(to_int(size, bytes), TypeError, "resize_(): argument 'size' must be int, not ",
             Py_TYPE(size)->tp_name);
    MT_CHECK(bytes >= 0, RuntimeError, "Storage size must not be negative, got ", bytes);
    impl_of(self).resize(static_cast<size_t>(bytes));
    return Py_NewRef(self);
  });
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    const uint8_t* bytes = bytes_of(impl_of(self));
    PyRef list(PyList_New(storage_length(self)));
    for (Py_ssize_t i = 0; i < storage_length(self); ++i) {
      PyList_SET_ITEM(list.get(), i, PyLong_FromLong(bytes[i]));
    }
    return list.release();
  });
}

// A device may let the host wait.
void copy_unlocked(StorageImpl& target, const StorageImpl& source, bool non_blocking) {
  const GilRelease unlocked(!target.device().is_host() || !source.device().is_host());
  copy_bytes(target, source, non_blocking);
}

PyObject* clone(PyObject* self, PyObject*) {
  return guarded([&] {
    StorageImpl& source = impl_of(self);
    Storage copy = StorageImpl::allocate(source.size_bytes(), source.device());
    if (!source.device().is_meta()) copy_unlocked(*copy, source, false);
    return make_object(g_storage_type, std::move(copy));
  });
}

PyObject* fill(PyObject* self, PyObject* value) {
  return guarded([&] {
    const uint8_t byte = to_byte(value);
    StorageImpl& storage = impl_of(self);
    check_has_bytes(storage);
    fill_bytes(storage, byte);
    storage.bump_version();
    return Py_NewRef(self);
  });
}

PyObject* copy(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static const CallArguments names("copy_", {"source", "non_blocking"}, 2, 1);
    PyObject* values[2];
    names.read(args, nargs, kwnames, values);
    MT_CHECK(is_storage(values[0]), TypeError, "copy_(): argument 'source' must be a storage, not ",
             Py_TYPE(values[0])->tp_name);
    StorageImpl& source = impl_of(values[0]);
    StorageImpl& target = impl_of(self);
    MT_CHECK(source.size_bytes() == target.size_bytes(), RuntimeError,
             "size does not match, self was ", target.size_bytes(), " bytes but src was ",
             source.size_bytes(), " bytes");
    check_has_bytes(source);
    check_has_bytes(target);
    const int non_blocking = PyObject_IsTrue(values[1]);
    if (non_blocking < 0) throw PythonError();
    copy_unlocked(target, source, non_blocking != 0);
    target.bump_version();
    return Py_NewRef(self);
  });
}

PyObject* exchange_memory(PyObject* self, PyObject* other) {
  return guarded([&] {
    MT_CHECK(is_storage(other), TypeError,
             "_exchange_memory(): argument 'other' must be a storage, not ",
             Py_TYPE(other)->tp_name);
    impl_of(self).exchange_memory(impl_of(other));
    return Py_NewRef(Py_None);
  });
}

int storage_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  StorageImpl& storage = impl_of(self);
  view->obj = nullptr;
  if (!storage.device().is_cpu()) {
    PyErr_Format(PyExc_BufferError, "a storage on %s has no Python buffer",
                 storage.device().str().c_str());
    return -1;
  }
  return guarded_int([&] {
    static char nothing[8];
    void* data = storage.mutable_data();
    const int result = PyBuffer_FillInfo(view, self, data == nullptr ? nothing : data,
                                         storage_length(self), 0, flags);
    if (result == 0) storage.add_export();
    return result;
  });
}

void storage_release_buffer(PyObject* self, Py_buffer*) { impl_of(self).remove_export(); }

PyMethodDef g_methods[] = {
    {"nbytes", &nbytes, METH_NOARGS, "The number of bytes."},
    {"size", &nbytes, METH_NOARGS, "The number of bytes."},
    {"element_size", &element_size, METH_NOARGS, "Always 1."},
    {"data_ptr", &data_ptr, METH_NOARGS, "The address of the first byte."},
    {"resizable", &resizable, METH_NOARGS, "Whether resize_ works: not for memory of others."},
    {"resize_", &resize, METH_O, "resize_(size)\n\nChanges the number of bytes; keeps the first."},
    {"tolist", &tolist, METH_NOARGS, "The bytes as a list of numbers."},
    {"clone", &clone, METH_NOARGS, "A new storage with the same bytes."},
    {"fill_", &fill, METH_O, "fill_(value)\n\nSets every byte."},
    fast_method<&copy>("copy_", "copy_(source, non_blocking=False)\n\nCopies all bytes of source."),
    {"_exchange_memory", &exchange_memory, METH_O,
     "_exchange_memory(other)\n\nEach of two storages of one size takes the other's memory."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef g_attributes[] = {
    {"device", &get_device, nullptr, "Where the bytes are.", nullptr},
    {"_cdata", &get_cdata, nullptr, "A number that identifies the storage.", nullptr},
    {"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

bool is_storage(PyObject* object) { return PyObject_TypeCheck(object, g_storage_type); }

const Storage& unwrap_storage(PyObject* object) { return self_of(object)->storage; }

PyObject* wrap_storage(const Storage& storage) {
  if (storage->python_object != nullptr) {
    return Py_NewRef(static_cast<PyObject*>(storage->python_object));
  }
  return make_object(g_storage_type, storage);
}

int add_storage_type(PyObject* module) {
  static PyMemberDef members[] = {
      {"__dictoffset__", T_PYSSIZET, offsetof(PyStorage, dict), READONLY, nullptr},
      {"__weaklistoffset__", T_PYSSIZET, offsetof(PyStorage, weakrefs), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  };
  const auto fn = [](auto* function) { return reinterpret_cast<void*>(function); };
  PyType_Slot slots[] = {
      {Py_tp_new, fn(&storage_new)},
      {Py_tp_dealloc, fn(&storage_dealloc)},
      {Py_tp_traverse, fn(&storage_traverse)},
      {Py_tp_clear, fn(&storage_clear)},
      {Py_mp_length, fn(&storage_length)},
      {Py_mp_subscript, fn(&storage_subscript)},
      {Py_mp_ass_subscript, fn(&storage_assign)},
      {Py_bf_getbuffer, fn(&storage_get_buffer)},
      {Py_bf_releasebuffer, fn(&storage_release_buffer)},
      {Py_tp_members, members},
      {Py_tp_methods, g_methods},
      {Py_tp_getset, g_attributes},
      {Py_tp_doc, const_cast<char*>("UntypedStorage(size=0, *, device=None)\n\nThe bytes behind a "
                                    "tensor and all its views.")},
      {0, nullptr},
  };
  PyType_Spec spec = {"mindtorch_v2.storage.UntypedStorage", sizeof(PyStorage), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  g_storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (g_storage_type == nullptr) return -1;
  return PyModule_AddObjectRef(module, "UntypedStorage",
                               reinterpret_cast<PyObject*>(g_storage_type));
}

}  // namespace mindtorch::python
