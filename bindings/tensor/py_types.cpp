#include "bindings/tensor/py_types.h"

#include <string>

#include "bindings/interpreter/errors.h"
#include "bindings/tensor/device_names.h"
#include "mindtorch/tensor/accelerators.h"

namespace mindtorch::python {
namespace {

PyTypeObject* g_dtype_type = nullptr;
PyTypeObject* g_device_type = nullptr;
PyTypeObject* g_format_type = nullptr;
PyTypeObject* g_layout_type = nullptr;
PyTypeObject* g_size_type = nullptr;
PyObject* g_dtypes[kDTypeCount];

struct PyDType {
  PyObject_HEAD DType dtype;
};
struct PyDevice {
  PyObject_HEAD Device device;
};
struct PyNamed {  // memory_format and layout: a name and a number
  PyObject_HEAD int value;
  const char* name;
};

PyObject* text(const std::string& value) {
  return PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
}

// dtype

DType dtype_of(PyObject* self) { return reinterpret_cast<PyDType*>(self)->dtype; }

PyObject* dtype_repr(PyObject* self) { return text("torch." + std::string(name(dtype_of(self)))); }
PyObject* dtype_reduce(PyObject* self, PyObject*) {
  return text(std::string(name(dtype_of(self))));
}
PyObject* dtype_is_floating_point(PyObject* self, void*) {
  return PyBool_FromLong(is_floating_point(dtype_of(self)));
}
PyObject* dtype_is_complex(PyObject* self, void*) {
  return PyBool_FromLong(is_complex(dtype_of(self)));
}
PyObject* dtype_is_signed(PyObject* self, void*) {
  return PyBool_FromLong(is_signed(dtype_of(self)));
}
PyObject* dtype_itemsize(PyObject* self, void*) {
  return PyLong_FromLongLong(size_bytes(dtype_of(self)));
}
PyObject* dtype_to_real(PyObject* self, PyObject*) {
  return Py_NewRef(dtype_object(real_dtype(dtype_of(self))));
}
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  return Py_NewRef(dtype_object(complex_dtype(dtype_of(self))));
}

PyMethodDef g_dtype_methods[] = {
    {"__reduce__", &dtype_reduce, METH_NOARGS, nullptr},
    {"to_real", &dtype_to_real, METH_NOARGS, nullptr},
    {"to_complex", &dtype_to_complex, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef g_dtype_attributes[] = {
    {"is_floating_point", &dtype_is_floating_point, nullptr, nullptr, nullptr},
    {"is_complex", &dtype_is_complex, nullptr, nullptr, nullptr},
    {"is_signed", &dtype_is_signed, nullptr, nullptr, nullptr},
    {"itemsize", &dtype_itemsize, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot g_dtype_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(&dtype_repr)},
    {Py_tp_methods, g_dtype_methods},
    {Py_tp_getset, g_dtype_attributes},
    {Py_tp_doc, const_cast<char*>("The element type of a tensor, such as torch.float32.")},
    {0, nullptr},
};
PyType_Spec g_dtype_spec = {"mindtorch_v2.dtype", sizeof(PyDType), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, g_dtype_slots};

// device

Device device_of(PyObject* self) { return reinterpret_cast<PyDevice*>(self)->device; }

// As to_device, and of a kind without a backend, too.
Device any_device(PyObject* object);

// The words of torch for arguments that no form of device() takes.
[[noreturn]] void refuse_device(PyObject* args, PyObject* kwargs) {
  std::string got;
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  for (Py_ssize_t i = 0; i < count; ++i) {
    got += (i > 0 ? ", " : "") + std::string(Py_TYPE(PyTuple_GET_ITEM(args, i))->tp_name);
  }
  std::string wrong_words;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t place = 0; kwargs != nullptr && PyDict_Next(kwargs, &place, &key, &value) != 0;) {
    const std::string word = PyUnicode_AsUTF8(key);
    got += (count > 0 ? ", " : "") + word + "=" + Py_TYPE(value)->tp_name + ", ";
    if (word != "device") wrong_words += (wrong_words.empty() ? "" : ", ") + word;
  }
  std::string reason;
  if (!wrong_words.empty()) {
    reason =
        "      didn't match because some of the keywords were incorrect: " + wrong_words + "\n";
  } else if (count == 1) {
    reason =
        "      didn't match because some of the arguments have invalid types: (!" + got + "!)\n";
  }
  throw TypeError("device() received an invalid combination of arguments - got (" + got +
                  "), but expected one of:\n * (torch.device device)\n" + reason +
                  " * (str type, int index = -1)\n");
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* keywords[] = {"device", "index", nullptr};
    static const char* type_keywords[] = {"type", "index", nullptr};
    PyObject* kind = nullptr;
    PyObject* index = nullptr;
    const bool by_type = kwargs != nullptr && PyDict_GetItemString(kwargs, "type") != nullptr;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device",
                                    const_cast<char**>(by_type ? type_keywords : keywords), &kind,
                                    &index) == 0) {
      PyErr_Clear();
      refuse_device(args, kwargs);
    }
    if (!is_device(kind) && !PyUnicode_Check(kind) && !PyLong_Check(kind)) {
      refuse_device(args, kwargs);
    }
    MT_CHECK(index == nullptr || index == Py_None || PyLong_Check(index), TypeError,
             "device(): argument 'index' (position 2) must be int, not ", Py_TYPE(index)->tp_name);
    Device device = any_device(kind);
    if (index != nullptr && index != Py_None) {
      MT_CHECK(!device.has_index(), RuntimeError,
               "type (string) must not include an index because index was passed explicitly: ",
               text_of(device));
      const long long number = PyLong_AsLongLong(index);
      if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
      MT_CHECK(number >= 0, RuntimeError, "Device index must not be negative");
      MT_CHECK(number <= 127, RuntimeError, "Device index must be at most 127, got ", number);
      device.index = static_cast<int8_t>(number);
    }
    return wrap_device(device);
  });
}

