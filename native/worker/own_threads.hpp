// Threads of actors that have one of their own (Spawn::thread), for handlers that block. Workers take
// messages from the mailbox as of every actor; a turn gives one message to the thread and ends. The thread
// handles it as a thread outside, and makes the next turn due. So the mailbox, bounds, supervision and the
// end are those of every actor.
//
// A thread begins with its first message in a run and ends with that run, or with its actor. While it has a
// message a hold keeps the run open.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "native/pool/atomics.hpp"
#include "rubato/engine/actor_cell.hpp"
#include "rubato/engine/native_options.hpp"

namespace rubato::inline v0::native {

class OwnThread;

/// The threads of living actors that have begun.
class OwnThreads {
 public:
  /// When the run has ended and no worker runs: waits until their handlers have returned.
  void end_all();

  // ---- Handlers ----
  /// How many messages threads have. Ordered by seq_cst: behind a 0 is seen what their handlers have created.
  unsigned busy() const { return busy_.load(std::memory_order_seq_cst); }
  void begin_message() { busy_.fetch_add(1, std::memory_order_seq_cst); }
  /// @returns whether it was the last
  bool end_message() { return busy_.fetch_sub(1, std::memory_order_seq_cst) == 1; }

 private:
  friend class OwnThread;
  void add(OwnThread& thread);
  void remove(const OwnThread& thread);

  std::mutex mutex_;
  std::vector<OwnThread*> begun_;
  Atomic<unsigned> busy_{0};
};

class OwnThread {
 public:
  /// A message that is away: the turn writes the first part, the thread the second, the next turn reads both.
  struct Message {
    engine::MessageNode* node = nullptr;    ///< null: none is away
    bool is_mine = false;                   ///< not the last one of the mailbox
    Hold hold;                              ///< the thread takes and closes it
    bool was_handled = false;               ///< one of the program
    engine::MessageNode* report = nullptr;  ///< it has failed: for the parent
    std::exception_ptr error;               ///< it has failed, and no parent decides
    std::uint64_t took = 0;                 ///< ticks
  };

  /// @param work  handles the message, on the thread; this object may have another message before it returns
  OwnThread(OwnThreads& all, engine::Cell& cell, void (*work)(OwnThread&))
      : all_(all), cell_(cell), work_(work) {}
  ~OwnThread() { end(); }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  /// Whether the caller is such a thread.
  static bool is_here();
  /// The same, and the thread ends: destructors of its thread_local objects call.
  static bool ends_here();
  engine::Cell& cell() const { return cell_; }
  Message& message() { return message_; }
  /// Before it gets a message. @throws std::system_error, std::bad_alloc
  void begin();
  /// Has the thread handle its message(). By the turn, which touches its actor no more.
  void hand_over();

 private:
  friend class OwnThreads;
  void end();
  void join();
  void run();

  OwnThreads& all_;
  engine::Cell& cell_;
  void (*const work_)(OwnThread&);
  Message message_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_message_ = false, must_end_ = false;
};

}  // namespace rubato::inline v0::native
