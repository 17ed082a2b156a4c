// A client's socket: receives into the thread's buffer or straight into an item, lets the session work, and
// sends.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "cached/net/loop.hpp"
#include "cached/net/transport.hpp"
#include "cached/protocol/event_log.hpp"
#include "cached/protocol/report.hpp"
#include "cached/protocol/session.hpp"

namespace rubato::cached {

class Worker;

/// With an executor a connection is its thread's while no requests are under way, and then theirs: `turn_`
/// says whose it is.
class Connection final : public RequestWork {
 public:
  /// Owns the descriptor. `tls` is null: it has none.
  Connection(Worker& worker, Context& context, int descriptor, std::unique_ptr<TlsStream> tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int descriptor() const { return transport_.descriptor(); }
  /// No whole request came for more than so many seconds, and none is under way. A value that arrives slowly
  /// is under way; a line that does not end is not. In the thread's loop.
  bool idle_for(std::uint32_t seconds) const {
    return turn_ == Turn::thread && !output_.pending() && !yielded_ && !dump_ && !watching_ &&
           !session_.awaits_value() && !session_.swallows() &&
           context_.clock.now() - session_.last_request() > seconds;
  }
  /// The present activity, for `stats conns`; from any thread, as long as the connection exists.
  ConnectionReport report() const;
  /// Nothing has come for too long: why it ends, for those that watch.
  void note_idle() { was_idle_ = true; }
  /// Sends what it can. False if the connection is broken.
  bool flush();
  void work() override;

 private:
  /// The owner of the connection: its thread; its requests; its requests, with something new to receive; its
  /// thread as soon as the loop comes to it.
  enum class Turn : std::uint8_t { thread, requests, requests_and_more, posted };

  /// The state that other threads see, by memcached's names.
  enum class State : std::uint8_t { read, parse_cmd, nread, swallow, mwrite, watch };
  void note(State state) { state_.store(state, std::memory_order_relaxed); }
  /// When requests have been worked through: what it waits for.
  void note_wait();

  struct DumpUnderWay {
    std::uint64_t classes = 0, position = 0;
    Dump kind = Dump::metadump;
  };

  static void ready(void* self, int events);
  void fail_handshake();
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
  bool continue_dump();
  /// From now on its client gets lines of events, and what it sends is not read as requests.
  void begin_watch(unsigned kinds);
  bool continue_watch();
  void lines_are_there();
  bool discard();
  void settle();

  static constexpr std::size_t kMostPending = 1 << 20, kMostPartial = 8 << 20;

  Worker& worker_;
  Context& context_;
  Transport transport_;
  bool broken_ = false, yielded_ = false, has_left_ = false, was_idle_ = false;
  std::atomic<State> state_{State::read};
  std::atomic<Turn> turn_{Turn::thread};
  Output output_;
  Session session_;
  // Members that most connections do not need take a word each: there may be many idle connections.
  std::unique_ptr<std::string> partial_;  ///< of a request that has not arrived whole; not empty
  std::unique_ptr<DumpUnderWay> dump_;    ///< that is being appended
  /// A client that watches. The log notifies the loop of lines, and the connection may have ended by then.
  struct Watching {
    Connection* connection;
    std::shared_ptr<EventLog::Watcher> watcher;
  };
  std::unique_ptr<std::shared_ptr<Watching>> watching_;
  std::unique_ptr<std::string> arrived_;  ///< what requests under way work through
  std::size_t received_ = 0;              ///< or how much of a value has arrived in its item
  Loop::Watch watch_;
};

}  // namespace rubato::cached
