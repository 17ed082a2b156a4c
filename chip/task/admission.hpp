// Creates and tasks that wait for an entry. Creates of the tile's cores and refused ones of other tiles wait
// for the task queue. Creates and held children of committed parents wait for the send buffer. Espresso, Fig.
// 6(c); C10, C13, C16.
//
// Free entries are promised to the refused ones, in order. The last entry of the task queue is for tasks with
// the GVT's timestamp. Two entries of the send buffer are closed to children of speculative tasks. Such
// children may stay there until their parents commit, and that commit may need creates of other tasks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "chip/task/tile_state.hpp"

namespace rubato::chip {

class Admission {
 public:
  explicit Admission(TileState& state) : state_(state) {}

  // Waiting creates and tasks.
  /// Whether creates or tasks wait for an entry of the task queue.
  bool has_waiting() const { return !waiting_.empty(); }
  /// Likewise, for those with a committed parent.
  bool has_committed_waiting() const {
    for (const Waiting& w : waiting_)
      if (!is_of_uncommitted(w)) return true;
    return false;
  }
  /// Likewise, for those that would get a free entry.
  bool has_waiting_for_room() const {
    return !waiting_.empty() && (state_.queue.has_uncommitted_share() || has_committed_waiting());
  }
  /// Likewise, for an entry of any queue, on a core or in a send buffer.
  bool stalls() const { return !waiting_.empty() || !send_waiting_.empty(); }
  /// The task, created elsewhere, waits for an entry here.
  bool has_refused(const Task& task) const;

  // Creates on the core of a slot, whose `destination` is set.
  bool has_room_for(std::uint32_t slot, const TaskDescriptor& task, Cycle now);
  /// The create waits until the core is woken and its slot is granted.
  void stall(std::uint32_t slot, const TaskDescriptor& task, Cycle now);
  /// The granted create uses the entry that was promised.
  void redeem(std::uint32_t slot, Cycle now);
  /// The task on `slot`, aborted, no longer wants what its create waited for.
  void forget_create(std::uint32_t slot, Cycle now);

  // Messages of the enqueue protocol.
  /// `task`, not in the buffer yet, has room there: it is sent to tile `to`.
  void send(Task* task, TileId to, Cycle now) {
    send_create(state_.send.add(task, to), TaskEvent::create_arrives, now);
  }
  /// The entry in `slot` of the send buffer, again after a grant.
  void send_granted(std::uint32_t slot, Cycle now) { send_create(slot, TaskEvent::granted_arrives, now); }
  /// A held task that may go where it runs, another tile: as soon as the send buffer has room. It keeps its
  /// entry here until then.
  void send_held(Task* task, Cycle now);
  /// `task` of `slot` of the send buffer of tile `from` arrived. False: no room, it waits and was told so.
  bool receive(Task* task, TileId from, std::uint32_t slot, bool granted, Cycle now);
  /// The entry in `slot` of the send buffer will be acknowledged at `at`.
  void expect_acknowledgement(std::uint32_t slot, Cycle at);

  // After every change that may give room.
  /// Serves those that wait for the task queue.
  void serve_waiting(Cycle now);
  /// Serves those that wait for the send buffer: held tasks first.
  void serve_senders(Cycle now) {
    serve_held(now);
    serve_stalled_senders(now);
  }

  /// Appends the creates and tasks that wait for an entry of the task queue, a line each.
  void describe_waiting(std::string& out) const;

 private:
  struct Waiting {       ///< for an entry of this task queue
    Task* task;          ///< in a send buffer; null: on a core here, not yet made
    std::uint32_t slot;  ///< of that buffer, or of the core
    TileId from;
    bool has_timestamp;
    Timestamp timestamp;
  };
  bool is_of_uncommitted(const Waiting& w) const {
    return w.task == nullptr ? state_.slots[w.slot].task->attempt != nullptr
                             : w.task->uncommitted_parent != nullptr;
  }
  bool has_room_for(const Waiting& w) const;
  bool awaits_promotion() const;
  void wait_for_entry(const Waiting& w, Cycle now);
  /// Entries of the send buffer that stay free for others.
  static std::uint32_t send_reserve(const Task& creator) { return creator.attempt != nullptr ? 2 : 0; }
  /// A create or a held task waits for an entry of the send buffer from now on.
  void await_send_buffer(Cycle now);
  void send_create(std::uint32_t slot, TaskEvent event, Cycle now);
  void answer(TileId to, std::uint32_t slot, TaskEvent event, Cycle now);
  void go_on(std::uint32_t slot, Cycle now);
  void serve_held(Cycle now);
  void serve_stalled_senders(Cycle now);

  TileState& state_;
  std::deque<Waiting> waiting_;
  std::deque<std::uint32_t> send_waiting_;  // core slots
  std::deque<Task*> held_;                  // children of committed parents, for the send buffer
};

}  // namespace rubato::chip
