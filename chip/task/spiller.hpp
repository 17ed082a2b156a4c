// A tile's spills and refills (C13): which tasks leave the task queue for memory, and when they come back.
// Both are internal tasks: sequences of steps, each a memory access or a queue operation, that a core makes
// for the task unit.
//   spill    takes the latest idle tasks of one lane out of the dispatch order and writes them to a batch
//            through the store buffer; whole lines, so nothing is read for them. Their entries are free as
//            they are packed. Ends with a refill task for the batch. One at a time.
//   refill   reads its batch front to back, as far ahead as the load buffer allows, a task each time the
//            queue has room, and yields when it has none: its task keeps its queue entry meanwhile. The next
//            batch of a chain is another dispatch. Several cores may run refills, each of its own batch.
// Refill tasks that find no entry go to the overflow list in memory. Invariant: no idle refill task in the
// queue is later than the list's top.
// Batches of tasks without a timestamp have no order: they form one chain, behind one refill task, which has
// registers of its own instead of an entry. Later tasks that fill the queue never keep it from being read: a
// timestamped task may wait for what is in it (a TaskGroup's `after`).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "chip/task/admission.hpp"
#include "chip/task/spill_area.hpp"
#include "chip/task/tile_state.hpp"

namespace rubato::chip {

class Spiller {
 public:
  /// @param base of the tile's spill area, line-aligned; @param bytes of it.
  Spiller(TileState& state, Admission& admission, Addr base, std::uint64_t bytes);
  void begin_region() { guest_turns_ = 0; }
  /// Tasks without an entry, of one lane, in ascending order: batches behind one refill task (C4).
  void add(const std::vector<Task*>& tasks);

  // Tasks in memory, or on the way there or back.
  std::uint64_t spilled_tasks() const { return area_.tasks(); }
  /// Refill tasks that have no entry of the task queue wait.
  bool has_outside_queue() const { return !area_.overflow_empty() || untimed_refill_ != nullptr; }
  /// Spilled tasks want to be read.
  bool has_refills() const { return !refills_.empty() || untimed_refill_ != nullptr; }
  /// The refill of all spilled tasks without a timestamp, idle or running; null: there are none.
  const Task* untimed_refill() const { return untimed_refill_; }
  /// Calls visit(const Task*) for what stands for spilled tasks; of each kind the earliest, or null.
  template <class Visit>
  void for_each_earliest(Visit visit) const {
    if (is_writing_batch()) visit(spill_.tasks.front());
    if (!refills_.empty()) visit(refills_.back());
    if (state_.states.in(CoreState::internal) != 0)
      for (const Refill& reading : reading_) visit(reading.task);
    visit(area_.overflow_top());
  }

  /// At least one spilled task has the GVT's timestamp, or none.
  bool has_earliest_spilled() const;

  // Spills.
  bool is_below_threshold() const { return state_.queue.used() < threshold_; }
  bool is_spilling() const { return spill_.active; }
  bool can_spill() const;
  /// Guest tasks have had their turn.
  bool is_turn() const { return guest_turns_ == 0; }
  void start_spill();
  /// On a core whose pipeline waits, if there is one: TaskEvent::borrowed_step for each step.
  void spill_on_stalled_core(Cycle now);
  /// @returns the cycle of the next step, or kNever at the end.
  Cycle step_spill(CoreId core, Cycle now);

  // Refills.
  /// The earliest idle one that has a timestamp; null: none.
  Task* next_refill() const { return refills_.empty() ? nullptr : refills_.back(); }
  /// Null if there are no spilled tasks without a timestamp or they are being read.
  Task* idle_untimed_refill() const {
    return untimed_refill_ != nullptr && untimed_refill_->state == TaskState::idle ? untimed_refill_
                                                                                   : nullptr;
  }
  /// Tasks of refills that run already.
  std::uint32_t being_refilled() const;
  bool may_refill(const Task& refill) const;
  bool may_start_refill(const Task& refill) const;
  /// Spilled tasks without a timestamp wait for an entry, none of them is here, and the queue is full.
  bool lacks_entry_for_untimed() const;
  void start_refill(Task* refill, std::uint32_t slot);
  /// As step_spill(). @param is_read a task was read: it is idle here.
  Cycle step_refill(CoreId core, Cycle now, bool& is_read);

