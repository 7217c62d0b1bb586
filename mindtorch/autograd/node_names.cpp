#include "mindtorch/autograd/node_names.h"

#include <cctype>
#include <string_view>

namespace mindtorch::autograd {

std::string node_name(const ops::Op& op, bool second_is_number) {
  const ops::Op& base = op.base != nullptr ? *op.base : op;
  std::string_view name = base.schema.name;
  while (name.ends_with('_')) name.remove_suffix(1);
  std::string made;
  bool capital = true;
  for (const char c : name) {
    if (c == '_') {
      capital = true;
      continue;
    }
    made += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    capital = false;
  }
  return made + (name == "pow" && !second_is_number ? "Backward1" : "Backward0");
}

}  // namespace mindtorch::autograd