PyObject* device_repr(PyObject* self) {
  const Device device = device_of(self);
  std::string result = "device(type='" + std::string(kind_of(device)) + "'";
  if (device.has_index()) result += ", index=" + std::to_string(device.index);
  return text(result + ")");
}
PyObject* device_str(PyObject* self) { return text(text_of(device_of(self))); }
Py_hash_t device_hash(PyObject* self) {
  const Device device = device_of(self);
  return static_cast<Py_hash_t>(device.type) * 1024 + device.index + 2;
}
PyObject* device_compare(PyObject* a, PyObject* b, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || !is_device(b)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_of(a) == device_of(b)) == (operation == Py_EQ));
}
PyObject* device_type(PyObject* self, void*) { return text(std::string(kind_of(device_of(self)))); }
PyObject* device_index(PyObject* self, void*) {
  const Device device = device_of(self);
  if (!device.has_index()) Py_RETURN_NONE;
  return PyLong_FromLong(device.index);
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  const Device device = device_of(self);
  PyObject* type = reinterpret_cast<PyObject*>(g_device_type);
  const std::string kind(kind_of(device));
  return device.has_index() ? Py_BuildValue("O(si)", type, kind.c_str(), int{device.index})
                            : Py_BuildValue("O(s)", type, kind.c_str());
}

// `with torch.device("meta"):` changes where factories put tensors; see python/_device_context.py.
PyObject* device_enter(PyObject* self, PyObject*) {
  PyObject* module = PyImport_ImportModule("mindtorch_v2._device_context");
  if (module == nullptr) return nullptr;
  PyObject* result = PyObject_CallMethod(module, "enter", "O", self);
  Py_DECREF(module);
  return result;
}
PyObject* device_exit(PyObject* self, PyObject*) {
  PyObject* module = PyImport_ImportModule("mindtorch_v2._device_context");
  if (module == nullptr) return nullptr;
  PyObject* result = PyObject_CallMethod(module, "leave", "O", self);
  Py_DECREF(module);
  return result;
}

