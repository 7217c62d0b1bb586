// The type torch.pipeline: Note [Blocks of torch.pipeline].
#include "bindings/ops/py_pipeline.h"

#include <structmember.h>

#include <cstddef>
#include <new>

#include "bindings/interpreter/errors.h"
#include "bindings/interpreter/python_ref.h"

namespace mindtorch::python {
namespace {

using dispatch::Pipeline;

struct PyPipeline {
  PyObject_HEAD bool is_made;  // has a pipeline
  bool has_defaults;           // which was made without settings
  alignas(Pipeline) std::byte bytes[sizeof(Pipeline)];

  Pipeline& pipeline() { return *std::launder(reinterpret_cast<Pipeline*>(bytes)); }
};

PyPipeline* self_of(PyObject* object) { return reinterpret_cast<PyPipeline*>(object); }

PyTypeObject* g_pipeline_type = nullptr;
PipelineParts g_parts;

// Objects to be used again, guarded by the GIL.
template <typename Object>
struct FreeObjects {
  static constexpr size_t kMax = 8;
  Object* objects[kMax] = {};
  size_t count = 0;

  // Null: there is none.
  Object* take() {
    if (MT_UNLIKELY(count == 0)) return nullptr;
    Object* const object = objects[--count];
    _Py_NewReference(reinterpret_cast<PyObject*>(object));
    return object;
  }
  bool keep(Object* object) {
    if (MT_UNLIKELY(count == kMax)) return false;
    objects[count++] = object;
    return true;
  }
};
FreeObjects<PyPipeline> g_free_pipelines;  // with a pipeline that was never entered

void free_object(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

void make_pipeline(PyPipeline& self, PyObject* settings) {
  const dispatch::PipelineConfig config = g_parts.read(settings);
  dispatch::check(config);  // while there is still what was made before
  if (std::exchange(self.is_made, false)) self.pipeline().~Pipeline();
  new (self.bytes) Pipeline(config);
  self.pipeline().python_object = &self;
  self.is_made = true;
  self.has_defaults = settings == nullptr;
}

PyObject* construct(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
  const Py_ssize_t positional = PyVectorcall_NARGS(flags);
  if (MT_LIKELY(positional == 0 && names == nullptr)) {
    if (PyPipeline* const self = g_free_pipelines.take()) return reinterpret_cast<PyObject*>(self);
  }
  return guarded([&] {
    MT_CHECK(positional == 0, TypeError, "pipeline() takes settings by name only");
    PyRef settings;
    const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    if (count != 0) settings = PyRef(PyDict_New());
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (PyDict_SetItem(settings.get(), PyTuple_GET_ITEM(names, i), args[i]) < 0) {
        throw PythonError();
      }
    }
    PyRef made(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0));
    make_pipeline(*self_of(made.get()), settings.get());
    return made.release();
  });
}

// Of subclasses.
int initialize(PyObject* self, PyObject* args, PyObject* settings) {
  return guarded_int([&] {
    MT_CHECK(PyTuple_GET_SIZE(args) == 0, TypeError, "pipeline() takes settings by name only");
    const bool has_some = settings != nullptr && PyDict_GET_SIZE(settings) != 0;
    make_pipeline(*self_of(self), has_some ? settings : nullptr);
    return 0;
  });
}

void dealloc(PyObject* object) {
  PyPipeline* const self = self_of(object);
  if (MT_LIKELY(Py_TYPE(object) == g_pipeline_type && self->is_made && self->has_defaults)) {
    self->pipeline().renew();
    if (g_free_pipelines.keep(self)) return;  // with its reference to the type
  }
  if (self->is_made) self->pipeline().~Pipeline();
  free_object(object);
}

// Of the calling thread.
constinit thread_local PyThreadState* t_entered __attribute__((tls_model("initial-exec"))) =
    nullptr;

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    pipeline_of(self).enter();
    t_entered = current_thread_state();
    return Py_NewRef(self);
  });
}

PyObject* leave(PyObject* self, PyObject* const* error, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    MT_CHECK(count == 3, TypeError, "__exit__() takes 3 arguments, but got ", count);
    Pipeline& pipeline = pipeline_of(self);
    if (MT_LIKELY(error[0] == Py_None)) {
      pipeline.leave();
    } else {
      try {  // the first error wins
        pipeline.leave();
      } catch (const std::exception&) {
      }
    }
    Py_RETURN_NONE;
  });
}

PyMethodDef g_enter = {"__enter__", &enter, METH_NOARGS, "__enter__($self, /)\n--\n\n"};
PyMethodDef g_leave = {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&leave)),
                       METH_FASTCALL, "__exit__($self, kind, error, trace, /)\n--\n\n"};

// In the type. Whoever looks at one sees the method that CPython would make of its definition.
struct BlockMethod {
  PyObject_HEAD vectorcallfunc vectorcall;  // with the block as the first argument
  vectorcallfunc bound;                     // of a BoundMethod
  PyMethodDef* definition;
};
// The same of one block, which does not know it.
struct BoundMethod {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyMethodDef* definition;
  PyObject* block;
};

PyTypeObject* g_block_method_type = nullptr;
PyTypeObject* g_bound_method_type = nullptr;
FreeObjects<BoundMethod> g_free_methods;

PyObject* bind_method(PyObject* self, PyObject* block, PyObject*) {
  if (block == nullptr) return Py_NewRef(self);
  auto* const method = reinterpret_cast<BlockMethod*>(self);
  if (Py_TYPE(block) != g_pipeline_type) {  // a subclass may make cycles
    return PyCFunction_New(method->definition, block);
  }
  BoundMethod* bound = g_free_methods.take();
  if (MT_UNLIKELY(bound == nullptr)) {
    bound = PyObject_New(BoundMethod, g_bound_method_type);
    if (bound == nullptr) return nullptr;
  }
  bound->vectorcall = method->bound;
  bound->definition = method->definition;
  bound->block = Py_NewRef(block);
  return reinterpret_cast<PyObject*>(bound);
}

