// The spills and refills of spiller.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/spiller.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

Spiller::Spiller(TileState& state, Admission& admission, Addr base, std::uint64_t bytes)
    : state_(state), admission_(admission), area_(base, bytes, state.context.config.task.spill_batch) {
  // At least one guest task besides the entries kept for refills and for the earliest task; at most all but
  // the latter.
  const TaskQueue& queue = state.queue;
  const double share = state.context.config.task.spill_threshold * queue.capacity();
  const auto entries = static_cast<std::uint32_t>(std::ceil(share));
  threshold_ = queue.unlimited() ? ~std::uint32_t{0} : std::clamp(entries, 3u, queue.capacity() - 1);
  max_refills_ = queue.unlimited() ? ~std::uint32_t{0} : TaskQueue::max_refills(queue.capacity());
}

bool Spiller::has_earliest_spilled() const {
  bool found = untimed_refill_ != nullptr;
  for_each_earliest(
      [&](const Task* task) { found = found || (task != nullptr && task->order <= state_.gvt().timestamp); });
  return found;
}

// ---- Spill ----

bool Spiller::can_spill() const {
  const TaskQueue& queue = state_.queue;
  if (spill_.active || queue.used() < threshold_ || queue.spillable() == 0) return false;
  // Small batches cost more than they gain: only where an entry is needed now.
  if (queue.spillable() <= state_.context.config.task.spill_batch && !admission_.has_waiting() &&
      queue.has_room(false, false))
    return false;
  return queue.spillable() >= 2 || !keeps_only(*queue.a_spillable());
}

bool Spiller::keeps_only(const Task& only) const {
  const TaskQueue& queue = state_.queue;
  // The only one stays if it was read back and at most attempts want an entry: they can do without, since the
  // earliest goes on non-speculatively. Else those that create themselves again and again (`after`) might
  // have it spilled each time before it has run. It is no hindrance for earlier ones in memory.
  const bool is_earlier_spilled =
      lacks_entry_for_untimed() || (!refills_.empty() && refills_.back()->order < only.order);
  if (only.is_read_back && !admission_.has_committed_waiting() && !is_earlier_spilled) return true;
  // The task stays, too, if three conditions hold: the GVT may wait for it, it was just read back, and it can
  // have a core. That core is free, or a speculative task would give it. Besides, no non-speculative or
  // suspended task holds its locale, for that task may need room.
  if (!is_earliest(only) ||
      (state_.context.arbiter != nullptr && !state_.context.arbiter->gvt_waits_at(state_.tile)))
    return false;
  const auto has_its_locale = [&](std::uint32_t holder) {
    return only.descriptor.has_locale && queue.holds_locale(holder) &&
           queue.locale_of(holder) == only.descriptor.locale;
  };
  bool has_core = false;
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot) {
    const Task* const task = state_.slots[slot].task;
    if (task == nullptr || task->attempt != nullptr) {
      has_core = true;
    } else if (has_its_locale(slot)) {
      return false;
    }
  }
  for (std::uint32_t suspended = kMaxCoresPerTile; suspended < kMaxHolders; ++suspended)
    if (has_its_locale(suspended)) return false;
  return has_core;
}

// The lane with most tasks to spill; never its earliest, unless other lanes keep one. If two lanes would lose
// it: the one whose earliest is not needed now, or else the one whose earliest is the later.
Lane Spiller::lane_to_spill() const {
  const TaskQueue& queue = state_.queue;
  const auto is_needed = [this](const Task& first) { return first.is_read_back || is_earliest(first); };
  Lane lane = kAllLanes[0];
  for (const Lane other : kAllLanes) {
    const Task *const first = queue.earliest(lane), *const another = queue.earliest(other);
    const std::uint32_t there = queue.spillable(lane), here = queue.spillable(other);
    const auto keeps = [&] {  // the earliest of `lane`
      return first == nullptr || another == nullptr ||
             (is_needed(*first) && (!is_needed(*another) || first->before(*another)));
    };
    if (here > there || (here == there && keeps())) lane = other;
  }
  return lane;
}