PyMethodDef g_device_methods[] = {
    {"__reduce__", &device_reduce, METH_NOARGS, nullptr},
    {"__enter__", &device_enter, METH_NOARGS, nullptr},
    {"__exit__", &device_exit, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef g_device_attributes[] = {
    {"type", &device_type, nullptr, nullptr, nullptr},
    {"index", &device_index, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot g_device_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(&device_new)},
    {Py_tp_repr, reinterpret_cast<void*>(&device_repr)},
    {Py_tp_str, reinterpret_cast<void*>(&device_str)},
    {Py_tp_hash, reinterpret_cast<void*>(&device_hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(&device_compare)},
    {Py_tp_methods, g_device_methods},
    {Py_tp_getset, g_device_attributes},
    {Py_tp_doc,
     const_cast<char*>("Where a tensor lives: torch.device('cpu'), torch.device('npu', 1).")},
    {0, nullptr},
};
PyType_Spec g_device_spec = {"mindtorch_v2.device", sizeof(PyDevice), 0, Py_TPFLAGS_DEFAULT,
                             g_device_slots};

// memory_format and layout

PyObject* named_repr(PyObject* self) {
  return text(std::string("torch.") + reinterpret_cast<PyNamed*>(self)->name);
}
PyObject* named_reduce(PyObject* self, PyObject*) {
  return text(reinterpret_cast<PyNamed*>(self)->name);
}
PyMethodDef g_named_methods[] = {
    {"__reduce__", &named_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot g_format_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(&named_repr)},
    {Py_tp_methods, g_named_methods},
    {Py_tp_doc, const_cast<char*>("The order of dimensions in memory: torch.channels_last.")},
    {0, nullptr},
};
PyType_Slot g_layout_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(&named_repr)},
    {Py_tp_methods, g_named_methods},
    {Py_tp_doc, const_cast<char*>("How a tensor is stored: torch.strided, torch.sparse_coo.")},
    {0, nullptr},
};
PyType_Spec g_format_spec = {"mindtorch_v2.memory_format", sizeof(PyNamed), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             g_format_slots};
PyType_Spec g_layout_spec = {"mindtorch_v2.layout", sizeof(PyNamed), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             g_layout_slots};

// Size

PyObject* size_from_tuple(PyObject* tuple) {
  PyObject* args = PyTuple_Pack(1, tuple);
  if (args == nullptr) return nullptr;
  PyObject* size = PyTuple_Type.tp_new(g_size_type, args, nullptr);
  Py_DECREF(args);
  return size;
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* self = PyTuple_Type.tp_new(type, args, kwargs);
  if (self == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    PyObject* item = PyTuple_GET_ITEM(self, i);
    if (PyLong_Check(item)) continue;
    PyObject* number = PyNumber_Index(item);
    if (number == nullptr) {
      PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                   Py_TYPE(item)->tp_name);
      Py_DECREF(self);
      return nullptr;
    }
    PyTuple_SET_ITEM(self, i, number);
    Py_DECREF(item);
  }
  return self;
}
// An entry as a number; throws where it has more than 64 bits.
long long size_entry(PyObject* self, Py_ssize_t i) {
  const long long entry = PyLong_AsLongLong(PyTuple_GET_ITEM(self, i));
  if (entry == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return entry;
}
PyObject* size_repr(PyObject* self) {
  return guarded([&] {
    std::string result = "torch.Size([";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
      if (i != 0) result += ", ";
      result += std::to_string(size_entry(self, i));
    }
    return text(result + "])");
  });
}
PyObject* size_numel(PyObject* self, PyObject*) {
  return guarded([&] {
    unsigned long long count = 1;  // may wrap on the way to a size of 0
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
      count *= static_cast<unsigned long long>(size_entry(self, i));
    }
    return PyLong_FromLongLong(static_cast<long long>(count));
  });
}
PyObject* size_reduce(PyObject* self, PyObject*) {
  const Py_ssize_t size = PyTuple_GET_SIZE(self);
  PyObject* plain = PyTuple_New(size);
  if (plain == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyTuple_SET_ITEM(plain, i, Py_NewRef(PyTuple_GET_ITEM(self, i)));
  }
  return Py_BuildValue("O(N)", g_size_type, plain);
}
// Slices and sums of sizes are sizes again.
PyObject* size_subscript(PyObject* self, PyObject* key) {
  PyObject* result = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  if (result == nullptr || !PySlice_Check(key)) return result;
  Py_SETREF(result, size_from_tuple(result));
  return result;
}
PyObject* size_concat(PyObject* self, PyObject* other) {
  PyObject* result = PyTuple_Type.tp_as_sequence->sq_concat(self, other);
  if (result == nullptr) return nullptr;
  Py_SETREF(result, size_from_tuple(result));
  return result;
}
PyObject* size_repeat(PyObject* self, Py_ssize_t count) {
  PyObject* result = PyTuple_Type.tp_as_sequence->sq_repeat(self, count);
  if (result == nullptr) return nullptr;
  Py_SETREF(result, size_from_tuple(result));
  return result;
}

PyMethodDef g_size_methods[] = {
    {"numel", &size_numel, METH_NOARGS, "The product of the sizes."},
    {"__reduce__", &size_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot g_size_slots[] = {
    {Py_tp_base, &PyTuple_Type},
    {Py_tp_new, reinterpret_cast<void*>(&size_new)},
    {Py_tp_repr, reinterpret_cast<void*>(&size_repr)},
    {Py_mp_subscript, reinterpret_cast<void*>(&size_subscript)},
    {Py_sq_concat, reinterpret_cast<void*>(&size_concat)},
    {Py_sq_repeat, reinterpret_cast<void*>(&size_repeat)},
    {Py_tp_methods, g_size_methods},
    {Py_tp_doc, const_cast<char*>("The sizes of a tensor's dimensions: a tuple of ints.")},
    {0, nullptr},
};
PyType_Spec g_size_spec = {"mindtorch_v2.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           g_size_slots};

int add_named(PyObject* module, PyTypeObject* type, const char* name, int value) {
  auto* object = PyObject_New(PyNamed, type);
  if (object == nullptr) return -1;
  object->value = value;
  object->name = name;
  return PyModule_AddObject(module, name, reinterpret_cast<PyObject*>(object));
}

PyTypeObject* add_type(PyObject* module,
                       PyType_Spec& spec,
                       const char* name,
                       const char* torch_name) {
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr ||
      PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type)) < 0) {
    return nullptr;
  }
  type->tp_name = torch_name;  // in messages; __module__ and __qualname__ stay ours
  return type;
}

