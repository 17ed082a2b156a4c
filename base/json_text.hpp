// JSON that is written as text, piece by piece, because it is large or because no library is at hand.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace rubato {

/// A string in quotes. `text` is UTF-8.
inline std::string json_quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ') {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      result += escape.data();
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// Viewers read numbers as doubles: larger ones are written as text, which keeps them exact.
inline std::string json_exact(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  return value <= (std::uint64_t{1} << 53) ? digits : '"' + digits + '"';
}

}  // namespace rubato