void Spiller::start_spill() {
  const Lane lane = lane_to_spill();
  const std::uint32_t count =
      std::min(state_.context.config.task.spill_batch, std::max(1u, state_.queue.spillable(lane) - 1));
  state_.queue.take_latest(lane, count, spill_.tasks);
  // The task without a timestamp, read back but not yet run, still waits for its turn.
  if (count == 1 && spill_.tasks.front()->is_read_back && !spill_.tasks.front()->descriptor.has_timestamp)
    starts_since_untimed_ = kStartsPerRefill;
  spill_.active = true;
  spill_.written = spill_.stored = 0;
  spill_.batch = area_.open_batch(count);
  spill_.lines.clear();
  spill_.touched = 0;
  guest_turns_ = std::max(guest_turns_, 1u);
  ++state_.counts.spills;
}

// Lines that are full, or all once every task is in the batch. Stores wait for nothing but a place in the
// store buffer, and the end of the spill for none of them: a line is busy until its store is performed, so no
// refill reads it before.
Cycle Spiller::store_spilled_lines(CoreId core, Cycle now) {
  const std::uint32_t end = spill_.written < spill_.tasks.size() ? area_.full_lines(spill_.batch)
                                                                 : area_.written_lines(spill_.batch);
  if (spill_.stored == end) return kNever;
  std::deque<Cycle>& stores = spill_.stores;
  while (!stores.empty() && stores.front() <= now) stores.pop_front();
  if (stores.size() >= state_.context.config.core.store_buffer) return stores.front();
  const LineAddr line = area_.line(spill_.batch, spill_.stored);
  const AccessResult result = state_.context.memory.access(core, line, AccessKind::untracked_line_store, now);
  if (!result.done) return now + TileState::kRetry;
  stores.push_back(stores.empty() ? result.cycle : later(stores.back(), result.cycle));
  ++spill_.stored;
  return now + 1;
}

Cycle Spiller::step_spill(CoreId core, Cycle now) {
  if (!is_writing_batch()) {
    if (const Cycle next = touch_lines(core, spill_.lines, spill_.touched, now); next != kNever) return next;
    spill_.active = false;
    return kNever;
  }
  if (const Cycle next = store_spilled_lines(core, now); next != kNever) return next;
  state_.account_occupancy(now);
  if (spill_.written < spill_.tasks.size()) {
    Task* task = spill_.tasks[spill_.written++];
    area_.append(spill_.batch, task);
    ++state_.counts.spilled;
    if (TaskObserver* const observer = state_.context.observer; observer != nullptr)
      observer->on_spilled(task->id, state_.tile, now);
    // The last entry is kept until the refill task has a place.
    if (spill_.written < spill_.tasks.size()) state_.queue.release_spilling();
  } else {
    end_batch();
  }
  admission_.serve_waiting(now);
  return now + std::max<Latency>(1, state_.context.config.task.dequeue_cycles);
}

void Spiller::end_batch() {
  state_.queue.release_spilling();
  const std::uint32_t batch = std::exchange(spill_.batch, SpillArea::kNoBatch);
  if (!spill_.tasks.front()->descriptor.has_timestamp) return chain_untimed(batch, batch, spill_.lines);
  const std::uint32_t refills = state_.queue.refills();
  const bool gained = spill_.tasks.size() >= 2;
  place_refill(make_refill(batch), refills == 0 || (gained && refills < max_refills_), spill_.lines);
}

