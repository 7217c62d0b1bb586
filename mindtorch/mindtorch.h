#pragma once

// All a program needs: tensors, every op as a function and a method, operators.
#include "mindtorch/functional/functions.h"
#include "mindtorch/functional/operators.h"
#include "mindtorch/tensor/tensor.h"
