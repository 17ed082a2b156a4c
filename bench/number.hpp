// Numbers among the words of a benchmark's command line.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

/// The number that all of `text` is; nothing: it is none from `least` to `most`.
template <class N>
std::optional<N> number(std::string_view text, N least, N most) {
  N value{};
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || behind != end || !(value >= least && value <= most)) return std::nullopt;
  return value;
}
