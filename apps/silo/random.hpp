// Random numbers as TPC-C wants them (clause 2.1.6): some customers and items are asked for more often.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "apps/silo/tables.hpp"
#include "base/rng.hpp"

namespace rubato::apps::silo {

/// Both ends are in it.
inline std::int64_t between(Rng& rng, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most - least + 1)));
}

/// NURand of 0 to `count` - 1, whose A is the power of two above `count` divided by `share`, less 1, and C a
/// third of it: with the specification's counts A is as specified.
inline std::uint32_t skewed(Rng& rng, std::uint32_t count, std::uint32_t share) {
  const std::uint32_t a = std::max(std::bit_ceil(count) / share, 1U) - 1;
  const auto either = static_cast<std::uint32_t>(rng.below(std::uint64_t{a} + 1) | rng.below(count));
  return (either + a / 3) % count;
}
inline std::uint32_t random_name(Rng& rng, const Scale& scale) { return skewed(rng, last_names(scale), 4); }
inline std::uint32_t random_customer(Rng& rng, const Scale& scale) {
  return skewed(rng, scale.customers, 4) + 1;
}
inline std::uint32_t random_item(Rng& rng, const Scale& scale) { return skewed(rng, scale.items, 16) + 1; }

}  // namespace rubato::apps::silo
