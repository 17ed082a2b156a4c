// One client's socket: receives into the thread's buffer or straight into an item, lets the session work, and
// sends.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string>

#include "cached/net/loop.hpp"
#include "cached/protocol/session.hpp"

namespace rubato::cached {

class Worker;

/// With an executor a connection is its thread's while no requests are under way, and then theirs: `turn_`
/// says whose it is.
class Connection final : public RequestWork {
 public:
  /// Owns the descriptor.
  Connection(Worker& worker, Context& context, int descriptor, std::string peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& peer() const { return peer_; }
  /// Nothing is under way, and nothing came for more than so many seconds. In the thread's loop.
  bool idle_for(std::uint32_t seconds) const {
    return turn_ == Turn::thread && !output_.pending() && partial_.empty() &&
           context_.clock.now() - session_.last_request() > seconds;
  }
  /// Sends what it can; the server is about to end.
  void last_flush();
  void work() override;

 private:
  /// Whose it is: its thread's; its requests'; theirs, with something new to receive; its thread's as soon as
  /// the loop comes to it.
  enum class Turn : std::uint8_t { thread, requests, requests_and_more, posted };

  static void ready(void* self, int events);
  /// False if the connection is no longer this thread's.
  bool readable();
  bool receive();
  /// Straight into the item that waits for it.
  bool receive_value();
  bool arrived(ssize_t got);
  bool process(const char* data, std::size_t n);
  void consume(const char* data, std::size_t n);
  bool hand_over();
  void hand_back();
  /// False if the connection is broken.
  bool flush();
  bool continue_dump();
  void settle();

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
  std::string arrived_;       ///< what requests under way work through
  std::size_t received_ = 0;  ///< or how much of a value has arrived in its item
  std::atomic<Turn> turn_{Turn::thread};
  Loop::Watch watch_;
};

}  // namespace rubato::cached
