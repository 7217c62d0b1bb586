#pragma once

#include <Python.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mindtorch/ops/op.h"

namespace mindtorch::python {

// The arguments of one call, converted, with everything they borrow from.
struct ParsedArgs {
  static constexpr int kMaxParams = 20;
  static constexpr int kMaxTemporaries = 6;

  ParsedArgs() {}  // NOLINT: leaves values as they are
  ~ParsedArgs() { std::destroy_n(int_lists, int_lists_made); }
  ParsedArgs(const ParsedArgs&) = delete;
  ParsedArgs& operator=(const ParsedArgs&) = delete;

  union {
    ops::Value values[kMaxParams];  // [0, count) are set
  };
  int count = 0;

  Tensor numbers[kMaxTemporaries];  // Python numbers in places of tensors
  int number_count = 0;
  static constexpr int kMostIntLists = 5;  // col2im
  union {
    Shape int_lists[kMostIntLists];  // made when they are asked for, which few calls do
  };
  int int_lists_made = 0;
  int int_list_count = 0;
  // The one behind those that are set.
  Shape& next_int_list() {
    MT_ASSERT(int_list_count < kMostIntLists);
    if (int_lists_made == int_list_count) std::construct_at(&int_lists[int_lists_made++]);
    return int_lists[int_list_count];
  }
  static constexpr int kMostTensorLists = 6;  // _fused_adam_
  std::vector<Tensor> tensor_lists[kMostTensorLists];
  int tensor_list_count = 0;
  std::vector<double> floats;
  bool pin_memory = false;  // of a factory
  bool requires_grad = false;
  // A tensor of one number is read where no signature takes the tensor: that may wait for a device.
  bool may_read_tensors = false;
  bool left_unread = false;
  bool reads_tensors() { return may_read_tensors || !(left_unread = true); }

  ops::Args args() const { return {values, static_cast<size_t>(count)}; }
  // True when some tensor is large enough that other threads should run meanwhile.
  bool is_large() const;
};

// One op, ready to parse Python arguments by its schema without looking at strings.
class Signature {
 public:
  Signature(const ops::Op& op, bool is_method);

  const ops::Op& op() const { return *op_; }
  // True when the arguments fit. Otherwise explain_arguments() finds out why; the Python error is
  // not set. Values that have the right type but cannot be used throw.
  bool parse(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, ParsedArgs& parsed) const;

 private:
  struct ParamInfo {
    ops::ArgType type;
    bool optional;
    bool keyword_only;
    bool has_default;
    int64_t list_size;
    PyObject* name;   // interned
    PyObject* alias;  // interned second name, or null
    ops::Value default_value;

    // int[2] stride=[]: None stands for it.
    bool has_empty_default() const {
      return has_default && default_value.kind() == ops::ValueKind::kIntList &&
             default_value.int_list().empty();
    }
  };

  bool convert(const ParamInfo& param,
               PyObject* object,
               ParsedArgs& parsed,
               ops::Value& value) const;
  int find_keyword(PyObject* name) const;
  bool lacks_tensor(const ParsedArgs& parsed) const {
    return MT_UNLIKELY(operands_ > 0 && parsed.number_count >= operands_);
  }
  // `with torch.device("meta"):` and set_default_device.
  void place_by_default(ParsedArgs& parsed) const;
  void read_default(const ops::Param& param, ParamInfo& info);

  const ops::Op* op_;
  std::vector<ParamInfo> params_;
  size_t positional_ = 0;          // how many may be given by position
  bool takes_loose_ints_ = false;  // zeros(2, 3), x.view(2, 3): a list of ints and nothing else
  bool takes_options_ = false;     // also layout=, pin_memory=, requires_grad=
  bool is_factory_ = false;
  // sum() and its like stand for two of torch's signatures; the one without `dim` has no `keepdim`.
  int dim_before_keepdim_ = -1;
  bool needs_dim_ = false;      // sum(out=) without `dim` is no signature of torch
  int operands_ = 0;            // numbers that make it none of torch's: eq(1, 2) has no tensor
  bool takes_no_list_ = false;  // block_diag(a, b), never block_diag([a, b])
  size_t device_param_ = 0;
  std::vector<std::unique_ptr<Shape>> default_lists_;
};

// What users call a parameter.
const char* keyword_of(const ops::Param& param);
// The names NumPy has for a parameter.
std::span<const char* const> second_names(std::string_view name);

// Conversions used outside the parser, too. Each returns false on a wrong type and throws on a bad
// value.
bool to_scalar(PyObject* object, Scalar& scalar);
// The Python number. Null with a Python error where there is no memory.
PyObject* wrap_scalar(const Scalar& scalar);
// The value of a tensor with one element.
Scalar read_item(const Tensor& tensor);
// A torch.dtype, or bool, int or float, which stand for theirs.
bool to_dtype_like(PyObject* object, DType& dtype);
bool to_int(PyObject* object, int64_t& value);
// An int in a list of sizes, where one that is too large is torch's TypeError.
bool to_int_entry(PyObject* object, int64_t& value, size_t position);
bool to_int_list(PyObject* object, Shape& list);

}  // namespace mindtorch::python
