// What Python tools ask the op registry: names, places in the sources, schemas.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings/tensor/device_names.h"
#include "bindings/tensor/py_types.h"
#include "mindtorch/ops/formulas.h"
#include "mindtorch/ops/registry.h"
#include "mindtorch/ops/schema_text.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

nb::str text(std::string_view value) { return nb::str(value.data(), value.size()); }

nb::list all_op_names() {
  nb::list names;
  for (const ops::Op& op : ops::registry().ops()) names.append(op.schema.full_name());
  return names;
}

nb::list op_locations(const std::string& name) {
  nb::list rows;
  const auto add = [&](const ops::Op& op, const char* what, nb::object device, Location location) {
    nb::dict row;
    row["op"] = op.schema.full_name();
    row["schema"] = op.schema.str();
    row["what"] = what;
    row["device"] = device;
    row["file"] = location.file;
    row["line"] = location.line;
    rows.append(row);
  };
  for (const ops::Op& op : ops::registry().ops()) {
    if (op.schema.name != name && op.schema.full_name() != name) continue;
    add(op, "definition", nb::none(), op.location);
    if (op.composite != nullptr) add(op, "composite", nb::none(), op.composite_location);
    if (op.fallback != nullptr) add(op, "fallback", nb::none(), op.composite_location);
    const ops::Op& base = op.base != nullptr ? *op.base : op;
    for (int i = 0; i < kDeviceTypeCount; ++i) {
      const auto type = static_cast<DeviceType>(i);
      const ops::Kernel& kernel = base.kernels[i];
      const bool engine =
          base.kind == ops::OpKind::kPointwise && ops::registry().pointwise_engine(type) != nullptr;
      if (!kernel && !engine) continue;
      add(op, "kernel", text(mindtorch::name(type)),
          kernel ? kernel.location : ops::registry().pointwise_location(type));
    }
  }
  return rows;
}

bool kernel_takes(const std::string& name, const std::string& kind, nb::handle dtype) {
  const DeviceType type = parse_device(kind).type;
  const ops::Kernel& kernel = ops::registry().at(name).kernel(type);
  return type == DeviceType::kMeta || (kernel && contains(kernel.takes, to_dtype(dtype.ptr())));
}

const char* type_name(ops::ArgType type) {
  using ops::ArgType;
  switch (type) {
    case ArgType::kTensor:
      return "Tensor";
    case ArgType::kOperand:
      return "Operand";
    case ArgType::kTensorList:
      return "Tensor[]";
    case ArgType::kOptionalTensorList:
      return "Tensor?[]";
    case ArgType::kScalar:
      return "Scalar";
    case ArgType::kInt:
      return "int";
    case ArgType::kFloat:
      return "float";
    case ArgType::kBool:
      return "bool";
    case ArgType::kIntList:
      return "int[]";
    case ArgType::kFloatList:
      return "float[]";
    case ArgType::kDType:
      return "ScalarType";
    case ArgType::kDevice:
      return "Device";
    case ArgType::kMemoryFormat:
      return "MemoryFormat";
    case ArgType::kString:
      return "str";
    case ArgType::kGenerator:
      return "Generator";
  }
  return "?";
}

const char* type_name(ops::ReturnType type) {
  using ops::ReturnType;
  switch (type) {
    case ReturnType::kTensor:
      return "Tensor";
    case ReturnType::kTensorList:
      return "Tensor[]";
    case ReturnType::kScalar:
      return "Scalar";
    case ReturnType::kInt:
      return "int";
    case ReturnType::kBool:
      return "bool";
    case ReturnType::kFloat:
      return "float";
    case ReturnType::kNothing:
      return "None";
  }
  return "?";
}

nb::list params(const ops::Schema& schema) {
  nb::list result;
  for (const ops::Param& param : schema.params) {
    nb::dict entry;
    entry["name"] = param.name;
    entry["type"] = param.list_size < 0 ? "Scalar[]" : type_name(param.type);
    entry["optional"] = param.optional;
    entry["keyword_only"] = param.keyword_only;
    entry["list_size"] = param.list_size;
    entry["default"] = param.has_default ? nb::object(text(param.default_text)) : nb::none();
    result.append(entry);
  }
  return result;
}

// The kinds of device that can run it: a kernel, a pointwise engine, or nothing needed.
nb::list devices(const ops::Op& op) {
  nb::list result;
  const ops::Op& base = op.base != nullptr ? *op.base : op;
  for (int i = 0; i < kDeviceTypeCount; ++i) {
    const auto type = static_cast<DeviceType>(i);
    const bool engine =
        base.kind == ops::OpKind::kPointwise && ops::registry().pointwise_engine(type) != nullptr;
    if (base.kernels[i] || engine) result.append(text(mindtorch::name(type)));
  }
  return result;
}

