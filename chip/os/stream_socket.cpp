// SPDX-License-Identifier: MIT
#include "chip/os/stream_socket.hpp"

#include <algorithm>
#include <utility>

namespace rubato::chip {
namespace {

constexpr std::size_t kMostBacklog = 4096;  // net.core.somaxconn

}  // namespace

StreamSocket::~StreamSocket() {
  if (state_ == State::listening) stop_listening();
  const auto peer = peer_.lock();
  if (peer == nullptr || state_ != State::connected) return;
  const bool drops = !received_.empty() || (is_tcp() && options.linger == 0);
  if (drops) {
    peer->reset(is_tcp() && peer->has_ended_ ? EPIPE : ECONNRESET);
  } else {
    peer->end_input();
    peer->became_writable();  // to learn that it is broken
    if (is_local()) peer->is_shut_out_ = true;
  }
}

void StreamSocket::pair(const std::shared_ptr<StreamSocket>& a, const std::shared_ptr<StreamSocket>& b) {
  a->state_ = b->state_ = State::connected;
  a->peer_ = b;
  b->peer_ = a;
}

// --- connections
// -----------------------------------------------------------------------------------------------

std::shared_ptr<StreamSocket> StreamSocket::find_listener(const Destination& to) const {
  if (is_local()) {
    const auto target = std::dynamic_pointer_cast<StreamSocket>(to.local);
    return target && target->is_listening() && target->kind().type == kind().type ? target : nullptr;
  }
  // Several with the same address: the one with the fewest waiting connections.
  std::shared_ptr<StreamSocket> best;
  for (const auto& socket : network_.bound(true, to.address)) {
    const auto listener = std::dynamic_pointer_cast<StreamSocket>(socket);
    if (!listener || !listener->is_listening()) continue;
    if (best &&
        (listener->local().ip != best->local().ip || listener->arrived_.size() >= best->arrived_.size()))
      continue;
    best = listener;
  }
  return best;
}

std::int64_t StreamSocket::connect(const Destination& asked, bool waits) {
  switch (state_) {
    case State::listening:
      return is_local() ? -EINVAL : -EISCONN;
    case State::connecting:
      return -EALREADY;
    case State::connected:
      return std::exchange(is_announced_, true) ? -EISCONN : 0;
    case State::idle:
      break;
  }
  if (error_ != 0) return -take_error();
  Destination to = asked;
  if (!is_local()) {
    if (const std::int64_t error = check_reachable(to.address); error < 0) return error;
    if (to.address.port == 0) return -ECONNREFUSED;
    if (const std::int64_t error = bind_if_needed(); error < 0) return error;
    local_ = seen_from(to.address.ip);
  }
  const bool answers_later = is_tcp() && !waits;
  const auto listener = find_listener(to);
  if (listener == nullptr) {
    if (answers_later) refuse();
    return answers_later ? -EINPROGRESS : -ECONNREFUSED;
  }
  if (listener->has_room()) {
    peer_name_ = to.address;
    listener->take_connection(self());
    is_announced_ = !answers_later;
    return answers_later ? -EINPROGRESS : 0;
  }
  if (is_local()) return kWouldBlock;
  peer_name_ = to.address;
  state_ = State::connecting;
  is_announced_ = false;
  listener->waiting_.push_back(self());
  return -EINPROGRESS;
}

std::int64_t StreamSocket::disconnect() {
  if (is_local() || state_ == State::connecting) return -EINVAL;
  if (state_ == State::listening) stop_listening();
  if (const auto peer = peer_.lock()) peer->reset(ECONNRESET);
  peer_.reset();
  state_ = State::idle;
  if (is_bound()) forget_source();
  return 0;
}

void StreamSocket::take_connection(const std::shared_ptr<StreamSocket>& client) {
  auto server = std::make_shared<StreamSocket>(network_, kind(), abi::kReadWrite);
  server->options = options;
  server->local_ = is_local() ? local_ : client->peer_name_;
  server->local_.family = kind().family;
  server->peer_name_ = client->local_;
  pair(client, server);
  server->peer_pid = client->used_by;
  client->peer_pid = used_by;
  client->became_writable();
  arrived_.push_back(std::move(server));
  became_readable();
}

void StreamSocket::admit_waiting() {
  while (has_room() && !waiting_.empty()) {
    const auto client = waiting_.front().lock();
    waiting_.pop_front();
    if (client && client->is_connecting()) take_connection(client);
  }
}

std::int64_t StreamSocket::listen(int backlog) {
  if (state_ != State::idle && state_ != State::listening) return -EINVAL;
  if (is_local() && !is_bound()) return -EINVAL;
  if (const std::int64_t error = bind_if_needed(); error < 0) return error;
  state_ = State::listening;
  backlog_ =
      backlog < 0 ? kMostBacklog : std::min<std::size_t>(static_cast<std::size_t>(backlog), kMostBacklog);
  admit_waiting();
  return 0;
}

std::int64_t StreamSocket::accept(std::shared_ptr<Socket>& result) {
  if (state_ != State::listening || is_shut_in_) return -EINVAL;
  if (arrived_.empty()) return kWouldBlock;
  result = std::move(arrived_.front());
  arrived_.pop_front();
  admit_waiting();
  return 0;
}

void StreamSocket::stop_listening() {
  state_ = State::idle;
  // Partners of connections that were not accepted find them broken, whatever they have sent.
  for (const auto& server : arrived_) {
    if (const auto client = server->peer_.lock()) client->reset(ECONNRESET);
    server->peer_.reset();
  }
  arrived_.clear();
  for (const auto& weak : std::exchange(waiting_, {}))
    if (const auto client = weak.lock(); client && client->is_connecting()) client->refuse();
}

void StreamSocket::refuse() {
  state_ = State::idle;
  error_ = ECONNREFUSED;
  became_readable();
  became_writable();
}

void StreamSocket::end_input() {
  has_ended_ = true;
  became_readable();
}

void StreamSocket::reset(int error) {
  error_ = error;
  has_ended_ = is_shut_out_ = true;
  became_readable();
  became_writable();
}

std::int64_t StreamSocket::shut_down(bool in, bool out) {
  if (state_ == State::listening) {
    if (!in) return 0;
    if (is_local()) {
      is_shut_in_ = true;
    } else {
      stop_listening();
    }
    became_readable();
    return 0;
  }
  if (state_ != State::connected) return -ENOTCONN;
  const auto peer = peer_.lock();
  if (in) is_shut_in_ = true;
  if (out && !is_shut_out_) {
    is_shut_out_ = true;
    if (peer) peer->end_input();
  }
  if (in && is_local() && peer) {
    peer->is_shut_out_ = true;
    peer->became_writable();
  }
  became_readable();
  became_writable();
  return 0;
}

std::int64_t StreamSocket::peer_name(SocketAddress& result) const {
  if (state_ != State::connected || (!is_local() && error_ != 0)) return -ENOTCONN;
  result = peer_name_;
  return 0;
}

// --- bytes
// -------------------------------------------------------------------------------------------------------

std::uint64_t StreamSocket::room_to(const StreamSocket& peer) const {
  const std::uint64_t capacity = options.send_bytes + (is_tcp() ? peer.options.receive_bytes : 0);
  return capacity - std::min(capacity, peer.received_.bytes());
}

bool StreamSocket::is_writable() const {
  const auto peer = peer_.lock();
  if (is_shut_out_ || peer == nullptr) return true;
  const std::uint64_t room = room_to(*peer);
  return room >= (room + peer->received_.bytes()) / 3;
}

std::int64_t StreamSocket::send(std::span<const std::byte> from, const Outgoing& with) {
  if (state_ == State::connecting) return kWouldBlock;
  if (is_tcp() && error_ != 0) return -take_error();
  if (state_ != State::connected) return is_tcp() ? -EPIPE : -ENOTCONN;
  if (is_local() && with.to) return kind().type == SocketType::stream ? -EISCONN : -EINVAL;
  if (is_shut_out_) return -EPIPE;
  const auto peer = peer_.lock();
  if (peer == nullptr) {  // TCP: the partner answers that it has gone, and the next call finds that out
    reset(EPIPE);
    return static_cast<std::int64_t>(from.size());
  }
  const std::uint64_t room = room_to(*peer);
  if (has_messages()) {
    if (from.size() > options.send_bytes) return -EMSGSIZE;
    if (room < from.size()) return kWouldBlock;
    peer->received_.push({{from.begin(), from.end()}, {}, with.files, sender_to(*peer, with)});
    peer->became_readable();
    return static_cast<std::int64_t>(from.size());
  }
  if (from.empty()) return 0;
  if (room == 0) return kWouldBlock;
  const std::size_t n = std::min<std::uint64_t>(room, from.size());
  peer->received_.append(from.first(n), with.files, sender_to(*peer, with));
  peer->became_readable();
  return static_cast<std::int64_t>(n);
}

std::int64_t StreamSocket::receive(std::span<std::byte> to, Incoming& with) {
  if (state_ == State::connecting) return kWouldBlock;
  if (received_.empty()) {
    // TCP: an end that had come before the error is what a reader gets.
    if (error_ != 0 && !(is_tcp() && error_ == EPIPE)) return -take_error();
    if (has_ended_ || is_shut_in_) return 0;
    if (state_ == State::connected) return to.empty() && !has_messages() ? 0 : kWouldBlock;
    return is_local() && kind().type == SocketType::stream ? -EINVAL : -ENOTCONN;
  }
  const auto peer = peer_.lock();
  const bool was_full = peer && !peer->is_writable();
  const std::int64_t n = has_messages() ? received_.take_message(to, with) : received_.take_stream(to, with);
  with.has_source = false;  // the partner is known
  if (was_full && peer->is_writable()) peer->became_writable();
  return n;
}

std::int64_t StreamSocket::available() {
  if (state_ == State::listening) return -EINVAL;
  return static_cast<std::int64_t>(received_.bytes());
}

std::uint64_t StreamSocket::unreceived() const {
  const auto peer = peer_.lock();
  return peer ? peer->received_.bytes() : 0;
}

std::uint32_t StreamSocket::state_bits() const {
  constexpr std::uint32_t kReads = PollBits::kIn | PollBits::kReadNormal,
                          kWrites = PollBits::kOut | PollBits::kWriteNormal;
  if (state_ == State::listening) return arrived_.empty() ? 0 : kReads;
  if (state_ == State::connecting) return 0;
  std::uint32_t bits = error_ != 0 ? PollBits::kError : 0;
  if (state_ == State::idle) return bits | kWrites | PollBits::kHangUp | (error_ != 0 ? kReads : 0);
  const bool is_ended = has_ended_ || is_shut_in_;
  if (!received_.empty() || is_ended || error_ != 0) bits |= kReads;
  if (is_ended) bits |= PollBits::kReadHangUp;
  if (is_ended && is_shut_out_) bits |= PollBits::kHangUp;
  if (is_writable()) bits |= kWrites;
  return bits;
}

}  // namespace rubato::chip
