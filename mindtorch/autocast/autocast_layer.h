#pragma once

namespace mindtorch::autocast {

// The layer that casts as the ops' definitions say. Once, from library.cpp.
void install();

}  // namespace mindtorch::autocast
