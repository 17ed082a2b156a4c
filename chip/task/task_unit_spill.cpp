// The task unit's spills and refills (C13). Both are internal tasks: sequences of steps, each a memory access
// or a queue operation, that a core makes for the task unit.
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
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

// ---- Spill ----

bool TaskUnit::can_spill() const {
  if (spill_.active || queue_.used() < spill_threshold_ || queue_.spillable() == 0) return false;
  // Small batches cost more than they gain: only where an entry is needed now.
  if (queue_.spillable() <= context_.config.task.spill_batch && waiting_.empty() &&
      queue_.has_room(false, false))
    return false;
  if (queue_.spillable() >= 2) return true;
  const Task* only = queue_.a_spillable();
  // The only one stays if it was read back and at most attempts want an entry: they can do without, since the
  // earliest goes on non-speculatively. Else those that create themselves again and again (`after`) might
  // have it spilled each time before it has run. It is no hindrance for earlier ones in memory.
  const bool is_earlier_spilled =
      lacks_entry_for_untimed() || (!refills_.empty() && refills_.back()->order < only->order);
  if (only->is_read_back && !has_committed_waiting() && !is_earlier_spilled) return false;
  // It stays, too, if it may be what the GVT waits for, read back a moment ago, and can have a core: one
  // that is free or that a speculative task would give, and not its locale's holder alone, which may need
  // room.
  if (!is_earliest(only->descriptor.has_timestamp, only->descriptor.timestamp) ||
      (context_.arbiter != nullptr && !context_.arbiter->gvt_waits_at(tile_)))
    return true;
  bool has_core = false;
  for (std::uint32_t slot = 0; slot < cores_; ++slot) {
    const Task* task = slots_[slot].task;
    if (task == nullptr || task->attempt != nullptr) {
      has_core = true;
    } else if (only->descriptor.has_locale && queue_.holds_locale(slot) &&
               queue_.locale_of(slot) == only->descriptor.locale) {
      return true;
    }
  }
  for (std::uint32_t holder = kMaxCoresPerTile; suspended_count_ != 0 && holder < kMaxHolders; ++holder)
    if (only->descriptor.has_locale && queue_.holds_locale(holder) &&
        queue_.locale_of(holder) == only->descriptor.locale)
      return true;
  return !has_core;
}

void TaskUnit::start_spill() {
  // The lane with most tasks to spill; never its earliest, unless other lanes keep one. Of two that would
  // lose it: one whose earliest is not needed now, or else the one whose earliest is the later.
  const auto is_needed = [this](const Task& first) {
    return first.is_read_back || is_earliest(first.descriptor.has_timestamp, first.descriptor.timestamp);
  };
  Lane lane = kAllLanes[0];
  for (const Lane other : kAllLanes) {
    const Task *const first = queue_.earliest(lane), *const another = queue_.earliest(other);
    const std::uint32_t there = queue_.spillable(lane), here = queue_.spillable(other);
    const auto keeps = [&] {  // the earliest of `lane`
      return first == nullptr || another == nullptr ||
             (is_needed(*first) && (!is_needed(*another) || first->before(*another)));
    };
    if (here > there || (here == there && keeps())) lane = other;
  }
  const std::uint32_t count =
      std::min(context_.config.task.spill_batch, std::max(1u, queue_.spillable(lane) - 1));
  queue_.take_latest(lane, count, spill_.tasks);
  // That one waits for its turn still.
  if (count == 1 && spill_.tasks.front()->is_read_back && !spill_.tasks.front()->descriptor.has_timestamp)
    dispatches_since_untimed_ = kDispatchesPerRefill;
  spill_.active = true;
  spill_.written = spill_.stored = 0;
  spill_.batch = area_.open_batch(count);
  spill_.lines.clear();
  spill_.touched = 0;
  guest_turns_ = std::max(guest_turns_, 1u);
  ++stats_.spills;
}

// Lines that are full, or all once every task is in the batch. Stores wait for nothing but a place in the
// store buffer, and the end of the spill for none of them: a line is busy until its store is performed, so no
// refill reads it before.
Cycle TaskUnit::store_spilled_lines(CoreId core, Cycle now) {
  const std::uint32_t end = spill_.written < spill_.tasks.size() ? area_.full_lines(spill_.batch)
                                                                 : area_.written_lines(spill_.batch);
  if (spill_.stored == end) return kNever;
  std::deque<Cycle>& stores = spill_.stores;
  while (!stores.empty() && stores.front() <= now) stores.pop_front();
  if (stores.size() >= context_.config.core.store_buffer) return stores.front();
  const LineAddr line = area_.line(spill_.batch, spill_.stored);
  const AccessResult result = context_.memory.access(core, line, AccessKind::untracked_line_store, now);
  if (!result.done) return now + kRetry;
  stores.push_back(stores.empty() ? result.cycle : later(stores.back(), result.cycle));
  ++spill_.stored;
  return now + 1;
}

