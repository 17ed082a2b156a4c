// The block of Zicbom, Zicbop and Zicboz: one line of the caches, as a value that an access can have.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip::isa {

struct CacheBlock {
  std::uint64_t words[8];
};
static_assert(sizeof(CacheBlock) == 64);

}  // namespace rubato::chip::isa
