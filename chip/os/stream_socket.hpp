// A socket with connections: TCP, and local ones of streams or packets in order.
// Invariant: two connected sockets know each other; bytes that one sends lie in the other's queue until they
// are received. A connection exists as soon as its listener has room for it: accept() gives out one that may
// have bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <memory>

#include "chip/os/socket.hpp"

namespace rubato::chip {

class StreamSocket final : public Socket {
 public:
  using Socket::Socket;
  ~StreamSocket() override;

  /// Connects two sockets that have just been made.
  static void pair(const std::shared_ptr<StreamSocket>& a, const std::shared_ptr<StreamSocket>& b);

  std::int64_t available() override;
  std::int64_t connect(const Destination& to, bool waits) override;
  std::int64_t disconnect() override;
  bool is_connecting() const override { return state_ == State::connecting; }
  std::int64_t listen(int backlog) override;
  std::int64_t accept(std::shared_ptr<Socket>& result) override;
  bool is_listening() const override { return state_ == State::listening; }
  std::int64_t send(std::span<const std::byte> from, const Outgoing& with) override;
  std::int64_t receive(std::span<std::byte> to, Incoming& with) override;
  std::int64_t shut_down(bool in, bool out) override;
  std::int64_t peer_name(SocketAddress& result) const override;
  std::uint64_t unreceived() const override;

 protected:
  std::uint32_t state_bits() const override;

 private:
  enum class State : std::uint8_t { idle, listening, connecting, connected };

  std::shared_ptr<StreamSocket> self() { return std::static_pointer_cast<StreamSocket>(shared_from_this()); }
  bool is_tcp() const { return !is_local(); }
  bool has_room() const { return arrived_.size() <= backlog_; }
  std::shared_ptr<StreamSocket> find_listener(const Destination& to) const;
  /// Precondition: this listens and has room.
  void take_connection(const std::shared_ptr<StreamSocket>& client);
  /// Connections that wait for room are made, as far as there is room.
  void admit_waiting();
  void stop_listening();
  void refuse();
  /// The partner has ended its direction.
  void end_input();
  /// The partner has gone and wants no bytes.
  void reset(int error);
  std::uint64_t room_to(const StreamSocket& peer) const;
  /// Free enough that poll() says so.
  bool is_writable() const;

  State state_ = State::idle;
  SocketQueue received_;
  std::weak_ptr<StreamSocket> peer_;
  SocketAddress peer_name_{};
  bool is_announced_ = true;  ///< connect() has said that it is connected
  bool has_ended_ = false;    ///< nothing more will come
  bool is_shut_in_ = false, is_shut_out_ = false;

  // A listener's: connections that were not accepted yet, and sockets that wait for room.
  std::deque<std::shared_ptr<StreamSocket>> arrived_;
  std::deque<std::weak_ptr<StreamSocket>> waiting_;
  std::size_t backlog_ = 0;
};

}  // namespace rubato::chip