// All cores of the tile are busy and a create or task waits for an entry: a core whose pipeline waits,
// perhaps for long, lends its port.
void Spiller::spill_on_stalled_core(Cycle now) {
  const auto is_waiting = [this](std::uint32_t slot) {
    const CoreState state = state_.states[slot];
    const auto& blocked = state_.context.waiting_for_fate;
    return state == CoreState::stalled || state == CoreState::finishing ||
           (state == CoreState::running &&
            std::find(blocked.begin(), blocked.end(), state_.core_of(slot)) != blocked.end());
  };
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot) {
    CoreSlot& c = state_.slots[slot];
    if (!is_waiting(slot) || c.granted || c.borrowed) continue;
    c.borrowed = true;
    ++state_.counts.borrowed;
    start_spill();
    state_.schedule(now, TaskEvent::borrowed_step, slot);
    return;
  }
}

Cycle Spiller::touch_lines(CoreId core, std::vector<LineAddr>& lines, std::size_t& touched, Cycle now) {
  if (touched == lines.size()) return kNever;
  const AccessResult result =
      state_.context.memory.access(core, lines[touched], AccessKind::untracked_store, now);
  if (!result.done) return now + TileState::kRetry;
  ++touched;
  return later(now + 1, result.cycle);
}

// ---- Refill tasks: where they are ----

Task* Spiller::make_refill(std::uint32_t batch) {
  Task* refill = state_.context.pool.acquire();
  refill->descriptor = TaskDescriptor{};
  refill->id = state_.context.next_id++;
  refill->parent = 0;
  refill->is_refill = true;
  refill->state = TaskState::idle;
  refill->batch = batch;
  update_refill(refill);
  return refill;
}

// A refill task stands for the earliest task it has still to read.
void Spiller::update_refill(Task* refill) {
  const Task* first = area_.front(refill->batch);
  refill->descriptor.has_timestamp = first->descriptor.has_timestamp;
  refill->descriptor.timestamp = first->descriptor.timestamp;
  refill->order = first->order;
  refill->tie = first->tie;
}

void Spiller::insert_refill(Task* refill) {
  const auto later_than = [](const Task* a, const Task* b) { return b->before(*a); };
  refills_.insert(std::lower_bound(refills_.begin(), refills_.end(), refill, later_than), refill);
}

