#pragma once

#include <Python.h>

#include "mindtorch/tensor/tensor.h"

namespace mindtorch::python {

// Memory shared with NumPy, DLPack and Python buffers. Every function here needs the GIL.

// NumPy has no more; what a foreign array says is checked against it.
inline constexpr int kMaxArrayDims = 64;

// A tensor over the memory of an ndarray, which it keeps alive. Throws torch's errors for arrays
// that no tensor can show, and TypeError for other objects.
Tensor tensor_from_numpy(PyObject* array);
bool is_ndarray(PyObject* object);
// A tensor over the memory of a NumPy array or scalar, or of an object with __dlpack__ or
// __array__; undefined when `data` offers none of them.
Tensor tensor_from_array(PyObject* data);

// An ndarray over the tensor's memory that keeps the tensor alive. Throws TypeError for devices
// and dtypes that NumPy lacks.
PyObject* tensor_to_numpy(PyObject* tensor);

// From a capsule, or an object with __dlpack__.
Tensor tensor_from_dlpack(PyObject* data, PyObject* device = nullptr, PyObject* copy = nullptr);

// A tensor over the bytes of a Python buffer, which stays exported as long as the tensor lives.
Tensor tensor_from_buffer(PyObject* buffer, DType dtype, int64_t count, int64_t offset);

// The values as nested lists, or as a number.
PyObject* tensor_to_list(const Tensor& tensor);

// Keeps a storage alive and its bytes in place while others hold their address.
class StorageExport {
 public:
  explicit StorageExport(Storage storage) : storage_(std::move(storage)) {
    storage_->flush_readers();  // from now on others may write
    storage_->add_export();
  }
  ~StorageExport() { storage_->remove_export(); }
  StorageExport(const StorageExport&) = delete;
  StorageExport& operator=(const StorageExport&) = delete;

 private:
  Storage storage_;
};

// Slots of class Tensor.
int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags);
void tensor_release_buffer(PyObject* self, Py_buffer* view);

}  // namespace mindtorch::python
