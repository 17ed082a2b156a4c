// Indexes of crates.io, from the library that bench/peers/indexes is built into. Opened when asked for.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "bench/indexes/contestant.hpp"

namespace indexes {

/// `name`: scc or congee. @returns null if the library has no such index; @throws std::runtime_error if there
/// is no such library.
std::unique_ptr<Contestant> make_of_crate(const std::string& library, const std::string& name);

}  // namespace indexes
