// Numbers of the text protocol.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace rubato::cached {

/// True if the whole word is a number of that type.
template <class N>
bool to_number(std::string_view word, N& value) {
  if (!word.empty() && word[0] == '+') word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size() && !word.empty();
}

}  // namespace rubato::cached
