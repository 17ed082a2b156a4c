// Checks of the sizes that workloads have as options.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <charconv>
#include <string>

namespace rubato::workloads {

/// Check of a power of two, for CommandLine::Option::check(). @returns the error, or nothing.
inline std::string power_of_two(const std::string& text) {
  unsigned long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && std::has_single_bit(value)) return {};
  return "'" + text + "' is no power of two";
}

}  // namespace rubato::workloads
