// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/rubato.hpp"

/// From the next run on, however many CPUs there are; other options stay.
inline void use_workers(unsigned workers) {
  rubato::native::Options options = rubato::native::options();
  options.workers = workers;
  options.oversubscribe = true;
  rubato::native::configure(options);
}
