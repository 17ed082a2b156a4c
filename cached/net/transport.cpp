// SPDX-License-Identifier: MIT
#include "cached/net/transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace rubato::cached {

namespace {
constexpr int kMostPieces = 64;
}

Transport::~Transport() {
  tls_.reset();  // it says goodbye
  ::close(descriptor_);
}

ssize_t Transport::send_pieces(const Output& output) {
  iovec pieces[kMostPieces];
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = static_cast<std::size_t>(output.gather(pieces, kMostPieces));
  return ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
}

// A send that was refused is repeated with the same bytes in front: those of `room` are always the output's
// first.
ssize_t Transport::send_record(const Output& output, std::size_t most) {
  if (output.contiguous()) return tls_->send(output.begin(), output.pending());
  iovec pieces[kMostPieces];
  const int number = output.gather(pieces, kMostPieces);
  // The middle of a large value is encrypted from where it lies.
  if (number && pieces[0].iov_len >= most)
    return tls_->send(static_cast<const char*>(pieces[0].iov_base), most);
  // The thread's, as an executor may send in any.
  static thread_local std::vector<char> room;
  room.resize(most);
  std::size_t used = 0;
  for (int n = 0; n < number && used < room.size(); ++n) {
    const std::size_t part = std::min(pieces[n].iov_len, room.size() - used);
    std::memcpy(room.data() + used, pieces[n].iov_base, part);
    used += part;
  }
  return tls_->send(room.data(), used);
}

bool Transport::admit_by_tls(int& events) {
  if (!is_open_) {
    const TlsStream::Step step = tls_->handshake();
    if (step == TlsStream::Step::failed) return false;
    is_open_ = step == TlsStream::Step::done;
    handshake_wants_room_ = step == TlsStream::Step::wants_write;
    // Requests may have come with the last message of the handshake.
    events = is_open_ ? Loop::kRead : 0;
    return true;
  }
  const int reported = events;
  if ((reported & Loop::kWrite) && tls_->receive_waits_for_room()) events |= Loop::kRead;
  if ((reported & Loop::kRead) && tls_->send_waits_for_input()) events |= Loop::kWrite;
  return true;
}

short Transport::needed_by_tls(short events) const {
  if (!is_open_) return handshake_wants_room_ ? Loop::kWrite : Loop::kRead;
  int needed = events;
  if ((events & Loop::kRead) && tls_->receive_waits_for_room()) needed |= Loop::kWrite;
  if ((events & Loop::kWrite) && tls_->send_waits_for_input()) needed = Loop::kRead;
  return static_cast<short>(needed);
}

}  // namespace rubato::cached
