// SPDX-License-Identifier: MIT
#include "chip/os/datagram_socket.hpp"

#include <utility>

namespace rubato::chip {
namespace {

constexpr std::size_t kMostQueued = 11;  // local ones: net.unix.max_dgram_qlen, and one
constexpr std::size_t kMostUdpBytes = 65507;
constexpr std::uint64_t kOverhead = 768;  // of a datagram in the receiver's room, as Linux counts
constexpr std::uint64_t kLocalOverhead = 32;

}  // namespace

DatagramSocket::~DatagramSocket() {
  for (const auto& weak : senders_)
    if (const auto sender = weak.lock()) sender->became_writable();
}

void DatagramSocket::pair(const std::shared_ptr<DatagramSocket>& a,
                          const std::shared_ptr<DatagramSocket>& b) {
  a->peer_ = b;
  b->peer_ = a;
  a->peer_name_ = b->peer_name_ = SocketAddress{Family::local};
}

bool DatagramSocket::takes_from(const DatagramSocket& sender) const {
  if (is_local()) return !peer_name_ || peer_.lock().get() == &sender;
  return !peer_name_ ||
         (peer_name_->port == sender.local().port && peer_name_->ip == sender.seen_from(peer_name_->ip).ip);
}

bool DatagramSocket::is_full() const { return received_.count() >= kMostQueued; }

std::int64_t DatagramSocket::connect(const Destination& asked, bool) {
  Destination to = asked;
  if (is_local()) {
    const auto target = std::dynamic_pointer_cast<DatagramSocket>(to.local);
    if (to.local && !target) return -EPROTOTYPE;
    if (!target) return -ECONNREFUSED;
    if (!target->takes_from(*this)) return -EPERM;
    peer_ = target;
  } else {
    if (const std::int64_t error = check_reachable(to.address); error < 0) return error;
    if (const std::int64_t error = bind_if_needed(); error < 0) return error;
    forget_source();
    local_ = seen_from(to.address.ip);
  }
  peer_name_ = to.address;
  became_writable();
  return 0;
}

std::int64_t DatagramSocket::disconnect() {
  if (!is_local() && is_bound()) forget_source();
  peer_name_.reset();
  peer_.reset();
  return 0;
}

void DatagramSocket::put(std::span<const std::byte> bytes, SocketAddress source, PassedFiles files,
                         int sender) {
  received_.push({{bytes.begin(), bytes.end()}, std::move(source), std::move(files), sender});
  became_readable();
}

std::int64_t DatagramSocket::send(std::span<const std::byte> from, const Outgoing& with) {
  if (error_ != 0) return -take_error();
  if (is_shut_out_) return -EPIPE;
  return is_local() ? send_local(from, with) : send_ip(from, with);
}

std::int64_t DatagramSocket::send_local(std::span<const std::byte> from, const Outgoing& with) {
  if (from.size() > options.send_bytes - kLocalOverhead) return -EMSGSIZE;
  std::shared_ptr<DatagramSocket> target;
  if (with.to) {
    target = std::dynamic_pointer_cast<DatagramSocket>(with.to->local);
    if (with.to->local && !target) return -EPROTOTYPE;
    if (!target) return -ECONNREFUSED;
  } else {
    if (!peer_name_) return -ENOTCONN;
    target = peer_.lock();
    if (!target) {
      disconnect();
      return -ECONNREFUSED;
    }
  }
  if (!target->takes_from(*this)) return -EPERM;
  if (target->is_shut_in_) return -EPIPE;
  if (target->is_full() && target.get() != this) {
    target->senders_.push_back(self());
    return kWouldBlock;
  }
  target->put(from, local_, with.files, sender_to(*target, with));
  return static_cast<std::int64_t>(from.size());
}

std::int64_t DatagramSocket::send_ip(std::span<const std::byte> from, const Outgoing& with) {
  if (from.size() > kMostUdpBytes) return -EMSGSIZE;
  if (!with.to && !peer_name_) return -EDESTADDRREQ;
  SocketAddress to = with.to ? with.to->address : *peer_name_;
  if (const std::int64_t error = check_reachable(to); error < 0) return error;
  if (to.port == 0) return -EINVAL;
  if (const std::int64_t error = bind_if_needed(); error < 0) return error;
  // A socket that has this one as its partner is meant before those that take datagrams of all.
  std::shared_ptr<DatagramSocket> target;
  for (const auto& socket : network_.bound(false, to)) {
    auto candidate = std::static_pointer_cast<DatagramSocket>(socket);
    if (!candidate->takes_from(*this)) continue;
    if (target && (target->peer_name_ || !candidate->peer_name_)) continue;
    target = std::move(candidate);
  }
  const auto sent = static_cast<std::int64_t>(from.size());
  if (target == nullptr) {
    // The answer that the port is closed comes behind the datagram, and only a socket with a partner gets it.
    if (peer_name_) {
      error_ = ECONNREFUSED;
      became_readable();
      became_writable();
    }
    return sent;
  }
  const std::uint64_t used = target->received_.bytes() + target->received_.count() * kOverhead;
  if (used <= target->options.receive_bytes && !target->is_shut_in_)
    target->put(from, seen_from(to.ip), {}, 0);
  return sent;
}

std::int64_t DatagramSocket::receive(std::span<std::byte> to, Incoming& with) {
  if (error_ != 0) return -take_error();
  if (received_.empty()) return is_shut_in_ ? 0 : kWouldBlock;
  const std::int64_t n = received_.take_message(to, with);
  for (const auto& weak : std::exchange(senders_, {}))
    if (const auto sender = weak.lock()) sender->became_writable();
  return n;
}

std::int64_t DatagramSocket::shut_down(bool in, bool out) {
  if (!is_local() && !peer_name_) return -ENOTCONN;
  is_shut_in_ = is_shut_in_ || in;
  is_shut_out_ = is_shut_out_ || out;
  became_readable();
  became_writable();
  return 0;
}

std::int64_t DatagramSocket::peer_name(SocketAddress& result) const {
  if (!peer_name_) return -ENOTCONN;
  result = *peer_name_;
  return 0;
}

std::uint32_t DatagramSocket::state_bits() const {
  std::uint32_t bits = error_ != 0 ? PollBits::kError : 0;
  if (!received_.empty() || is_shut_in_ || error_ != 0) bits |= PollBits::kIn | PollBits::kReadNormal;
  if (is_shut_in_) bits |= PollBits::kReadHangUp;
  if (is_shut_in_ && is_shut_out_) bits |= PollBits::kHangUp;
  const auto peer = peer_.lock();
  if (!is_local() || peer == nullptr || !peer->is_full()) bits |= PollBits::kOut | PollBits::kWriteNormal;
  return bits;
}

}  // namespace rubato::chip
