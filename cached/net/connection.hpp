// One client's socket: receives into the thread's buffer or straight into an item, lets the session work, and
// sends.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cached/net/loop.hpp"
#include "cached/protocol/session.hpp"

namespace rubato::cached {

class Worker;

class Connection {
 public:
  /// Owns the descriptor.
  Connection(Worker& worker, Context& context, int descriptor, std::string peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& peer() const { return peer_; }
  std::uint32_t last_request() const { return session_.last_request(); }
  bool idle() const { return !output_.pending() && partial_.empty(); }
  /// Sends what it can; the server is about to end.
  void last_flush() { flush(); }

 private:
  static void ready(void* self, int events);
  void readable();
  bool receive();
  void process(const char* data, std::size_t n, bool is_partial);
  /// False if the connection is broken.
  bool flush();
  bool continue_dump();
  void settle();
  void done();

  static constexpr std::size_t kMostPending = 1 << 20, kMostPartial = 8 << 20;

  Worker& worker_;
  Context& context_;
  int descriptor_;
  std::string peer_;
  Output output_;
  Session session_;
  std::string partial_;  ///< of a request that has not arrived whole
  bool broken_ = false, yielded_ = false;
  std::uint64_t dump_classes_ = 0, dump_position_ = 0;
  Dump dump_kind_ = Dump::metadump;
  Loop::Watch watch_;
};

}  // namespace rubato::cached
