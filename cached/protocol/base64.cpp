// SPDX-License-Identifier: MIT
#include "cached/protocol/base64.hpp"

#include <cstdint>

namespace rubato::cached {

namespace {
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t n = 0; n < bytes.size(); n += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (n + i < bytes.size() ? static_cast<unsigned char>(bytes[n + i]) : 0u);
    for (unsigned i = 0; i < 4; ++i)
      text += n + i > bytes.size() ? '=' : kLetters[group >> (18 - 6 * i) & 63];
  }
  return text;
}

bool from_base64(std::string_view text, std::string& bytes) {
  bytes.clear();
  std::uint32_t group = 0;
  unsigned letters = 0, padding = 0;
  bool ended = false;
  for (const char letter : text) {
    const std::size_t value = kLetters.find(letter);
    if (value == kLetters.npos && letter != '=') continue;
    ++letters;
    if (ended) continue;
    if (letter == '=') ++padding;
    group = group << 6 | (letter == '=' ? 0u : static_cast<std::uint32_t>(value));
    if (letters % 4) continue;
    if (padding > 2) return false;
    for (unsigned i = 0; i < 3 - padding; ++i) bytes += static_cast<char>(group >> (16 - 8 * i) & 255);
    ended = padding > 0;
  }
  return letters > 0 && letters % 4 == 0;
}

}  // namespace rubato::cached