Cycle TaskUnit::step_spill(CoreId core, Cycle now) {
  if (is_writing_batch()) {
    if (const Cycle next = store_spilled_lines(core, now); next != kNever) return next;
    account_occupancy(now);
    if (spill_.written < spill_.tasks.size()) {
      Task* task = spill_.tasks[spill_.written++];
      area_.append(spill_.batch, task);
      ++stats_.spilled;
      if (context_.observer != nullptr) context_.observer->on_spilled(task->id, tile_, now);
      // The last entry is kept until the refill task has a place.
      if (spill_.written < spill_.tasks.size()) queue_.release_spilling();
    } else {
      queue_.release_spilling();
      const std::uint32_t batch = std::exchange(spill_.batch, SpillArea::kNoBatch);
      if (spill_.tasks.front()->descriptor.has_timestamp) {
        const bool gained = spill_.tasks.size() >= 2;
        const bool entry = queue_.refills() == 0 || (gained && queue_.refills() < max_refills_);
        place_refill(make_refill(batch), entry, spill_.lines);
      } else {
        chain_untimed(batch, batch, spill_.lines);
      }
    }
    serve_waiting(now);
    return now + std::max<Latency>(1, context_.config.task.dequeue_cycles);
  }
  if (const Cycle next = touch_lines(core, spill_.lines, spill_.touched, now); next != kNever) return next;
  spill_.active = false;
  return kNever;
}

// All cores of the tile are busy and somebody waits for an entry: a core whose create is stalled lends its
// port.
void TaskUnit::borrow_stalled_core(Cycle now) {
  for (std::uint32_t slot = 0; slot < cores_; ++slot) {
    CoreSlot& c = slots_[slot];
    if (!is_waiting(slot) || c.granted || c.borrowed) continue;
    c.borrowed = true;
    ++stats_.borrowed;
    start_spill();
    schedule(now, TaskEvent::borrowed_step, slot);
    return;
  }
}

Cycle TaskUnit::touch_lines(CoreId core, std::vector<LineAddr>& lines, std::size_t& touched, Cycle now) {
  if (touched == lines.size()) return kNever;
  const AccessResult result = context_.memory.access(core, lines[touched], AccessKind::untracked_store, now);
  if (!result.done) return now + kRetry;
  ++touched;
  return later(now + 1, result.cycle);
}

// ---- Refill tasks: where they are ----

Task* TaskUnit::make_refill(std::uint32_t batch) {
  Task* refill = context_.pool.acquire();
  refill->descriptor = TaskDescriptor{};
  refill->id = context_.next_id++;
  refill->parent = 0;
  refill->is_refill = true;
  refill->state = TaskState::idle;
  refill->batch = batch;
  update_refill(refill);
  return refill;
}

// A refill task stands for the earliest task it has still to read.
void TaskUnit::update_refill(Task* refill) {
  const Task* first = area_.front(refill->batch);
  refill->descriptor.has_timestamp = first->descriptor.has_timestamp;
  refill->descriptor.timestamp = first->descriptor.timestamp;
  refill->order = first->order;
  refill->tie = first->tie;
}

void TaskUnit::insert_refill(Task* refill) {
  const auto later_than = [](const Task* a, const Task* b) { return b->before(*a); };
  refills_.insert(std::lower_bound(refills_.begin(), refills_.end(), refill, later_than), refill);
}

/// @param entry_is_free a queue entry may be taken for a refill task.
void TaskUnit::place_refill(Task* refill, bool entry_is_free, std::vector<LineAddr>& lines) {
  if (entry_is_free) {
    queue_.add_refill();
    insert_refill(refill);
  } else if (!refills_.empty() && refill->before(*refills_.front())) {
    area_.overflow_push(refills_.front(), lines);
    refills_.erase(refills_.begin());
    insert_refill(refill);
  } else {
    area_.overflow_push(refill, lines);
  }
  settle_overflow(lines);
}

