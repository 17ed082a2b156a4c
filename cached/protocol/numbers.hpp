// Numbers of the text protocol.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string_view>

namespace rubato::cached {

/// True if the word is a finite number of that type; white space and one sign may be before it, and anything
/// after white space behind it. Words are separated by spaces alone, so a lone carriage return is such white
/// space.
template <class N>
bool to_number(std::string_view word, N& value) {
  const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!word.empty() && space(word[0])) word.remove_prefix(1);
  if (word.starts_with("+-")) return false;
  if (word.starts_with('+')) word.remove_prefix(1);
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, value);
  if constexpr (std::floating_point<N>) {
    if (error == std::errc{} && !std::isfinite(value)) return false;
  }
  return error == std::errc{} && end != word.data() && (end == last || space(*end));
}

/// Bytes of the longest value that a command may announce: more than any item has, and with the end of its
/// line no more than memcached counts. The data behind a longer one is not skipped, so it would be read as
/// commands.
constexpr std::uint32_t kLongestValue = 0x7fffffff - 2;

/// Client flags and times: of a number of up to 64 bits the lower 32, as memcached takes them.
inline bool to_flags(std::string_view word, std::uint32_t& flags) {
  std::uint64_t number = 0;
  if (!to_number(word, number)) return false;
  flags = static_cast<std::uint32_t>(number);
  return true;
}
inline bool to_time(std::string_view word, std::int32_t& time) {
  std::int64_t number = 0;
  if (!to_number(word, number)) return false;
  time = static_cast<std::int32_t>(number);
  return true;
}

}  // namespace rubato::cached
