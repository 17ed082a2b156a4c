// The text of FILE.meta: it says that the items in FILE are whole, and what else belongs to them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cached/core/engine.hpp"

namespace rubato::cached {

struct Meta {
  std::uint64_t id = 0;      ///< of this stop: the items of another one do not verify
  std::uint64_t items = 0;   ///< in the file
  std::uint64_t length = 0;  ///< of the file, in bytes
  std::int64_t stopped = 0;  ///< by the wall clock, in seconds
  std::uint32_t clock = 0;   ///< the cache's clock at that moment
  KeptState state;
};

/// A text is ours and can be used, or the reason why not.
enum class MetaKind : std::uint8_t { whole, damaged, other_format, memcached, foreign };

std::string meta_text(const Meta& meta);
/// Fills `meta` if the text is `whole`.
MetaKind read_meta(std::string_view text, Meta& meta);

}  // namespace rubato::cached