void TaskUnit::settle_overflow(std::vector<LineAddr>& lines) {
  while (!area_.overflow_empty() && !refills_.empty() && area_.overflow_top()->before(*refills_.front())) {
    Task* earlier = area_.overflow_pop(lines);
    area_.overflow_push(refills_.front(), lines);
    refills_.erase(refills_.begin());
    insert_refill(earlier);
  }
}

// They go to the end of the chain: the number of the first, to the last line of the one before.
void TaskUnit::chain_untimed(std::uint32_t first, std::uint32_t last, std::vector<LineAddr>& lines) {
  if (untimed_refill_ == nullptr) {
    untimed_refill_ = make_refill(first);
  } else {
    area_.chain(last_untimed_, first);
    lines.push_back(area_.line(last_untimed_, area_.written_lines(last_untimed_) - 1));
  }
  last_untimed_ = last;
}

void TaskUnit::add_initial(const std::vector<Task*>& tasks) {
  if (tasks.empty()) return;
  const bool has_timestamps = tasks.front()->descriptor.has_timestamp;
  // Written before the region: no time passes here.
  std::vector<LineAddr> lines;
  std::uint32_t first = SpillArea::kNoBatch, last = SpillArea::kNoBatch;
  auto left = static_cast<std::uint32_t>(std::min<std::size_t>(tasks.size(), ~std::uint32_t{0}));
  for (Task* task : tasks) {
    task->order = has_timestamps ? task->descriptor.timestamp : 0;
    if (last == SpillArea::kNoBatch || area_.size(last) == area_.batch_capacity()) {
      const std::uint32_t batch = area_.open_batch(std::min(left, area_.batch_capacity()));
      if (last == SpillArea::kNoBatch) {
        first = batch;
      } else {
        area_.chain(last, batch);
      }
      last = batch;
    }
    area_.append(last, task);
    --left;
  }
  if (has_timestamps) {
    place_refill(make_refill(first), queue_.refills() < max_refills_, lines);
  } else {
    chain_untimed(first, last, lines);
  }
}

// ---- Refill ----

// The last entry is for tasks with the GVT's timestamp, and for what the earliest task may be creating: where
// both want it they take turns.
bool TaskUnit::has_room_for_earliest() const {
  return queue_.has_room(true, false) &&
         (queue_.has_room(false, false) || is_refill_turn_ || !has_committed_waiting());
}

// Earlier than all idle tasks here, which cannot commit before it.
bool TaskUnit::precedes_idle(const Task& refill) const {
  if (!refill.descriptor.has_timestamp) return false;
  for (const Lane lane : {Lane::timestamped, Lane::timestamped_nonspec})
    if (const Task* first = queue_.earliest(lane); first != nullptr && !refill.before(*first)) return false;
  return true;
}

// Children of later speculative tasks come after what has a timestamp here, perhaps for ever.
bool TaskUnit::has_untimed_now() const {
  for (const Lane lane : {Lane::untimestamped, Lane::untimestamped_nonspec})
    if (const Task* first = queue_.earliest(lane); first != nullptr && first->order <= gvt().timestamp)
      return true;
  return false;
}

bool TaskUnit::lacks_entry_for_untimed() const {
  return idle_untimed_refill() != nullptr && !has_untimed_now() && being_refilled() == 0 &&
         !has_room_for_untimed();
}

// Needed: the GVT waits for it, or it has no timestamp and no such task is here. Else it must not fill the
// queue so far that its tasks would be spilled again; but if it precedes all idle tasks it is read up to the
// threshold: where later attempts fill the commit queue, the GVT would go from one spilled task to the next.
bool TaskUnit::may_refill(const Task& refill) const {
  if (queue_.unlimited()) return true;
  if (is_earliest(refill.descriptor.has_timestamp, refill.descriptor.timestamp))
    return has_room_for_earliest();
  if (!refill.descriptor.has_timestamp && !has_untimed_now()) return has_room_for_untimed();
  return queue_.used() + area_.size(refill.batch) < spill_threshold_ ||
         (queue_.used() + 1 < spill_threshold_ && precedes_idle(refill));
}

bool TaskUnit::may_read_next(const Task& refill) const {
  if (queue_.unlimited()) return true;
  if (is_earliest(refill.descriptor.has_timestamp, refill.descriptor.timestamp))
    return has_room_for_earliest();
  if (!refill.descriptor.has_timestamp && !has_untimed_now()) return has_room_for_untimed();
  return queue_.used() + 1 < spill_threshold_;
}