/// @param entry_is_free a queue entry may be taken for a refill task.
void Spiller::place_refill(Task* refill, bool entry_is_free, std::vector<LineAddr>& lines) {
  if (entry_is_free) {
    state_.queue.add_refill();
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

void Spiller::settle_overflow(std::vector<LineAddr>& lines) {
  while (!area_.overflow_empty() && !refills_.empty() && area_.overflow_top()->before(*refills_.front())) {
    Task* earlier = area_.overflow_pop(lines);
    area_.overflow_push(refills_.front(), lines);
    refills_.erase(refills_.begin());
    insert_refill(earlier);
  }
}

// The batches join the end of the chain: the number of the first is written to the last line of the batch
// before it.
void Spiller::chain_untimed(std::uint32_t first, std::uint32_t last, std::vector<LineAddr>& lines) {
  if (untimed_refill_ == nullptr) {
    untimed_refill_ = make_refill(first);
  } else {
    area_.chain(last_untimed_, first);
    lines.push_back(area_.line(last_untimed_, area_.written_lines(last_untimed_) - 1));
  }
  last_untimed_ = last;
}

Spiller::Chain Spiller::append(const std::vector<Task*>& tasks) {
  Chain chain;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Task* const task = tasks[i];
    task->order = task->descriptor.has_timestamp ? task->descriptor.timestamp : 0;
    if (chain.last == SpillArea::kNoBatch || area_.size(chain.last) == area_.batch_capacity()) {
      const std::size_t size = std::min<std::size_t>(tasks.size() - i, area_.batch_capacity());
      const std::uint32_t batch = area_.open_batch(static_cast<std::uint32_t>(size));
      if (chain.last == SpillArea::kNoBatch) {
        chain.first = batch;
      } else {
        area_.chain(chain.last, batch);
      }
      chain.last = batch;
    }
    area_.append(chain.last, task);
  }
  return chain;
}

void Spiller::add(const std::vector<Task*>& tasks) {
  if (tasks.empty()) return;
  // Written before the region: no time passes here.
  std::vector<LineAddr> lines;
  const auto [first, last] = append(tasks);
  if (tasks.front()->descriptor.has_timestamp) {
    place_refill(make_refill(first), state_.queue.refills() < max_refills_, lines);
  } else {
    chain_untimed(first, last, lines);
  }
}

// ---- Refill ----

// The last entry is for tasks with the GVT's timestamp, and for tasks that the earliest task may be creating.
// If both need it they take turns.
bool Spiller::has_room_for_earliest() const {
  return state_.queue.has_room(true, false) && (state_.queue.has_room(false, false) ||
                                                state_.is_refill_turn || !admission_.has_committed_waiting());
}

// Earlier than all idle tasks here, which cannot commit before it.
bool Spiller::precedes_idle(const Task& refill) const {
  if (!refill.descriptor.has_timestamp) return false;
  for (const Lane lane : {Lane::timestamped, Lane::timestamped_nonspec})
    if (const Task* first = state_.queue.earliest(lane); first != nullptr && !refill.before(*first))
      return false;
  return true;
}

// Children of later speculative tasks come after what has a timestamp here, perhaps for ever.
bool Spiller::has_untimed_now() const {
  for (const Lane lane : {Lane::untimestamped, Lane::untimestamped_nonspec})
    if (const Task* first = state_.queue.earliest(lane);
        first != nullptr && first->order <= state_.gvt().timestamp)
      return true;
  return false;
}

bool Spiller::lacks_entry_for_untimed() const {
  return idle_untimed_refill() != nullptr && !has_untimed_now() && being_refilled() == 0 &&
         !has_room_for_untimed();
}

// Needed: the GVT waits for it, or it has no timestamp and no such task is here. Else it must not fill the
// queue so far that its tasks would be spilled again; but if it precedes all idle tasks it is read up to the
// threshold: where later attempts fill the commit queue, the GVT would go from one spilled task to the next.
bool Spiller::may_refill(const Task& refill) const {
  if (state_.queue.unlimited()) return true;
  if (is_earliest(refill)) return has_room_for_earliest();
  if (!refill.descriptor.has_timestamp && !has_untimed_now()) return has_room_for_untimed();
  return state_.queue.used() + area_.size(refill.batch) < threshold_ ||
         (state_.queue.used() + 1 < threshold_ && precedes_idle(refill));
}

bool Spiller::may_read_next(const Task& refill) const {
  if (state_.queue.unlimited()) return true;
  if (is_earliest(refill)) return has_room_for_earliest();
  if (!refill.descriptor.has_timestamp && !has_untimed_now()) return has_room_for_untimed();
  return state_.queue.used() + 1 < threshold_;
}

// The number of tasks in refills that run already.
std::uint32_t Spiller::being_refilled() const {
  std::uint32_t tasks = 0;
  for (const Refill& reading : reading_)
    if (reading.task != nullptr) tasks += area_.size(reading.task->batch);
  return tasks;
}

// Another refill at the same time only where all that is being read finds room.
bool Spiller::may_start_refill(const Task& refill) const {
  const std::uint32_t others = being_refilled();
  if (others == 0 || state_.queue.unlimited()) return may_refill(refill);
  const bool earliest = is_earliest(refill);
  return state_.queue.used() + others + area_.size(refill.batch) <
         (earliest ? state_.queue.capacity() - 1 : threshold_);
}

void Spiller::start_refill(Task* refill, std::uint32_t slot) {
  // The refill has waited for its turn, so guest tasks get the next turns. Otherwise the tasks it reads might
  // be spilled again while the other cores start other refills.
  if (refill == untimed_refill_ || starts_since_timed_ >= kStartsPerTimedRefill) guest_turns_ = state_.cores;
  if (refill != untimed_refill_) {
    RUBATO_CHECK(refills_.back() == refill, "a refill that is not next starts");
    starts_since_timed_ = 0;
    refills_.pop_back();
  }
  refill->state = TaskState::running;
  Refill& reading = reading_[slot];
  reading.task = refill;
  reading.arrivals.clear();
  reading.lines.clear();
  reading.touched = 0;
  ++state_.counts.refills;
}

// The running refill task yields: it is idle again, and what is earliest of all has an entry.
void Spiller::park_refill(Refill& reading) {
  Task* refill = std::exchange(reading.task, nullptr);
  refill->state = TaskState::idle;
  if (refill == untimed_refill_) return;
  insert_refill(refill);
  settle_overflow(reading.lines);
}

Cycle Spiller::step_refill(CoreId core, Cycle now, bool& is_read) {
  Refill& reading = reading_[state_.slot_of(core)];
  Task* refill = reading.task;
  if (refill == nullptr) {
    return touch_lines(core, reading.lines, reading.touched, now);
  }
  if (!may_read_next(*refill)) {
    park_refill(reading);
    return step_refill(core, now, is_read);
  }
  // An in-order core that stalls on use: it reads as far ahead as its load buffer allows before it waits.
  std::deque<Cycle>& arrivals = reading.arrivals;
  const std::uint32_t needed = area_.lines_of_front(refill->batch);
  const std::uint32_t ahead = std::max(needed, state_.context.config.core.load_buffer);
  if (arrivals.size() < std::min(area_.lines_left(refill->batch), ahead)) {
    const LineAddr line = area_.line(
        refill->batch, area_.first_line_left(refill->batch) + static_cast<std::uint32_t>(arrivals.size()));
    const AccessResult result = state_.context.memory.access(core, line, AccessKind::untracked_load, now);
    if (!result.done) return now + TileState::kRetry;
    arrivals.push_back(arrivals.empty() ? result.cycle : later(arrivals.back(), result.cycle));
    return now + 1;
  }
  if (now < arrivals[needed - 1]) return arrivals[needed - 1];
  // The descriptor has arrived and there is room: the task is idle again.
  if (!state_.queue.has_room(false, false)) state_.is_refill_turn = false;
  const std::uint32_t line_before = area_.first_line_left(refill->batch);
  Task* const task = area_.take_front(refill->batch);
  if (area_.first_line_left(refill->batch) != line_before) arrivals.pop_front();
  ++state_.counts.refilled;
  if (refill == untimed_refill_) starts_since_untimed_ = 0;
  if (TaskObserver* const observer = state_.context.observer; observer != nullptr)
    observer->on_refilled(task->id, state_.tile, now);
  if (area_.size(refill->batch) > 0) {
    update_refill(refill);
  } else if (const std::uint32_t successor = area_.close_batch(refill->batch);
             successor != SpillArea::kNoBatch) {
    refill->batch = successor;
    update_refill(refill);
    park_refill(reading);
  } else {
    end_refill(reading, now);
  }
  task->is_read_back = true;
  state_.account_occupancy(now);
  state_.queue.insert(task);
  admission_.serve_waiting(now);
  is_read = true;
  return now + std::max<Latency>(1, state_.context.config.task.create_cycles);
}

// All of its batches are read: its entry is for one that has none.
void Spiller::end_refill(Refill& reading, Cycle now) {
  Task* const refill = std::exchange(reading.task, nullptr);
  const bool is_untimed = refill == untimed_refill_;
  state_.context.pool.release(refill);
  if (is_untimed) {
    untimed_refill_ = nullptr;
    return;
  }
  state_.account_occupancy(now);
  state_.queue.remove_refill();
  if (!area_.overflow_empty()) {
    state_.queue.add_refill();
    insert_refill(area_.overflow_pop(reading.lines));
  }
}

}  // namespace rubato::chip
