// The options of a socket: those with an effect in the model, and those that a program sets, asks for, and
// finds as it has set them. All others are refused (ENOPROTOOPT).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "chip/os/socket_address.hpp"

namespace rubato::chip {

enum class SocketType : std::uint8_t { stream = 1, datagram = 2, packets = 5 };

class SocketOptions {
 public:
  using Name = std::pair<std::int32_t, std::int32_t>;  ///< level and number
  static constexpr Name kReuseAddress{1, 2}, kType{1, 3}, kError{1, 4}, kSendBytes{1, 7}, kReceiveBytes{1, 8},
      kLinger{1, 13}, kReusePort{1, 15}, kPassCredentials{1, 16}, kPeerCredentials{1, 17},
      kReceiveTimeout{1, 20}, kSendTimeout{1, 21}, kAccepts{1, 30}, kProtocol{1, 38}, kDomain{1, 39},
      kOnlyV6{41, 26}, kCongestion{6, 13};

  SocketOptions(Family family, SocketType type);

  /// The value of an option of one number; nothing: there is no such option for this socket.
  std::optional<std::int32_t> get(Name name) const;
  /// @returns 0 or -errno.
  std::int64_t set(Name name, std::int32_t value);
  /// Options of that level are known to the protocol.
  bool has_level(std::int32_t level) const;
  /// Asking for one of another level: not supported, in place of: no such option.
  bool refuses_levels() const { return family_ != Family::inet6; }
  bool is_set(Name name) const { return get(name).value_or(0) != 0; }

  std::uint64_t send_bytes, receive_bytes;
  std::optional<std::uint64_t> send_timeout{}, receive_timeout{};  ///< ns
  std::optional<std::int32_t> linger{};                            ///< seconds

 private:
  Family family_;
  SocketType type_;
  std::map<Name, std::int32_t> values_;
};

}  // namespace rubato::chip
