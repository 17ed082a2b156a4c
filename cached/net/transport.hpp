// A connection's socket, with TLS or without (T99). A connection chooses once; without TLS each call is the
// system call behind one test of a pointer, and no call is virtual.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <memory>

#include "cached/net/loop.hpp"
#include "cached/protocol/output.hpp"
#include "cached/tls/tls.hpp"

namespace rubato::cached {

class Transport {
 public:
  /// Owns the descriptor. `tls` is null: the socket has none.
  Transport(int descriptor, std::unique_ptr<TlsStream> tls) : descriptor_(descriptor), tls_(std::move(tls)) {
    is_open_ = !tls_;
  }
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  int descriptor() const { return descriptor_; }
  /// As recv().
  ssize_t receive(char* to, std::size_t n) {
    if (tls_) [[unlikely]]
      return tls_->receive(to, n);
    return ::recv(descriptor_, to, n, 0);
  }
  /// As send(), of a part of the pending output.
  /// @param most  bytes that may be put together for a record of TLS
  ssize_t send(const Output& output, std::size_t most) {
    if (tls_) [[unlikely]]
      return send_record(output, most);
    if (output.contiguous()) return ::send(descriptor_, output.begin(), output.pending(), MSG_NOSIGNAL);
    return send_pieces(output);
  }

  /// The events that the connection may act upon when the loop reports `events`. A handshake that is under
  /// way takes them all. False: the connection has failed.
  bool admit(int& events) {
    if (tls_) [[unlikely]]
      return admit_by_tls(events);
    return true;
  }
  /// The events to wait for, so that the connection gets `events`.
  short needed(short events) const {
    if (tls_) [[unlikely]]
      return needed_by_tls(events);
    return events;
  }
  /// Something can be received of which the loop does not report.
  bool holds_more() const {
    if (tls_) [[unlikely]]
      return is_open_ && tls_->holds_more();
    return false;
  }

 private:
  ssize_t send_pieces(const Output& output);
  ssize_t send_record(const Output& output, std::size_t most);
  bool admit_by_tls(int& events);
  short needed_by_tls(short events) const;

  int descriptor_;
  bool is_open_;  ///< the handshake is over, or there is none
  bool handshake_wants_room_ = false;
  std::unique_ptr<TlsStream> tls_;
};

}  // namespace rubato::cached