void free_bound(PyObject* self) {
  auto* const bound = reinterpret_cast<BoundMethod*>(self);
  PyObject* const block = bound->block;
  if (!g_free_methods.keep(bound)) free_object(self);
  Py_DECREF(block);
}

PyObject* call_enter(PyObject* bound, PyObject* const*, size_t flags, PyObject*) {
  if (PyVectorcall_NARGS(flags) != 0) {
    PyErr_SetString(PyExc_TypeError, "__enter__() takes no arguments");
    return nullptr;
  }
  return enter(reinterpret_cast<BoundMethod*>(bound)->block, nullptr);
}
PyObject* call_leave(PyObject* bound, PyObject* const* args, size_t flags, PyObject*) {
  return leave(reinterpret_cast<BoundMethod*>(bound)->block, args, PyVectorcall_NARGS(flags));
}

PyRef method_of(PyObject* self) {
  return PyRef(
      PyDescr_NewMethod(g_pipeline_type, reinterpret_cast<BlockMethod*>(self)->definition));
}
// pipeline.__exit__(block, ...)
PyObject* call_unbound(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded([&] { return PyObject_Vectorcall(method_of(self).get(), args, flags, names); });
}
PyObject* attribute_of_method(PyObject* self, PyObject* name) {
  return guarded([&] { return PyObject_GetAttr(method_of(self).get(), name); });
}
PyObject* attribute_of_bound(PyObject* self, PyObject* name) {
  const auto* const bound = reinterpret_cast<BoundMethod*>(self);
  return guarded([&] {
    const PyRef method(PyCFunction_New(bound->definition, bound->block));
    return PyObject_GetAttr(method.get(), name);
  });
}

PyTypeObject* make_type(const char* name, size_t size, unsigned flags, PyType_Slot* slots) {
  PyType_Spec spec = {name, static_cast<int>(size), 0, Py_TPFLAGS_DEFAULT | flags, slots};
  return reinterpret_cast<PyTypeObject*>(PyRef(PyType_FromSpec(&spec)).release());
}

PyTypeObject* make_method_type(const char* name,
                               size_t size,
                               size_t vectorcall,
                               const PyType_Slot (&more)[2]) {
  PyMemberDef members[] = {
      // CPython copies them
      {"__vectorcalloffset__", T_PYSSIZET, static_cast<Py_ssize_t>(vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_members, members},
      {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
      more[0],
      more[1],
      {0, nullptr},
  };
  return make_type(name, size, Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots);
}

void make_method_types() {
  g_block_method_type = make_method_type(
      "mindtorch_v2.block_method", sizeof(BlockMethod), offsetof(BlockMethod, vectorcall),
      {{Py_tp_descr_get, reinterpret_cast<void*>(&bind_method)},
       {Py_tp_getattro, reinterpret_cast<void*>(&attribute_of_method)}});
  g_bound_method_type = make_method_type(
      "mindtorch_v2.bound_block_method", sizeof(BoundMethod), offsetof(BoundMethod, vectorcall),
      {{Py_tp_dealloc, reinterpret_cast<void*>(&free_bound)},
       {Py_tp_getattro, reinterpret_cast<void*>(&attribute_of_bound)}});
}

void add_method(PyMethodDef& definition, vectorcallfunc bound) {
  auto* const method = PyObject_New(BlockMethod, g_block_method_type);
  const PyRef owned(reinterpret_cast<PyObject*>(method));
  method->vectorcall = &call_unbound;
  method->bound = bound;
  method->definition = &definition;
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(g_pipeline_type), definition.ml_name,
                             owned.get()) < 0) {
    throw PythonError();
  }
}

}  // namespace

Pipeline& pipeline_of(PyObject* object) {
  PyPipeline* const self = self_of(object);
  MT_CHECK(self->is_made, TypeError, "the __init__ of this pipeline was never called");
  return self->pipeline();
}

PyObject* object_of(const Pipeline* pipeline) {
  void* const object = pipeline == nullptr ? nullptr : pipeline->python_object;
  return Py_NewRef(object == nullptr ? Py_None : static_cast<PyObject*>(object));
}

PyObject* make_pipeline_type(const PipelineParts& parts) {
  g_parts = parts;
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(parts.doc)},
      {Py_tp_methods, parts.methods},
      {Py_tp_getset, parts.attributes},
      {Py_tp_new, reinterpret_cast<void*>(&PyType_GenericNew)},
      {Py_tp_init, reinterpret_cast<void*>(&initialize)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
      {0, nullptr},
  };
  g_pipeline_type =
      make_type("mindtorch_v2._C.pipeline", sizeof(PyPipeline), Py_TPFLAGS_BASETYPE, slots);
  g_pipeline_type->tp_vectorcall = &construct;
  make_method_types();
  add_method(g_enter, &call_enter);
  add_method(g_leave, &call_leave);
  return Py_NewRef(reinterpret_cast<PyObject*>(g_pipeline_type));
}

void forget_free_pipelines() {
  while (PyPipeline* const self = g_free_pipelines.take()) {
    self->pipeline().~Pipeline();
    free_object(reinterpret_cast<PyObject*>(self));
  }
}

PyThreadState* entered_thread() noexcept { return t_entered; }

}  // namespace mindtorch::python
