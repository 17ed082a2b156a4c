// Host and port of an address as users give it: host, host:port, an IPv6 address, [v6] or [v6]:port.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rubato {

struct HostPort {
  std::string_view host, port;  ///< parts of the text; no port: empty
};

/// Digits, up to 65535. The system's resolver takes a larger number, too, and drops its upper bits.
inline bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Nothing: a bracket is not closed, or what follows a colon is no port.
inline std::optional<HostPort> host_and_port(std::string_view text) {
  HostPort parts{text, {}};
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return std::nullopt;
    parts.host = text.substr(1, end - 1), rest = text.substr(end + 1);
    if (!rest.empty() && rest[0] != ':') return std::nullopt;
  } else if (const std::size_t colon = text.find(':'); colon != text.npos && colon == text.rfind(':')) {
    parts.host = text.substr(0, colon), rest = text.substr(colon);
  }
  if (rest.empty()) return parts;
  parts.port = rest.substr(1);
  if (!is_port(parts.port)) return std::nullopt;
  return parts;
}

}  // namespace rubato
