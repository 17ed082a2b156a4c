// A thread that serves connections: a loop, its connections, its counters and its read buffer.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cached/net/connection.hpp"

namespace rubato::cached {

/// The server, as connections see it.
class ConnectionKeeper {
 public:
  virtual ~ConnectionKeeper() = default;
  virtual void connection_closed() = 0;
};

class Worker {
 public:
  Worker(Context& context, ConnectionKeeper& keeper)
      : context_(context), keeper_(keeper), buffer_(16 << 10) {}
  void start();
  /// Answers under way are sent, then connections are closed and the thread ends.
  void stop();

  /// Takes the descriptor over; from any thread. `tls` is null: it has none.
  void adopt(int descriptor, TlsServer* tls);
  Loop& loop() { return loop_; }
  ThreadCounters& counters() { return counters_; }
  const ThreadCounters& counters() const { return counters_; }
  std::vector<char>& buffer() { return buffer_; }
  /// Adds what its connections are doing; from any thread.
  void describe(std::vector<ConnectionReport>& to);
  /// The connection is destroyed when its callback has returned.
  void remove(Connection& connection);
  /// In the loop's thread.
  template <class F>
  void for_each(F&& f) {
    for (const auto& connection : connections_) {
      if (connection) f(*connection);
    }
  }

 private:
  void drop_idle();

  Context& context_;
  ConnectionKeeper& keeper_;
  Loop loop_;
  ThreadCounters counters_;
  std::vector<char> buffer_;
  std::vector<std::unique_ptr<Connection>> connections_;  ///< by descriptor
  std::mutex connections_mutex_;  ///< where they come and go, and where another thread looks
  std::thread thread_;
};

}  // namespace rubato::cached