const char* kind_name(const ops::Op& op) {
  switch (op.kind) {
    case ops::OpKind::kKernel:
      return "kernel";
    case ops::OpKind::kPointwise:
      return "pointwise";
    case ops::OpKind::kView:
      return "view";
    case ops::OpKind::kMutation:
      return "mutation";
    case ops::OpKind::kDynamic:
      return "dynamic";
    case ops::OpKind::kComposite:
      return "composite";
  }
  return "?";
}

nb::list op_schemas() {
  constexpr const char* kForms[] = {"primary", "inplace", "out", "functional"};
  nb::list rows;
  for (const ops::Op& op : ops::registry().ops()) {
    const ops::Op& base = op.base != nullptr ? *op.base : op;
    nb::dict row;
    row["name"] = op.schema.name;
    row["full_name"] = op.schema.full_name();
    row["schema"] = op.schema.str();
    row["form"] = kForms[static_cast<int>(op.form)];
    row["base"] = base.schema.full_name();
    row["kind"] = kind_name(base);
    row["file"] = base.location.file;
    row["function"] = (op.python_place & ops::kFunction) != 0;
    row["method"] = (op.python_place & ops::kMethod) != 0;
    row["nn"] = (op.python_place & ops::kNnFunction) != 0;
    row["params"] = params(op.schema);
    nb::list returns;
    for (const ops::Return& result : op.schema.returns) {
      returns.append(nb::make_tuple(result.name, type_name(result.type)));
    }
    row["returns"] = returns;
    nb::list aliases;
    for (const std::string& alias : op.aliases) aliases.append(alias);
    row["aliases"] = aliases;
    row["devices"] = devices(op);
    row["doc"] = base.doc;
    row["example"] = base.example;
    row["device_example"] = op.device_example;
    rows.append(row);
  }
  return rows;
}

nb::list parts(const std::vector<ops::SchemaText::Item>& items) {
  nb::list rows;
  for (const ops::SchemaText::Item& item : items) {
    std::string tail = item.tail;
    if (item.list_size != 0) tail.insert(tail.find(']'), std::to_string(item.list_size));
    nb::object fallback = item.has_default ? nb::object(text(item.default_text)) : nb::none();
    rows.append(nb::make_tuple(text(item.type + tail), text(item.alias), text(item.name), fallback,
                               item.keyword_only));
  }
  return rows;
}

// Types, what they may share memory with, names, defaults, and whether they are given by name.
nb::tuple parse_schema(const std::string& schema) {
  const ops::SchemaText found = ops::SchemaText::parse(schema);
  return nb::make_tuple(text(found.name), text(found.overload), parts(found.params),
                        parts(found.returns));
}

// The built-in functions of numbers that pointwise ops apply.
nb::list pointwise_functions() {
  nb::list rows;
  for (int i = 0; i < ops::kPointwiseCount; ++i) {
    const auto function = static_cast<ops::Pointwise>(i);
    const ops::FunctionInfo& info = ops::function_info(function);
    nb::dict row;
    row["name"] = info.name;
    nb::list dtypes;
    for (int k = 0; k < kDTypeCount; ++k) {
      const auto dtype = static_cast<DType>(k);
      if (contains(info.dtypes, dtype)) dtypes.append(text(mindtorch::name(dtype)));
    }
    row["dtypes"] = dtypes;
    row["formula"] = ops::value_formula(function);
    nb::list gradients;
    for (int k = 0; k < info.arity; ++k) gradients.append(ops::gradient_formula(function, k));
    row["gradients"] = gradients;
    rows.append(row);
  }
  return rows;
}

}  // namespace

void bind_registry_queries(nb::module_& module) {
  module.def("_all_op_names", &all_op_names, "The full names of all ops.");
  module.def("_op_locations", &op_locations, nb::arg("name"),
             "Where an op's definition and kernels are in the sources.");
  module.def("_kernel_takes", &kernel_takes, nb::arg("op"), nb::arg("kind"), nb::arg("dtype"),
             "Whether a kind of device has a kernel of an op that takes a dtype.");
  module.def("_op_schemas", &op_schemas, "All that is known of every op, for tools.");
  module.def("_parse_schema", &parse_schema, nb::arg("schema"),
             "(name, overload, arguments, results) of a schema in torch's language.");
  module.def("_pointwise_functions", &pointwise_functions,
             "The functions that pointwise ops apply: dtypes, formulas, gradients.");
}

}  // namespace mindtorch::python
