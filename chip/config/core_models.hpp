// The names of core models, the values of `core.model`. Each has a maker in chip/core (core_model.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#define RUBATO_CORE_MODELS(X) X(inorder) X(window)
