// SPDX-License-Identifier: MIT
#include "library.hpp"

bool is_true = true;
