#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simulator/ascend/aclop/attributes.h"
#include "simulator/ascend/nnopbase/planner.h"
#include "simulator/ascend/runtime/tensor_desc.h"

namespace sim {

// What a program hands over when it calls an op by name.
struct NamedCall {
  const char* op;
  std::vector<const aclTensorDesc*> input_descs;
  std::vector<const aclDataBuffer*> inputs;
  std::vector<const aclTensorDesc*> output_descs;
  std::vector<const aclDataBuffer*> outputs;
  const aclopAttr* attributes;
};

// A call as the tables see it: tensors for phase one of the newer path, which live until the op is
// on the stream, and attributes by name. A tensor of the host's memory is copied at once. Each
// function throws Rejected.
class Arguments {
 public:
  explicit Arguments(const NamedCall& call) : call_(call) {}
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments();

  bool has_input(size_t i) const;
  Shape input_shape(size_t i) const { return desc(call_.input_descs, i, "input").dims; }
  Shape output_shape(size_t i) const { return desc(call_.output_descs, i, "output").dims; }
  DType input_dtype(size_t i) const { return desc(call_.input_descs, i, "input").dtype; }
  DType output_dtype(size_t i) const { return desc(call_.output_descs, i, "output").dtype; }

  aclTensor* input(size_t i);
  aclTensor* optional(size_t i) { return has_input(i) ? input(i) : nullptr; }
  aclTensor* output(size_t i);
  // Other shapes and strides over an input's or an output's elements.
  aclTensor* input_as(size_t i, const View& view, int64_t offset = 0);
  aclTensor* output_as(size_t i, const View& view);

  // The values of an input that lies in the host's memory.
  std::vector<double> host_values(size_t i) const;
  std::vector<int64_t> host_integers(size_t i) const;

  int64_t integer(const char* name, int64_t otherwise) const;
  double real(const char* name, double otherwise) const;
  std::string text(const char* name, const char* otherwise) const;
  std::vector<int64_t> integers(const char* name) const;

  aclScalar* scalar(double value, DType dtype);
  aclIntArray* array(const std::vector<int64_t>& values);

  // The tail of phase one.
  uint64_t* size() { return &workspace_size_; }
  aclOpExecutor** executor() { return &executor_; }
  aclOpExecutor* planned() const { return executor_; }
  std::shared_ptr<const Constants> constants() const { return constants_; }

 private:
  const aclTensorDesc& desc(const std::vector<const aclTensorDesc*>& descs,
                            size_t i,
                            const char* kind) const;
  aclTensor* tensor(const aclTensorDesc& desc,
                    const aclDataBuffer* buffer,
                    const Shape& shape,
                    const Shape& strides,
                    int64_t offset);
  template <class T>
  T* kept(T* object, aclnnStatus (*destroy)(const T*));

  const NamedCall& call_;
  std::shared_ptr<Constants> constants_ = std::make_shared<Constants>();
  std::vector<std::function<void()>> destroyers_;
  uint64_t workspace_size_ = 0;
  aclOpExecutor* executor_ = nullptr;
};

// One op of the older path: its name there, and phase one of what does it.
struct NamedOp {
  const char* name;
  aclnnStatus (*plan)(Arguments&);
};

// The names in the tables, one after the other; null after the last.
SIM_API const char* named_op(size_t index);

// Finds the op in the tables and puts it on the stream.
SIM_API aclError run_named(const NamedCall& call, aclrtStream stream);

}  // namespace sim
