// A socket of datagrams: UDP, which drops what a receiver has no room for, and local ones, whose senders
// wait.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "chip/os/socket.hpp"

namespace rubato::chip {

class DatagramSocket final : public Socket {
 public:
  using Socket::Socket;
  ~DatagramSocket() override;

  /// Connects two local sockets that have just been made.
  static void pair(const std::shared_ptr<DatagramSocket>& a, const std::shared_ptr<DatagramSocket>& b);

  std::int64_t available() override { return static_cast<std::int64_t>(received_.first_bytes()); }
  std::int64_t connect(const Destination& to, bool waits) override;
  std::int64_t disconnect() override;
  std::int64_t send(std::span<const std::byte> from, const Outgoing& with) override;
  std::int64_t receive(std::span<std::byte> to, Incoming& with) override;
  std::int64_t shut_down(bool in, bool out) override;
  std::int64_t peer_name(SocketAddress& result) const override;

 protected:
  std::uint32_t state_bits() const override;

 private:
  std::shared_ptr<DatagramSocket> self() {
    return std::static_pointer_cast<DatagramSocket>(shared_from_this());
  }
  std::int64_t send_local(std::span<const std::byte> from, const Outgoing& with);
  std::int64_t send_ip(std::span<const std::byte> from, const Outgoing& with);
  /// A sender may send to this one: it has no partner, or that sender is its partner.
  bool takes_from(const DatagramSocket& sender) const;
  bool is_full() const;
  void put(std::span<const std::byte> bytes, SocketAddress source, PassedFiles files, int sender);

  SocketQueue received_;
  std::optional<SocketAddress> peer_name_;
  std::weak_ptr<DatagramSocket> peer_;  ///< local
  bool is_shut_in_ = false, is_shut_out_ = false;
  std::vector<std::weak_ptr<DatagramSocket>> senders_;  ///< local ones that found this one full
};

}  // namespace rubato::chip