  // Turns of guest tasks and of refills.
  /// Enough guest tasks have started since the last refill: spilled tasks that could come later do now.
  bool is_untimed_due() const { return starts_since_untimed_ >= kStartsPerRefill; }
  bool is_timed_due() const { return starts_since_timed_ >= kStartsPerTimedRefill; }
  /// A guest task starts; `takes_turn`: it came before those whose turn it is.
  void count_start(bool takes_turn) {
    if (takes_turn && guest_turns_ != 0) --guest_turns_;
    ++starts_since_timed_;
    ++starts_since_untimed_;
  }
  /// An attempt makes room for `task`. If that is the refill without a timestamp, it comes next. Otherwise
  /// the task of that attempt would be the next again.
  void prefer(const Task* task) {
    if (task == nullptr || task != untimed_refill_) return;
    starts_since_untimed_ = kStartsPerRefill;
    guest_turns_ = 0;
  }

 private:
  static constexpr std::uint32_t kStartsPerRefill = 64;
  static constexpr std::uint32_t kStartsPerTimedRefill = 1024;  // more often it costs more than it gains
  struct Spill {
    bool active = false;
    std::vector<Task*> tasks;
    std::size_t written = 0;                    ///< tasks
    std::uint32_t stored = 0;                   ///< lines
    std::uint32_t batch = SpillArea::kNoBatch;  ///< until its refill task has a place
    std::vector<LineAddr> lines;                ///< of the overflow list, still to be touched
    std::size_t touched = 0;
    std::deque<Cycle> stores;  ///< when those under way will have been performed
  };
  struct Refill {
    Task* task = nullptr;        ///< the running refill task; null while the last lines are touched
    std::deque<Cycle> arrivals;  ///< of the next lines, which are being read
    std::vector<LineAddr> lines;
    std::size_t touched = 0;
  };

  bool is_writing_batch() const { return spill_.batch != SpillArea::kNoBatch; }
  Lane lane_to_spill() const;
  bool keeps_only(const Task& only) const;
  Cycle store_spilled_lines(CoreId core, Cycle now);
  void end_batch();
  Cycle touch_lines(CoreId core, std::vector<LineAddr>& lines, std::size_t& touched, Cycle now);

  Task* make_refill(std::uint32_t batch);
  void update_refill(Task* refill);
  void insert_refill(Task* refill);
  void place_refill(Task* refill, bool entry_is_free, std::vector<LineAddr>& lines);
  void settle_overflow(std::vector<LineAddr>& lines);
  /// The batches that hold `tasks`, first and last of their chain.
  struct Chain {
    std::uint32_t first = SpillArea::kNoBatch, last = SpillArea::kNoBatch;
  };
  Chain append(const std::vector<Task*>& tasks);
  void chain_untimed(std::uint32_t first, std::uint32_t last, std::vector<LineAddr>& lines);

  bool is_earliest(const Task& task) const {
    return state_.is_earliest(task.descriptor.has_timestamp, task.descriptor.timestamp);
  }
  bool has_room_for_earliest() const;
  /// The last entry too, unless the earliest may be creating what needs it.
  bool has_room_for_untimed() const {
    return state_.queue.has_room(!admission_.has_committed_waiting(), false);
  }
  bool precedes_idle(const Task& refill) const;
  bool has_untimed_now() const;  ///< one that is idle and may run before all that comes later
  bool may_read_next(const Task& refill) const;
  void park_refill(Refill& reading);
  void end_refill(Refill& reading, Cycle now);

  TileState& state_;
  Admission& admission_;
  SpillArea area_;
  std::uint32_t threshold_;                                          // entries
  std::uint32_t max_refills_;                                        // refill tasks in the queue
  std::uint32_t guest_turns_ = 0;                                    // so many start before an unneeded spill
  std::uint32_t starts_since_timed_ = 0, starts_since_untimed_ = 0;  // spilled tasks were read back
  Task* untimed_refill_ = nullptr;                                   // of all without one, idle or running
  std::uint32_t last_untimed_ = SpillArea::kNoBatch;                 // of the chain of untimed_refill_
  std::vector<Task*> refills_;                                       // idle, with a timestamp, latest first
  Spill spill_;
  std::array<Refill, kMaxCoresPerTile> reading_;  // by core slot
};

}  // namespace rubato::chip
