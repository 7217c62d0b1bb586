#include "mindtorch/functional/composites.h"

namespace mindtorch::functional {

void register_composites(ops::Registry& registry) { compose_copy(registry); }

}  // namespace mindtorch::functional