// Of refills that run already.
std::uint32_t TaskUnit::being_refilled() const {
  std::uint32_t tasks = 0;
  for (const Refill& reading : reading_)
    if (reading.task != nullptr) tasks += area_.size(reading.task->batch);
  return tasks;
}

// Another refill at the same time only where all that is being read finds room.
bool TaskUnit::may_start_refill(const Task& refill) const {
  const std::uint32_t others = being_refilled();
  if (others == 0 || queue_.unlimited()) return may_refill(refill);
  const bool earliest = is_earliest(refill.descriptor.has_timestamp, refill.descriptor.timestamp);
  return queue_.used() + others + area_.size(refill.batch) <
         (earliest ? queue_.capacity() - 1 : spill_threshold_);
}

void TaskUnit::start_refill(Task* refill, std::uint32_t slot) {
  // One that has waited for its turn: else what it reads may be what is spilled, while the other cores start
  // others.
  if (refill == untimed_refill_ || dispatches_since_timed_ >= kDispatchesPerTimedRefill)
    guest_turns_ = cores_;
  if (refill != untimed_refill_) {
    RUBATO_CHECK(refills_.back() == refill, "a refill that is not next starts");
    dispatches_since_timed_ = 0;
    refills_.pop_back();
  }
  refill->state = TaskState::running;
  Refill& reading = reading_[slot];
  reading.task = refill;
  reading.arrivals.clear();
  reading.lines.clear();
  reading.touched = 0;
  ++stats_.refills;
}

// The running refill task yields: it is idle again, and what is earliest of all has an entry.
void TaskUnit::park_refill(Refill& reading) {
  Task* refill = std::exchange(reading.task, nullptr);
  refill->state = TaskState::idle;
  if (refill == untimed_refill_) return;
  insert_refill(refill);
  settle_overflow(reading.lines);
}

Cycle TaskUnit::step_refill(CoreId core, Cycle now) {
  Refill& reading = reading_[slot_of(core)];
  Task* refill = reading.task;
  if (refill == nullptr) {
    return touch_lines(core, reading.lines, reading.touched, now);
  }
  if (!may_read_next(*refill)) {
    park_refill(reading);
    return step_refill(core, now);
  }
  // An in-order core that stalls on use: it reads as far ahead as its load buffer allows before it waits.
  std::deque<Cycle>& arrivals = reading.arrivals;
  const std::uint32_t needed = area_.lines_of_front(refill->batch);
  const std::uint32_t ahead = std::max(needed, context_.config.core.load_buffer);
  if (arrivals.size() < std::min(area_.lines_left(refill->batch), ahead)) {
    const LineAddr line = area_.line(
        refill->batch, area_.first_line_left(refill->batch) + static_cast<std::uint32_t>(arrivals.size()));
    const AccessResult result = context_.memory.access(core, line, AccessKind::untracked_load, now);
    if (!result.done) return now + kRetry;
    arrivals.push_back(arrivals.empty() ? result.cycle : later(arrivals.back(), result.cycle));
    return now + 1;
  }
  if (now < arrivals[needed - 1]) return arrivals[needed - 1];
  // The descriptor has arrived and there is room: the task is idle again.
  if (!queue_.has_room(false, false)) is_refill_turn_ = false;
  const std::uint32_t line_before = area_.first_line_left(refill->batch);
  Task* task = area_.take_front(refill->batch);
  if (area_.first_line_left(refill->batch) != line_before) arrivals.pop_front();
  ++stats_.refilled;
  if (refill == untimed_refill_) dispatches_since_untimed_ = 0;
  if (context_.observer != nullptr) context_.observer->on_refilled(task->id, tile_, now);
  if (area_.size(refill->batch) > 0) {
    update_refill(refill);
  } else if (const std::uint32_t successor = area_.close_batch(refill->batch);
             successor != SpillArea::kNoBatch) {
    refill->batch = successor;
    update_refill(refill);
    park_refill(reading);
  } else {
    reading.task = nullptr;
    context_.pool.release(refill);
    if (refill == untimed_refill_) {
      untimed_refill_ = nullptr;
    } else {
      account_occupancy(now);
      queue_.remove_refill();
      if (!area_.overflow_empty()) {
        queue_.add_refill();
        insert_refill(area_.overflow_pop(reading.lines));
      }
    }
  }
  task->is_read_back = true;
  account_occupancy(now);
  queue_.insert(task);
  serve_waiting(now);
  evaluate(now);
  return now + std::max<Latency>(1, context_.config.task.create_cycles);
}

}  // namespace rubato::chip
