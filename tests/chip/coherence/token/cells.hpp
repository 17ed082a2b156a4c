// Cells of the tables of docs/coherence.md that an exploration has entered: rule, message, and tokens there.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "chip/coherence/token/token_message.hpp"

namespace rubato::chip {

class Cells {
 public:
  /// `node` has `held` of `all` tokens when a message or event comes.
  void enter(std::string_view node, std::string_view event, const Tokens& held, std::uint32_t all) {
    entered_.insert(name(node, event, held, all));
  }
  bool has(std::string_view node, std::string_view event, const Tokens& held, std::uint32_t all) const {
    return entered_.count(name(node, event, held, all)) != 0;
  }
  void add(const Cells& more) { entered_.insert(more.entered_.begin(), more.entered_.end()); }

  /// The tables' columns.
  static constexpr Tokens kNone{}, kSome{.count = 2}, kOwner{.count = 2, .owner = true};
  static Tokens every(std::uint32_t all) { return {.count = static_cast<std::uint16_t>(all), .owner = true}; }
  static std::string name(std::string_view node, std::string_view event, const Tokens& held,
                          std::uint32_t all) {
    return std::string(node) + ": " + std::string(event) + ", " +
           (held.count == 0     ? "no token"
            : held.count == all ? "T"
            : held.owner        ? "t with the owner's"
                                : "t");
  }

 private:
  std::set<std::string, std::less<>> entered_;
};

}  // namespace rubato::chip
