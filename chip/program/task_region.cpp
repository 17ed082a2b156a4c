// SPDX-License-Identifier: MIT
#include "chip/program/task_region.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::chip {

TaskRegion::Entry TaskRegion::enter(Thread& thread, const Threads& threads, bool is_in_detail, Cycle now) {
  using Is = Entry::Is;
  entering_ = nullptr;
  Entry entry{Is::due};
  const auto other = std::find_if(threads.begin(), threads.end(), [&](const auto& t) {
    return t.get() != &thread && !t->is_worker && t->state == ThreadState::runnable;
  });
  if (other != threads.end() &&
      (worker_threads_.size() + 1 < wanted_workers() || waits_for_others(is_in_detail, now, entry))) {
    entry.is = is_in_detail ? Is::waiting : Is::waiting_in_fast_forward;
    if (is_in_detail) entering_ = &thread;
    return entry;
  }
  if (other != threads.end())
    return {
        Is::refused, std::nullopt,
        fmt::format("run() was called while thread {} is runnable: join or block other threads first, only "
                    "tasks run in a task region",
                    (*other)->tid)};
  if (worker_threads_.size() + 1 < config_.chip.cores)
    return {Is::refused, std::nullopt,
            fmt::format("run() needs a worker thread for each of {} cores, the program started {}",
                        config_.chip.cores, worker_threads_.size() + 1)};
  return entry;
}

// A thread that is about to block, as one that joins the thread which calls run(), gets the time to do so.
bool TaskRegion::waits_for_others(bool is_in_detail, Cycle now, Entry& entry) {
  constexpr Latency kCycles = 100'000;
  constexpr unsigned kTurns = 1000;
  if (!is_in_detail) return ++turns_to_enter_ < kTurns;
  if (!enter_by_) entry.retry_at = enter_by_ = now + kCycles;
  return now < *enter_by_;
}

void TaskRegion::begin(Thread& owner, bool is_within_detail, bool is_within_roi) {
  owner_ = &owner;
  enter_by_.reset();
  turns_to_enter_ = 0;
  is_within_detail_ = is_within_detail;
  is_within_roi_ = is_within_roi;
  owner.is_worker = true;
  const std::size_t cores = config_.chip.cores;
  spare_ = std::min<std::uint32_t>(
      config_.task.spare_workers,
      static_cast<std::uint32_t>(worker_threads_.size() + 1 - cores) / config_.tiles());
  all_.clear();
  all_.push_back(worker_of(owner));
  for (std::size_t i = 1; i < cores + std::size_t{spare_} * config_.tiles(); ++i)
    all_.push_back(worker_of(*worker_threads_[i - 1]));
  mark_stacks(true);
  pool_.begin_region(config_.tiles());
  for (std::size_t i = 0; i < cores; ++i) all_[i].thread->core = static_cast<std::uint32_t>(i);
  for (std::size_t i = cores; i < all_.size(); ++i)
    pool_.add(TileId{static_cast<std::uint32_t>(i - cores) / spare_}, all_[i]);
}

std::vector<std::pair<Addr, Addr>> TaskRegion::stacks() const {
  std::vector<std::pair<Addr, Addr>> stacks;
  for (const Worker& worker : all_) stacks.emplace_back(worker.stack_low, worker.stack_high);
  return stacks;
}

Thread& TaskRegion::end() {
  mark_stacks(false);
  for (const Worker& worker : all_) worker.thread->regs = worker.regs;
  Thread& thread = *std::exchange(owner_, nullptr);
  thread.is_worker = false;
  thread.regs.pc += 8;  // behind the region instruction and its `finish`
  return thread;
}

Worker TaskRegion::worker_of(Thread& thread) const {
  const Addr low = thread.regs.x[reg::a0], high = thread.regs.x[reg::sp];
  const bool is_usable = low < high && memory_.allows_range(low, high - low, Page::kWrite);
  return {&thread, thread.regs, is_usable ? low : 0, is_usable ? high : 0};
}

void TaskRegion::mark_stacks(bool begins) {
  for (const Worker& worker : all_) {
    if (worker.stack_low == worker.stack_high) continue;
    memory_.mark_worker_stack(worker.stack_low, worker.stack_high, begins);
    if (begins && is_within_detail_) forget_stack(worker);  // may be in any core's L1
  }
}

}  // namespace rubato::chip
