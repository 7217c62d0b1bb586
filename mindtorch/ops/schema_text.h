#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mindtorch/base/macros.h"

namespace mindtorch::ops {

// The parts of a schema in torch's language, whatever its types are:
//   ns::add.Tensor(Tensor(a!) self, int[2]? size=None, *, str mode='x') -> (Tensor(a!), Tensor y)
struct SchemaText {
  struct Item {
    std::string type;   // "int"
    std::string tail;   // "[]?", without the sizes of lists
    std::string alias;  // "a!"; empty: none
    std::string name;   // of a result, perhaps empty
    std::string default_text;
    int64_t list_size = 0;
    size_t end = 0;  // of its type, in the text
    bool has_default = false;
    bool keyword_only = false;
  };

  std::string name;
  std::string overload;
  std::vector<Item> params;
  std::vector<Item> returns;

  // Throws RuntimeError on a malformed text.
  MT_API static SchemaText parse(std::string_view text);
};

}  // namespace mindtorch::ops
