#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/ascend/nnopbase/executor.h"

namespace sim {

// A tensor argument while planning; inside run(), the key to its View. Empty when the caller left
// an optional argument out.
struct Operand {
  int64_t slot = -1;
  const View* view = nullptr;  // shape and dtype

  explicit operator bool() const { return slot >= 0; }
  DType dtype() const { return view->dtype; }
  const Shape& shape() const { return view->shape; }
  int64_t rank() const { return view->rank(); }
  int64_t numel() const { return view->numel(); }
};

// What `plan` turns into a status and a text.
struct Rejected {
  aclnnStatus status;
  std::string text;
};

// Phase one of an op: names and checks the arguments, then says what to run. Each function throws
// Rejected, which names the argument.
class SIM_API Planner {
 public:
  Operand input(const aclTensor* tensor, const char* name, Types types);
  Operand optional(const aclTensor* tensor, const char* name, Types types);
  Operand output(const aclTensor* tensor, const char* name, Types types);
  Operand optional_output(const aclTensor* tensor, const char* name, Types types);
  Operand inout(const aclTensor* tensor, const char* name, Types types);
  // Without the hidden copy that a non-contiguous input otherwise gets.
  Operand strided_input(const aclTensor* tensor, const char* name, Types types);
  // One that may have the layout FRACTAL_NZ, which all others refuse. Not packed either: the op
  // says how many bytes its blocks take.
  Operand fractal_input(const aclTensor* tensor, const char* name, Types types);
  Operand fractal_output(const aclTensor* tensor, const char* name, Types types);
  void reads_bytes(const Operand& operand, int64_t bytes);
  void writes_bytes(const Operand& operand, int64_t bytes);
  std::vector<Operand> inputs(const aclTensorList* list, const char* name, Types types);
  std::vector<Operand> outputs(const aclTensorList* list, const char* name, Types types);
  std::vector<Operand> inouts(const aclTensorList* list, const char* name, Types types);

  const aclScalar& scalar(const aclScalar* scalar, const char* name);
  const std::vector<int64_t>& array(const aclIntArray* array, const char* name);
  const std::vector<char>& array(const aclBoolArray* array, const char* name);
  const std::vector<float>& array(const aclFloatArray* array, const char* name);
  std::string text(const char* text, const char* name);

  // 161002 with `text` unless `ok`.
  void check(bool ok, const std::string& text) const;
  void check_dtype(const Operand& operand, Types types) const;
  void check_shape(const Operand& operand, const Shape& expected) const;
  void check_rank(const Operand& operand, int64_t least, int64_t most) const;
  void check_cast(DType from, const Operand& to) const;
  std::string name(const Operand& operand) const;
  // In [0, rank); `rank` 0 counts as 1.
  int64_t dim(int64_t dim, int64_t rank, const char* name) const;
  Shape broadcast(const Shape& a, const Shape& b, const char* names) const;
  DType promoted(const Operand& a, const Operand& b) const;

  // Bytes of workspace for the body; returns where they start (Launch::workspace).
  uint64_t workspace(int64_t bytes);

  // What phase two puts on the stream. Without it the op does nothing.
  void run(std::function<void(Launch&)> body);

 private:
  friend aclnnStatus plan(const char*,
                          uint64_t*,
                          aclOpExecutor**,
                          const std::function<void(Planner&)>&);
  enum class Role { kInput, kOutput, kInout };
  Operand add(
      const aclTensor* tensor, const char* name, Types types, Role role, bool fractal = false);
  void pack(const Operand& operand);
  void remember(const void* object, const char* name);
  std::vector<Operand> members(const aclTensorList* list, const char* name, Types types, Role role);
  size_t next_parameter(Role role);

  Plan* plan_ = nullptr;
  size_t inputs_ = 0;
  size_t outputs_ = 0;
};

// Phase one: lets `describe` fill a plan and hands out its executor.
SIM_API aclnnStatus plan(const char* op,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor,
                         const std::function<void(Planner&)>& describe);

// Whether the simulated SoC computes in bfloat16.
SIM_API bool has_bfloat16();

inline const View& get(const Launch& launch, const Operand& operand) {
  return launch[static_cast<size_t>(operand.slot)];
}

}  // namespace sim
