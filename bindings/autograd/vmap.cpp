// What torch.vmap and torch.func are made of.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <unordered_set>
#include <vector>

#include "bindings/interpreter/python_ref.h"
#include "bindings/tensor/py_tensor.h"
#include "mindtorch/autograd/autograd_meta.h"
#include "mindtorch/batching/batched.h"
#include "mindtorch/functional/functions.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using batching::Randomness;

const Tensor& to_tensor(nb::handle object) {
  return tensor_argument(object.ptr(), "vmap", "tensor");
}
nb::object to_object(Tensor tensor) { return nb::steal(wrap(std::move(tensor))); }

int64_t enter_vmap(int64_t batch_size, const std::string& randomness) {
  const Randomness mode = randomness == "same"        ? Randomness::kSame
                          : randomness == "different" ? Randomness::kDifferent
                                                      : Randomness::kError;
  return batching::enter_level({batch_size, mode});
}

// The samples of level `level` of a result, with their dim at `dim`.
nb::object remove_batch_dim(nb::handle object, int64_t dim, int64_t level) {
  const Tensor front = batching::with_batch_dim(to_tensor(object), level);
  return to_object(dim == 0 ? front : movedim(front, 0, dim));
}

// (value, batch dim, level), or None for an ordinary tensor.
nb::object batch_info(nb::handle object) {
  const Tensor& tensor = to_tensor(object);
  if (!batching::is_batched(tensor)) return nb::none();
  const batching::Batched& shown = batching::batched(tensor);
  return nb::make_tuple(to_object(shown.value), shown.dim, shown.level);
}

bool is_tracked(nb::handle object) {
  const Tensor* tensor = &to_tensor(object);
  while (batching::is_batched(*tensor)) tensor = &batching::batched(*tensor).value;
  return autograd::requires_grad(*tensor);
}

// Whether `outputs` were computed from leaves that require grad other than `leaves`: whether their
// gradients can be differentiated in turn.
bool reaches_other_leaves(nb::sequence outputs, nb::sequence leaves) {
  std::unordered_set<const autograd::Node*> seen;
  for (const nb::handle leaf : leaves) {
    const Tensor& tensor = to_tensor(leaf);
    if (autograd::is_leaf(tensor)) seen.insert(autograd::gradient_edge(tensor).node.get());
  }
  std::vector<const autograd::Node*> open;
  const auto visit = [&](const autograd::Edge& edge) {
    if (edge && seen.insert(edge.node.get()).second) open.push_back(edge.node.get());
  };
  for (const nb::handle output : outputs) {
    const Tensor& tensor = to_tensor(output);
    if (autograd::requires_grad(tensor)) visit(autograd::gradient_edge(tensor));
  }
  while (!open.empty()) {
    const autograd::Node* const node = open.back();
    open.pop_back();
    if (node->sequence == autograd::Node::kRunFirst) return true;
    for (const autograd::Edge& edge : node->next) visit(edge);
  }
  return false;
}

}  // namespace

void bind_vmap(nb::module_& module) {
  module.def("_enter_vmap", &enter_vmap, nb::arg("batch_size"), nb::arg("randomness"),
             "Starts a vmap on this thread; its level.");
  module.def("_leave_vmap", &batching::leave_level);
  module.def(
      "_vmap_randomness",
      [](int64_t level) {
        switch (batching::levels().at(static_cast<size_t>(level) - 1).randomness) {
          case Randomness::kSame:
            return "same";
          case Randomness::kDifferent:
            return "different";
          case Randomness::kError:
            break;
        }
        return "error";
      },
      nb::arg("level"));
  module.def("_vmap_level", &batching::current_level, "How many vmaps this thread is in.");
  module.def(
      "_add_batch_dim",
      [](nb::handle tensor, int64_t dim, int64_t level) {
        return to_object(batching::make_batched(to_tensor(tensor), dim, level));
      },
      nb::arg("tensor"), nb::arg("dim"), nb::arg("level"));
  module.def("_remove_batch_dim", &remove_batch_dim, nb::arg("tensor"), nb::arg("dim"),
             nb::arg("level"));
  module.def("_batch_info", &batch_info, nb::arg("tensor"),
             "(value, batch dim, level) of a batched tensor, else None.");
  module.def(
      "_to_physical",
      [](nb::handle tensor, int64_t level) {
        return to_object(batching::to_physical(to_tensor(tensor), level));
      },
      nb::arg("tensor"), nb::arg("level"));
  module.def(
      "_from_physical",
      [](nb::handle tensor, int64_t level) {
        return to_object(batching::from_physical(to_tensor(tensor), level));
      },
      nb::arg("tensor"), nb::arg("level"));
  module.def("_is_tracked", &is_tracked, nb::arg("tensor"),
             "Whether the ordinary tensor behind a tensor requires grad.");
  module.def("_reaches_other_leaves", &reaches_other_leaves, nb::arg("outputs"), nb::arg("leaves"));
}

}  // namespace mindtorch::python
