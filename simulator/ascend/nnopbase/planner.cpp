#include "simulator/ascend/nnopbase/planner.h"

#include <algorithm>
#include <cstring>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/quick.h"
#include "simulator/ascend/nnopbase/plan_cache.h"

namespace sim {
namespace {

constexpr int64_t kMaxRank = 8;
constexpr uint64_t kWorkspaceAlignment = 512;

// Whether elements lie in another order than the shape says.
bool is_private(aclFormat format) {
  switch (format) {
    case ACL_FORMAT_NC1HWC0:
    case ACL_FORMAT_FRACTAL_Z:
    case ACL_FORMAT_NC1HWC0_C04:
    case ACL_FORMAT_FRACTAL_NZ:
    case ACL_FORMAT_NDC1HWC0:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool has_bfloat16() {
  const char* const soc = aclrtGetSocName();
  if (soc == nullptr) return true;
  const std::string name = soc;
  for (const char* const old :
       {"Ascend910A", "Ascend910ProA", "Ascend910PremiumA", "Ascend910ProB"}) {
    if (name == old) return false;
  }
  return name != "Ascend910B" && name.rfind("Ascend310", 0) != 0;
}

void Planner::remember(const void* object, const char* name) {
  const uint64_t id = object_id(object);
  if (id == 0) check(false, std::string(name) + " was destroyed before");
  plan_->objects.emplace_back(object, id);
  plan_->object_names.push_back(name);
}

size_t Planner::next_parameter(Role role) {
  const size_t parameter = role == Role::kOutput ? outputs_ : inputs_;
  if (role != Role::kOutput) ++inputs_;
  if (role != Role::kInput) ++outputs_;
  return parameter;
}

// Whether the tensor has a number of elements, and lies at places, that a device may have.
static bool fits(const aclTensor& tensor) {
  int64_t reach = 0;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    int64_t part = 0;
    if (tensor.shape[i] > 0 &&
        __builtin_mul_overflow(tensor.strides[i], tensor.shape[i] - 1, &part)) {
      return false;
    }
    if (part <= -kMostElements || part >= kMostElements) return false;
    reach += part < 0 ? -part : part;
  }
  return reach < kMostElements && tensor.offset > -kMostElements && tensor.offset < kMostElements &&
         count(tensor.shape) < kMostElements;
}

static std::string dtype_flaw(DType dtype, Types types) {
  return " has dtype " + std::string(dtype_name(dtype)) + ", supported are " + type_names(types);
}

// What is wrong with the tensor as an argument, or nothing.
static std::string flaw_of(const aclTensor& tensor, Types types, bool fractal) {
  if (!fractal && is_private(tensor.format)) {
    return " has a format of the device's own, " + std::to_string(tensor.format) +
           ", which this op does not take";
  }
  if (!contains(types, tensor.dtype)) return dtype_flaw(tensor.dtype, types);
  if (tensor.dtype == ACL_BF16 && !has_bfloat16()) {
    return " has dtype BFLOAT16, which this SoC does not support";
  }
  if (tensor.shape.size() > kMaxRank) {
    return " has " + std::to_string(tensor.shape.size()) + " dimensions, more than 8";
  }
  if (!fits(tensor)) return " reaches beyond the memory of any device";
  return {};
}

Operand Planner::add(
    const aclTensor* tensor, const char* literal, Types types, Role role, bool fractal) {
  if (tensor == nullptr) throw Rejected{kNullPointer, std::string(literal) + " is null"};
  remember(tensor, literal);
  if (const std::string flaw = flaw_of(*tensor, types, fractal); !flaw.empty()) {
    throw Rejected{kInvalid, literal + flaw};
  }
  Slot slot;
  slot.view = View{nullptr, tensor->dtype, tensor->shape, tensor->strides};
  slot.tensor = tensor;
  slot.name = literal;
  slot.read = role != Role::kOutput;
  slot.write = role != Role::kInput;
  slot.byte_offset = slot.nibbles() ? tensor->offset >> 1 : tensor->offset * slot.view.item();
  slot.nibble = slot.nibbles() ? tensor->offset & 1 : 0;
  slot.empty = slot.view.numel() == 0;
  if (slot.nibbles() && !fractal) {
    slot.packed_at = static_cast<int64_t>(workspace(slot.view.numel()));
  }
  plan_->slots.push_back(std::move(slot));
  return {static_cast<int64_t>(plan_->slots.size()) - 1, &plan_->slots.back().view};
}

void Planner::pack(const Operand& operand) {
  if (operand.view->contiguous() || operand.dtype() == ACL_INT4) return;
  const int64_t bytes = operand.numel() * operand.view->item();
  plan_->slots[static_cast<size_t>(operand.slot)].packed_at =
      static_cast<int64_t>(workspace(bytes));
}

Operand Planner::input(const aclTensor* tensor, const char* name, Types types) {
  const Operand operand = strided_input(tensor, name, types);
  pack(operand);
  return operand;
}

Operand Planner::strided_input(const aclTensor* tensor, const char* name, Types types) {
  const Operand operand = add(tensor, name, types, Role::kInput);
  plan_->slots.back().parameter = next_parameter(Role::kInput);
  return operand;
}

Operand Planner::fractal_input(const aclTensor* tensor, const char* name, Types types) {
  const Operand operand = add(tensor, name, types, Role::kInput, true);
  plan_->slots.back().parameter = next_parameter(Role::kInput);
  return operand;
}

Operand Planner::fractal_output(const aclTensor* tensor, const char* name, Types types) {
  const Operand operand = add(tensor, name, types, Role::kOutput, true);
  plan_->slots.back().parameter = next_parameter(Role::kOutput);
  return operand;
}

void Planner::reads_bytes(const Operand& operand, int64_t bytes) {
  plan_->slots[static_cast<size_t>(operand.slot)].read_bytes = bytes;
}
void Planner::writes_bytes(const Operand& operand, int64_t bytes) {
  plan_->slots[static_cast<size_t>(operand.slot)].write_bytes = bytes;
}

Operand Planner::optional(const aclTensor* tensor, const char* name, Types types) {
  if (tensor != nullptr) return input(tensor, name, types);
  next_parameter(Role::kInput);
  return {};
}

Operand Planner::output(const aclTensor* tensor, const char* name, Types types) {
  const Operand operand = add(tensor, name, types, Role::kOutput);
  plan_->slots.back().parameter = next_parameter(Role::kOutput);
  return operand;
}

Operand Planner::optional_output(const aclTensor* tensor, const char* name, Types types) {
  if (tensor != nullptr) return output(tensor, name, types);
  next_parameter(Role::kOutput);
  return {};
}

Operand Planner::inout(const aclTensor* tensor, const char* name, Types types) {
  const Operand operand = add(tensor, name, types, Role::kInout);
  plan_->slots.back().parameter = next_parameter(Role::kInout);
  return operand;
}

std::vector<Operand> Planner::members(const aclTensorList* list,
                                      const char* name,
                                      Types types,
                                      Role role) {
  if (list == nullptr) throw Rejected{kNullPointer, std::string(name) + " is null"};
  remember(list, name);
  const size_t parameter = next_parameter(role);
  std::vector<Operand> operands;
  for (size_t i = 0; i < list->tensors.size(); ++i) {
    const char* const member = lasting(std::string(name) + "[" + std::to_string(i) + "]");
    operands.push_back(add(list->tensors[i], member, types, role));
    plan_->slots.back().parameter = parameter;
    plan_->slots.back().member = i;
    if (role == Role::kInput) pack(operands.back());
  }
  return operands;
}

std::vector<Operand> Planner::inputs(const aclTensorList* list, const char* name, Types types) {
  return members(list, name, types, Role::kInput);
}
std::vector<Operand> Planner::outputs(const aclTensorList* list, const char* name, Types types) {
  return members(list, name, types, Role::kOutput);
}
std::vector<Operand> Planner::inouts(const aclTensorList* list, const char* name, Types types) {
  return members(list, name, types, Role::kInout);
}

const aclScalar& Planner::scalar(const aclScalar* scalar, const char* name) {
  if (scalar == nullptr) throw Rejected{kNullPointer, std::string(name) + " is null"};
  remember(scalar, name);
  return *scalar;
}

const std::vector<int64_t>& Planner::array(const aclIntArray* array, const char* name) {
  if (array == nullptr) throw Rejected{kNullPointer, std::string(name) + " is null"};
  remember(array, name);
  return array->values;
}

const std::vector<char>& Planner::array(const aclBoolArray* array, const char* name) {
  if (array == nullptr) throw Rejected{kNullPointer, std::string(name) + " is null"};
  remember(array, name);
  return array->values;
}

const std::vector<float>& Planner::array(const aclFloatArray* array, const char* name) {
  if (array == nullptr) throw Rejected{kNullPointer, std::string(name) + " is null"};
  remember(array, name);
  return array->values;
}

std::string Planner::text(const char* text, const char* name) {
  if (text == nullptr) throw Rejected{kNullPointer, std::string(name) + " is null"};
  return text;
}

void Planner::check(bool ok, const std::string& text) const {
  if (!ok) throw Rejected{kInvalid, text};
}

std::string Planner::name(const Operand& operand) const {
  return plan_->slots[static_cast<size_t>(operand.slot)].name;
}

void Planner::check_dtype(const Operand& operand, Types types) const {
  if (contains(types, operand.dtype())) return;
  throw Rejected{kInvalid, name(operand) + dtype_flaw(operand.dtype(), types)};
}

void Planner::check_shape(const Operand& operand, const Shape& expected) const {
  if (operand.shape() == expected) return;
  throw Rejected{kInvalid, name(operand) + " has shape " + shape_text(operand.shape()) +
                               ", expected is " + shape_text(expected)};
}

void Planner::check_rank(const Operand& operand, int64_t least, int64_t most) const {
  if (operand.rank() >= least && operand.rank() <= most) return;
  throw Rejected{kInvalid, name(operand) + " has " + std::to_string(operand.rank()) +
                               " dimensions, expected are " + std::to_string(least) +
                               (least == most ? "" : " to " + std::to_string(most))};
}

void Planner::check_cast(DType from, const Operand& to) const {
  if (castable(from, to.dtype())) return;
  check(false, name(to) + ": the result's dtype " + dtype_name(from) +
                   " can't be cast to the desired output type " + dtype_name(to.dtype()));
}

int64_t Planner::dim(int64_t dim, int64_t rank, const char* name) const {
  const int64_t limit = std::max<int64_t>(rank, 1);
  check(dim >= -limit && dim < limit, std::string(name) + " is " + std::to_string(dim) +
                                          ", expected is a value in [" + std::to_string(-limit) +
                                          ", " + std::to_string(limit - 1) + "]");
  return dim < 0 ? dim + limit : dim;
}

Shape Planner::broadcast(const Shape& a, const Shape& b, const char* names) const {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      check(false, std::string(names) + " have shapes " + shape_text(a) + " and " + shape_text(b) +
                       ", which do not broadcast");
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

DType Planner::promoted(const Operand& a, const Operand& b) const {
  const DType dtype = promote(a.dtype(), b.dtype());
  check(dtype != ACL_DT_UNDEFINED, name(a) + " and " + name(b) + " have dtypes " +
                                       dtype_name(a.dtype()) + " and " + dtype_name(b.dtype()) +
                                       ", which do not promote");
  return dtype;
}

uint64_t Planner::workspace(int64_t bytes) {
  check(bytes < 16 * kMostElements, "the workspace would be larger than any device's memory");
  const uint64_t at = plan_->workspace_bytes;
  const uint64_t rounded =
      (static_cast<uint64_t>(std::max<int64_t>(bytes, 1)) + kWorkspaceAlignment - 1) /
      kWorkspaceAlignment * kWorkspaceAlignment;
  plan_->workspace_bytes += rounded;
  return at;
}

void Planner::run(std::function<void(Launch&)> body) { plan_->body = std::move(body); }

aclnnStatus plan(const char* op,
                 uint64_t* workspace_size,
                 aclOpExecutor** executor,
                 const std::function<void(Planner&)>& describe) {
  const HostTime time(modes.phase_one_ns);
  const char* name = op;
  if (!quick()) {  // nobody reads the whole name otherwise, but for errors
    name = lasting(std::string(op) + "GetWorkspaceSize");
  }
  if (const aclError error = enter_call(name)) return error;
  const auto refuse = [&](aclnnStatus status, const std::string& text) {
    set_current_function(lasting(std::string(op) + "GetWorkspaceSize"));
    return fail(status, text);
  };
  auto planned = std::make_shared<Plan>();
  planned->name = op;
  Planner planner;
  planner.plan_ = planned.get();
  try {
    describe(planner);
  } catch (const Rejected& rejected) {
    return refuse(rejected.status, rejected.text);
  }
  if (workspace_size == nullptr || executor == nullptr) {
    return refuse(kNullPointer, "workspaceSize or executor is null");
  }
  if (!planned->body) {  // nothing to do: the copies of inputs are not needed either
    planned->workspace_bytes = 0;
    for (Slot& slot : planned->slots) slot.packed_at = -1;
  }
  if (has_key()) offer(planned);
  *workspace_size = planned->workspace_bytes;
  *executor = make_executor(std::move(planned));
  return 0;
}

}  // namespace sim