Device any_device(PyObject* object) {
  if (is_device(object)) return device_of(object);
  if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(object, &size);
    if (data == nullptr) throw PythonError();
    MT_CHECK(size > 0, RuntimeError, "Device string must not be empty");
    return named_device({data, static_cast<size_t>(size)});
  }
  const long long index = PyLong_AsLongLong(object);
  if (index == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  MT_CHECK(index >= 0, RuntimeError, "Device index must not be negative");
  MT_CHECK(index <= 127, RuntimeError, "Device index must be at most 127, got ", index);
  return Device(accelerator_type(), static_cast<int>(index));
}

}  // namespace

bool is_dtype(PyObject* object) { return Py_TYPE(object) == g_dtype_type; }
DType to_dtype(PyObject* object) { return dtype_of(object); }
PyObject* dtype_object(DType dtype) { return g_dtypes[static_cast<int>(dtype)]; }

bool is_device(PyObject* object) { return Py_TYPE(object) == g_device_type; }
Device to_device(PyObject* object) {
  const Device device = any_device(object);
  MT_CHECK(has_backend(device.type), RuntimeError, "Cannot use device ", text_of(device),
           ": this build of mindtorch has no backend for it. Use device='cpu'.");
  return device;
}
PyObject* wrap_device(Device device) {
  static PyObject* cpu = nullptr;  // nearly every tensor's device
  const bool is_plain_cpu = device == Device();
  if (is_plain_cpu && cpu != nullptr) return Py_NewRef(cpu);
  auto* object = PyObject_New(PyDevice, g_device_type);
  if (object == nullptr) return nullptr;
  object->device = device;
  if (is_plain_cpu) cpu = Py_NewRef(reinterpret_cast<PyObject*>(object));
  return reinterpret_cast<PyObject*>(object);
}

bool is_memory_format(PyObject* object) { return Py_TYPE(object) == g_format_type; }
MemoryFormat to_memory_format(PyObject* object) {
  return static_cast<MemoryFormat>(reinterpret_cast<PyNamed*>(object)->value);
}
bool is_layout(PyObject* object) { return Py_TYPE(object) == g_layout_type; }
bool is_strided_layout(PyObject* object) {
  return is_layout(object) && reinterpret_cast<PyNamed*>(object)->value == 0;
}

PyObject* wrap_size(IntList sizes) {
  PyObject* result = g_size_type->tp_alloc(g_size_type, static_cast<Py_ssize_t>(sizes.size()));
  if (result == nullptr) return nullptr;
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  }
  return result;
}

PyObject* wrap_tuple(IntList list) {
  PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(list.size()));
  if (result == nullptr) return nullptr;
  for (size_t i = 0; i < list.size(); ++i) {
    PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(list[i]));
  }
  return result;
}

int add_types(PyObject* module) {
  g_dtype_type = add_type(module, g_dtype_spec, "dtype", "torch.dtype");
  g_device_type = add_type(module, g_device_spec, "device", "torch.device");
  g_format_type = add_type(module, g_format_spec, "memory_format", "torch.memory_format");
  g_layout_type = add_type(module, g_layout_spec, "layout", "torch.layout");
  g_size_type = add_type(module, g_size_spec, "Size", "torch.Size");
  if (g_dtype_type == nullptr || g_device_type == nullptr || g_format_type == nullptr ||
      g_layout_type == nullptr || g_size_type == nullptr) {
    return -1;
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    auto* object = PyObject_New(PyDType, g_dtype_type);
    if (object == nullptr) return -1;
    object->dtype = static_cast<DType>(i);
    g_dtypes[i] = reinterpret_cast<PyObject*>(object);
    if (PyModule_AddObjectRef(module, std::string(name(object->dtype)).c_str(), g_dtypes[i]) < 0) {
      return -1;
    }
  }
  const auto format = [&](const char* name, MemoryFormat value) {
    return add_named(module, g_format_type, name, static_cast<int>(value));
  };
  if (format("contiguous_format", MemoryFormat::kContiguous) < 0 ||
      format("preserve_format", MemoryFormat::kPreserve) < 0 ||
      format("channels_last", MemoryFormat::kChannelsLast) < 0 ||
      format("channels_last_3d", MemoryFormat::kChannelsLast3d) < 0) {
    return -1;
  }
  const char* const layouts[] = {"strided",    "sparse_coo", "sparse_csr",
                                 "sparse_csc", "sparse_bsr", "sparse_bsc"};
  for (int i = 0; i < static_cast<int>(std::size(layouts)); ++i) {
    if (add_named(module, g_layout_type, layouts[i], i) < 0) return -1;
  }
  return 0;
}

}  // namespace mindtorch::python
