#include "mindtorch/base/error.h"

#include <sstream>
#include <utility>

namespace mindtorch::detail {

void write_characters(std::ostream& stream, const void* characters) {
  stream << static_cast<const char*>(characters);
}

std::string join(std::initializer_list<TextPart> parts) {
  std::ostringstream text;
  for (const TextPart& part : parts) part.write(text, part.value);
  return std::move(text).str();
}

void assertion_failed(const char* condition, const char* file, int line) {
  MT_THROW(RuntimeError, "mindtorch internal error: ", condition, " is false at ", file, ":", line,
           ". This is a bug in mindtorch; please report it.");
}

}  // namespace mindtorch::detail
