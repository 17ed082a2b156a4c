// SPDX-License-Identifier: MIT
#include "chip/os/socket_options.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace rubato::chip {
namespace {

constexpr std::int32_t kSocketOptions = 1, kIp = 0, kTcp = 6, kUdp = 17, kIpv6 = 41;
constexpr std::int32_t kAnyValue = 0x7fffffff;
// As Linux has them: net.core.wmem_default; of TCP those that a connection over loopback gets.
constexpr std::uint64_t kBytes = 212992, kTcpSendBytes = 2626560, kTcpReceiveBytes = 131072;
constexpr std::uint64_t kLeastSendBytes = 4608, kLeastReceiveBytes = 2304;

struct Row {
  SocketOptions::Name name;
  std::int32_t initial, least, most;
};

// Options of one number, without those that sockets compute.
constexpr Row kRows[] = {
    {SocketOptions::kReuseAddress, 0, 0, 1},
    {{kSocketOptions, 5}, 0, 0, 1},   // SO_DONTROUTE
    {{kSocketOptions, 6}, 0, 0, 1},   // SO_BROADCAST
    {{kSocketOptions, 9}, 0, 0, 1},   // SO_KEEPALIVE
    {{kSocketOptions, 10}, 0, 0, 1},  // SO_OOBINLINE
    {{kSocketOptions, 12}, 0, 0, 6},  // SO_PRIORITY
    {SocketOptions::kReusePort, 0, 0, 1},
    {SocketOptions::kPassCredentials, 0, 0, 1},
    {{kSocketOptions, 46}, 0, 0, kAnyValue},  // SO_BUSY_POLL
    {{kIp, 1}, 0, 0, 255},                    // IP_TOS
    {{kIp, 2}, 64, 1, 255},                   // IP_TTL
    {{kIp, 10}, 1, 0, 5},                     // IP_MTU_DISCOVER
    {{kIp, 11}, 0, 0, 1},                     // IP_RECVERR
    {{kIp, 15}, 0, 0, 1},                     // IP_FREEBIND
    {{kIp, 33}, 1, 0, 255},                   // IP_MULTICAST_TTL
    {{kIp, 34}, 1, 0, 1},                     // IP_MULTICAST_LOOP
    {{kIpv6, 16}, 64, 0, 255},                // IPV6_UNICAST_HOPS
    {{kIpv6, 18}, 1, 0, 255},                 // IPV6_MULTICAST_HOPS
    {{kIpv6, 19}, 1, 0, 1},                   // IPV6_MULTICAST_LOOP
    {{kIpv6, 23}, 1, 0, 5},                   // IPV6_MTU_DISCOVER
    {{kIpv6, 25}, 0, 0, 1},                   // IPV6_RECVERR
    {SocketOptions::kOnlyV6, 0, 0, 1},
    {{kIpv6, 67}, 0, 0, 255},       // IPV6_TCLASS
    {{kTcp, 1}, 0, 0, 1},           // TCP_NODELAY
    {{kTcp, 2}, 65483, 88, 65535},  // TCP_MAXSEG
    {{kTcp, 3}, 0, 0, 1},           // TCP_CORK
    {{kTcp, 4}, 7200, 1, 32767},    // TCP_KEEPIDLE
    {{kTcp, 5}, 75, 1, 32767},      // TCP_KEEPINTVL
    {{kTcp, 6}, 9, 1, 127},         // TCP_KEEPCNT
    {{kTcp, 7}, 6, 1, 255},         // TCP_SYNCNT
    {{kTcp, 9}, 0, 0, kAnyValue},   // TCP_DEFER_ACCEPT
    {{kTcp, 12}, 1, 0, 1},          // TCP_QUICKACK
    {{kTcp, 18}, 0, 0, kAnyValue},  // TCP_USER_TIMEOUT
    {{kTcp, 25}, 0, 0, kAnyValue},  // TCP_NOTSENT_LOWAT
};

const Row* row_of(SocketOptions::Name name) {
  const auto* const found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.name == name; });
  return found == std::end(kRows) ? nullptr : found;
}

bool is_level_of(std::int32_t level, Family family, SocketType type) {
  switch (level) {
    case kSocketOptions:
      return true;
    case kIp:
      return family != Family::local;
    case kIpv6:
      return family == Family::inet6;
    case kTcp:
      return family != Family::local && type == SocketType::stream;
    case kUdp:
      return family != Family::local && type == SocketType::datagram;
    default:
      return false;
  }
}

}  // namespace

SocketOptions::SocketOptions(Family family, SocketType type)
    : send_bytes(kBytes), receive_bytes(kBytes), family_(family), type_(type) {
  if (!is_level_of(kTcp, family, type)) return;
  send_bytes = kTcpSendBytes;
  receive_bytes = kTcpReceiveBytes;
}

bool SocketOptions::has_level(std::int32_t level) const { return is_level_of(level, family_, type_); }

std::optional<std::int32_t> SocketOptions::get(Name name) const {
  if (!has_level(name.first)) return std::nullopt;
  if (name == kSendBytes) return static_cast<std::int32_t>(send_bytes);
  if (name == kReceiveBytes) return static_cast<std::int32_t>(receive_bytes);
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  const Row* const row = row_of(name);
  if (row == nullptr) return std::nullopt;
  return row->initial;
}

std::int64_t SocketOptions::set(Name name, std::int32_t value) {
  if (!has_level(name.first)) return family_ == Family::local ? -EOPNOTSUPP : -ENOPROTOOPT;
  if (name == kSendBytes || name == kReceiveBytes) {
    const bool sends = name == kSendBytes;
    // Linux doubles what is asked for, and says so.
    const auto wanted = std::min<std::uint64_t>(static_cast<std::uint32_t>(value), kBytes) * 2;
    (sends ? send_bytes : receive_bytes) = std::max(wanted, sends ? kLeastSendBytes : kLeastReceiveBytes);
    return 0;
  }
  const Row* const row = row_of(name);
  if (row == nullptr) return -ENOPROTOOPT;
  if (row->least == 0 && row->most == 1) {
    value = value != 0 ? 1 : 0;
  } else if (value == -1 && name.first != kTcp) {
    value = row->initial;  // the system's choice
  } else if (value < row->least || value > row->most) {
    return -EINVAL;
  }
  values_[name] = value;
  return 0;
}

}  // namespace rubato::chip
