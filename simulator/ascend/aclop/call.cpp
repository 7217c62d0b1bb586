#include "simulator/ascend/aclop/call.h"

#include <algorithm>
#include <cstring>

#include "simulator/ascend/aclop/tables.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/ops/elements.h"

namespace sim {
namespace {

// The elements where the host knows them.
const char* host_data(const aclTensorDesc& desc, const aclDataBuffer& buffer) {
  if (!desc.constant.empty()) return desc.constant.data();
  return desc.placement == ACL_MEMTYPE_DEVICE ? nullptr : static_cast<const char*>(buffer.data);
}

// Whether the elements lie as the description's shape says.
bool is_plain(const aclTensorDesc& desc) {
  switch (desc.storage_format) {
    case ACL_FORMAT_NC1HWC0:
    case ACL_FORMAT_FRACTAL_Z:
    case ACL_FORMAT_NC1HWC0_C04:
    case ACL_FORMAT_FRACTAL_NZ:
    case ACL_FORMAT_NDC1HWC0:
      return false;
    default:
      return true;
  }
}

void check_bytes(const aclTensorDesc& desc, const aclDataBuffer& buffer, const std::string& which) {
  const auto needed = static_cast<size_t>(count(desc.dims)) * item_bytes(desc.dtype);
  if (buffer.size >= needed) return;
  throw Rejected{kInvalid, which + " has a buffer of " + std::to_string(buffer.size) +
                               " bytes, its shape " + shape_text(desc.dims) + " takes " +
                               std::to_string(needed)};
}

}  // namespace

Arguments::~Arguments() {
  for (auto destroy = destroyers_.rbegin(); destroy != destroyers_.rend(); ++destroy) (*destroy)();
}

template <class T>
T* Arguments::kept(T* object, aclnnStatus (*destroy)(const T*)) {
  if (object == nullptr) throw Rejected{kInvalid, "an argument cannot be described"};
  destroyers_.emplace_back([object, destroy] { destroy(object); });
  return object;
}

const aclTensorDesc& Arguments::desc(const std::vector<const aclTensorDesc*>& descs,
                                     size_t i,
                                     const char* kind) const {
  if (i < descs.size() && descs[i] != nullptr) return *descs[i];
  throw Rejected{kInvalid, std::string(kind) + "[" + std::to_string(i) + "] is missing"};
}

bool Arguments::has_input(size_t i) const {
  return i < call_.input_descs.size() && call_.input_descs[i] != nullptr &&
         call_.input_descs[i]->dtype != ACL_DT_UNDEFINED;
}

aclTensor* Arguments::tensor(const aclTensorDesc& desc,
                             const aclDataBuffer* buffer,
                             const Shape& shape,
                             const Shape& strides,
                             int64_t offset) {
  if (buffer == nullptr) throw Rejected{kNullPointer, "a data buffer is null"};
  if (!is_plain(desc)) {
    throw Rejected{kInvalid, "a tensor has a format of the device's own, " +
                                 std::to_string(desc.storage_format) +
                                 ", which this op does not take"};
  }
  check_bytes(desc, *buffer, "a tensor");
  auto* const made = kept<aclTensor>(
      aclCreateTensor(shape.data(), shape.size(), desc.dtype, strides.data(), offset, ACL_FORMAT_ND,
                      desc.dims.data(), desc.dims.size(), buffer->data),
      [](const aclTensor* object) { return aclDestroyTensor(object); });
  if (const char* const data = host_data(desc, *buffer)) {
    std::vector<char>& bytes = (*constants_)[made];
    bytes.assign(data, data + static_cast<size_t>(count(desc.dims)) * item_bytes(desc.dtype));
    made->data = bytes.data();
  }
  return made;
}

aclTensor* Arguments::input_as(size_t i, const View& view, int64_t offset) {
  const aclTensorDesc& described = desc(call_.input_descs, i, "input");
  return tensor(described, call_.inputs[i], view.shape, view.strides, offset);
}
aclTensor* Arguments::output_as(size_t i, const View& view) {
  const aclTensorDesc& described = desc(call_.output_descs, i, "output");
  return tensor(described, call_.outputs[i], view.shape, view.strides, 0);
}
aclTensor* Arguments::input(size_t i) {
  return input_as(i, contiguous_view(nullptr, input_dtype(i), input_shape(i)));
}
aclTensor* Arguments::output(size_t i) {
  return output_as(i, contiguous_view(nullptr, output_dtype(i), output_shape(i)));
}

std::vector<double> Arguments::host_values(size_t i) const {
  const aclTensorDesc& described = desc(call_.input_descs, i, "input");
  const aclDataBuffer* const buffer = call_.inputs[i];
  if (buffer == nullptr) throw Rejected{kNullPointer, "a data buffer is null"};
  check_bytes(described, *buffer, "input[" + std::to_string(i) + "]");
  const char* const data = host_data(described, *buffer);
  std::vector<double> values(static_cast<size_t>(count(described.dims)));
  if (data == nullptr && !values.empty()) {
    throw Rejected{kInvalid, "input[" + std::to_string(i) +
                                 "] is not a constant, and other ones are not simulated here"};
  }
  load(contiguous_view(const_cast<char*>(data), described.dtype, described.dims), 0,
       static_cast<int64_t>(values.size()), values.data());
  return values;
}

std::vector<int64_t> Arguments::host_integers(size_t i) const {
  const std::vector<double> values = host_values(i);
  return {values.begin(), values.end()};
}

// The attribute, where it is there and of the kind.
template <class T>
static const T* find(const aclopAttr* attributes, const char* name) {
  if (attributes == nullptr) return nullptr;
  const auto found = attributes->values.find(name);
  return found == attributes->values.end() ? nullptr : std::get_if<T>(&found->second);
}

int64_t Arguments::integer(const char* name, int64_t otherwise) const {
  const auto* const value = find<int64_t>(call_.attributes, name);
  return value == nullptr ? otherwise : *value;
}
double Arguments::real(const char* name, double otherwise) const {
  if (const auto* const value = find<double>(call_.attributes, name)) return *value;
  const auto* const whole = find<int64_t>(call_.attributes, name);
  return whole == nullptr ? otherwise : static_cast<double>(*whole);
}
std::string Arguments::text(const char* name, const char* otherwise) const {
  const auto* const value = find<std::string>(call_.attributes, name);
  return value == nullptr ? otherwise : *value;
}
std::vector<int64_t> Arguments::integers(const char* name) const {
  const auto* const value = find<std::vector<int64_t>>(call_.attributes, name);
  return value == nullptr ? std::vector<int64_t>{} : *value;
}

aclScalar* Arguments::scalar(double value, DType dtype) {
  aclScalar made;
  const View view = contiguous_view(made.bytes.data(), dtype, {});
  store(view, 0, 1, &value);
  return kept<aclScalar>(aclCreateScalar(made.bytes.data(), dtype),
                         [](const aclScalar* object) { return aclDestroyScalar(object); });
}
aclIntArray* Arguments::array(const std::vector<int64_t>& values) {
  return kept<aclIntArray>(aclCreateIntArray(values.data(), values.size()),
                           [](const aclIntArray* object) { return aclDestroyIntArray(object); });
}

static const NamedOp* find_op(const char* name) {
  for (const std::span<const NamedOp> table : all_named_ops()) {
    for (const NamedOp& op : table) {
      if (std::strcmp(op.name, name) == 0) return &op;
    }
  }
  return nullptr;
}

const char* named_op(size_t index) {
  for (const std::span<const NamedOp> table : all_named_ops()) {
    if (index < table.size()) return table[index].name;
    index -= table.size();
  }
  return nullptr;
}

aclError run_named(const NamedCall& call, aclrtStream stream) {
  const NamedOp* const op = find_op(call.op);
  if (op == nullptr) {
    return fail(ACL_ERROR_OP_NOT_FOUND, std::string(call.op) + ": not simulated");
  }
  Arguments arguments(call);
  try {
    if (op->plan(arguments) != 0) return ACL_ERROR_GE_FAILURE;  // phase one has said why
  } catch (const Rejected& rejected) {
    return fail(ACL_ERROR_GE_FAILURE, std::string(call.op) + ": " + rejected.text);
  }
  return execute_as(lasting(call.op), arguments.planned(), arguments.constants(), stream);
}

}  // namespace sim
