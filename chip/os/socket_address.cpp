// SPDX-License-Identifier: MIT
#include "chip/os/socket_address.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rubato::chip {
namespace {

constexpr std::size_t kInetBytes = 16, kInet6Bytes = 28, kInet6LeastBytes = 24, kLocalBytes = 110;
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::uint16_t big_endian(const std::byte* at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) << 8 | std::to_integer<unsigned>(at[1]));
}

void put_port(std::vector<std::byte>& bytes, std::uint16_t port) {
  bytes[2] = static_cast<std::byte>(port >> 8);
  bytes[3] = static_cast<std::byte>(port & 0xff);
}

}  // namespace

bool IpAddress::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), bytes.begin()); }

bool IpAddress::is_any() const {
  const auto from = is_v4() ? bytes.begin() + kMapped.size() : bytes.begin();
  return std::all_of(from, bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool IpAddress::is_loopback() const { return is_v4() ? bytes[12] == 127 : *this == loopback(false); }

IpAddress IpAddress::any(Family family) {
  IpAddress result;
  if (family == Family::inet) std::copy(kMapped.begin(), kMapped.end(), result.bytes.begin());
  return result;
}

IpAddress IpAddress::loopback(bool of_v4) {
  IpAddress result = any(of_v4 ? Family::inet : Family::inet6);
  if (of_v4) result.bytes[12] = 127;
  result.bytes[15] = 1;
  return result;
}

std::int64_t parse_address(std::span<const std::byte> bytes, Family family, SocketAddress& result) {
  std::uint16_t given = 0;
  if (bytes.size() < sizeof given) return -EINVAL;
  std::memcpy(&given, bytes.data(), sizeof given);
  result = {};
  result.family = static_cast<Family>(given);
  switch (family) {
    case Family::local:
      if (result.family != Family::local || bytes.size() > kLocalBytes) return -EINVAL;
      result.name.assign(reinterpret_cast<const char*>(bytes.data()) + 2, bytes.size() - 2);
      // A path ends at its zero; an abstract name has all bytes that were given.
      if (!result.name.empty() && result.name[0] != '\0') result.name = result.name.c_str();
      return 0;
    case Family::inet:
    case Family::inet6:
      break;
    default:
      return -EAFNOSUPPORT;
  }
  const bool is_v4 = result.family == Family::inet;
  if (bytes.size() < (is_v4 || family == Family::inet ? kInetBytes : kInet6LeastBytes)) return -EINVAL;
  if (!is_v4 && (result.family != Family::inet6 || family == Family::inet)) return -EAFNOSUPPORT;
  result.port = big_endian(bytes.data() + 2);
  result.ip = IpAddress::any(result.family);
  if (is_v4) {
    std::memcpy(result.ip.bytes.data() + kMapped.size(), bytes.data() + 4, 4);
  } else {
    std::memcpy(result.ip.bytes.data(), bytes.data() + 8, 16);
  }
  return 0;
}

std::vector<std::byte> guest_form(const SocketAddress& address, Family family) {
  std::vector<std::byte> bytes(2);
  const auto number = static_cast<std::uint16_t>(family);
  std::memcpy(bytes.data(), &number, sizeof number);
  if (family == Family::local) {
    // The length of a path counts the zero behind it.
    const std::size_t length = address.name.size() + (address.name.empty() || address.is_abstract() ? 0 : 1);
    bytes.resize(2 + length);
    std::memcpy(bytes.data() + 2, address.name.c_str(), length);
  } else if (family == Family::inet) {
    bytes.resize(kInetBytes);
    put_port(bytes, address.port);
    std::memcpy(bytes.data() + 4, address.ip.bytes.data() + kMapped.size(), 4);
  } else {
    bytes.resize(kInet6Bytes);
    put_port(bytes, address.port);
    std::memcpy(bytes.data() + 8, address.ip.bytes.data(), 16);
  }
  return bytes;
}

}  // namespace rubato::chip
