// SPDX-License-Identifier: MIT
#include "cached/statistics/prefixes.hpp"

#include <fmt/format.h>

namespace rubato::cached {

std::string PrefixCounts::dump() {
  std::string text;
  std::lock_guard guard(mutex_);
  for (const auto& [prefix, counts] : prefixes_)
    text += fmt::format("PREFIX {} get {} hit {} set {} del {}\r\n", prefix, counts.gets, counts.hits,
                        counts.sets, counts.deletes);
  return text;
}

}  // namespace rubato::cached
