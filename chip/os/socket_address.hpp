// Addresses of sockets, and their forms in guest memory: sockaddr_in, sockaddr_in6, sockaddr_un.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rubato::chip {

enum class Family : std::uint16_t { none = 0, local = 1, inet = 2, inet6 = 10 };

/// An address of either version: one of IPv4 is kept as IPv6 maps it, ::ffff:a.b.c.d.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  bool is_v4() const;
  bool is_any() const;
  bool is_loopback() const;
  auto operator<=>(const IpAddress&) const = default;

  static IpAddress any(Family family);
  static IpAddress loopback(bool of_v4);
};

struct SocketAddress {
  static constexpr std::size_t kMostBytes = 128;

  Family family = Family::none;
  IpAddress ip{};
  std::uint16_t port = 0;
  std::string name{};  ///< local: a path, or an abstract name behind a zero; empty: none

  bool is_abstract() const { return !name.empty() && name[0] == '\0'; }
};

/// The address in `bytes`, as a socket of `family` takes it. @returns 0 or -errno.
std::int64_t parse_address(std::span<const std::byte> bytes, Family family, SocketAddress& result);
/// The bytes by which a socket of `family` shows the address.
std::vector<std::byte> guest_form(const SocketAddress& address, Family family);

}  // namespace rubato::chip
