// What the task unit tells others: the arbiter, where the tile stands; and people, its statistics, and what
// its tasks wait for when nothing proceeds (C3). For people it writes functions as addresses in hexadecimal,
// which whoever knows the symbols replaces by names.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "chip/task/task_unit.hpp"

namespace rubato::chip {

TileReport TaskUnit::report(Cycle now) {
  send_.settle(now);
  TileReport result;
  result.empty = is_empty();
  result.stalls = !waiting_.empty() || !send_waiting_.empty();
  // Of one timestamp, running tasks precede waiting ones, whose tie-breakers are still to come.
  const auto include_active = [&](VirtualTime t) { result.earliest = std::min(result.earliest, t); };
  const auto include_running = [&](const Task* task) {
    if (task != nullptr && (task->descriptor.has_timestamp || task->attempt != nullptr || task->is_promoted))
      include_active(task->virtual_time);
  };
  for (std::uint32_t slot = 0; slot < cores_; ++slot) {
    if (context_.fault == TaskFault::commit_early) break;
    include_running(slots_[slot].task);
  }
  if (suspended_count_ != 0)
    for (const Task* task : suspended_) include_running(task);
  if (promoted_ != nullptr) include_active(promoted_->virtual_time);
  commit_queue_.for_each_exceptioned([&](const Attempt* attempt) { include_active(attempt->virtual_time); });
  const auto include_waiting = [&](Timestamp t) {
    if (t >= result.earliest.timestamp && result.earliest != kMaxVirtualTime) return;
    result.earliest = {t, 0};
    result.waits = true;
  };
  const auto include_task = [&](const Task* task) {
    if (task != nullptr && task->descriptor.has_timestamp) include_waiting(task->descriptor.timestamp);
  };
  include_task(queue_.earliest(Lane::timestamped));
  include_task(queue_.earliest(Lane::timestamped_nonspec));
  for (const Task* task : queue_.held_tasks()) include_task(task);
  for (const Task* task : rolling_back_) include_task(task);
  if (is_writing_batch()) include_task(spill_.tasks.front());
  if (!refills_.empty()) include_task(refills_.back());
  if (states_.in(CoreState::internal) != 0)
    for (const Refill& reading : reading_) include_task(reading.task);
  include_task(area_.overflow_top());
  Timestamp in_flight = 0;
  if (send_.earliest(in_flight)) include_waiting(in_flight);
  return result;
}

void TaskUnit::register_stats(StatRegistry& registry) const {
  const std::string prefix = fmt::format("tile.{}.task_unit.", tile_.value);
  const auto count = [&](const char* name, const char* unit, const char* description,
                         const std::uint64_t* at) { registry.counter(prefix + name, unit, description, at); };
  count("created", "tasks", "tasks created by the tile's cores", &stats_.created);
  count("dispatched", "tasks", "guest tasks given to the tile's cores", &stats_.dispatched);
  count("finished", "tasks", "guest tasks whose body ended on the tile", &stats_.finished);
  count("enqueues.local", "tasks", "tasks accepted from the tile's own cores", &stats_.local);
  count("enqueues.remote", "tasks", "tasks accepted from other tiles", &stats_.remote);
  count("refusals", "messages", "tasks of other tiles refused because the task queue was full",
        &stats_.refused);
  count("spilled", "tasks", "tasks written to memory", &stats_.spilled);
  count("refilled", "tasks", "tasks read back from memory", &stats_.refilled);
  count("spills", "tasks", "spill tasks", &stats_.spills);
  count("spills_on_stalled_cores", "tasks", "spill tasks that ran on a core whose create was stalled",
        &stats_.borrowed);
  count("refills", "tasks", "refill tasks given to the tile's cores, again after a yield", &stats_.refills);
  count("create_stalls.task_queue", "stalls", "creates that found the tile's own task queue full",
        &stats_.queue_stalls);
  count("create_stalls.send_buffer", "stalls", "creates that found the send buffer full",
        &stats_.send_stalls);
  count("handlers.registered", "tasks", "abort handlers that capsules of speculative tasks registered",
        &stats_.handlers_registered);
  count("handlers.dropped", "tasks", "abort handlers whose tasks commit", &stats_.handlers_dropped);
  count("handlers.queued", "tasks", "abort handlers whose tasks were aborted, and which run",
        &stats_.handlers_queued);
  count("doomed_runs", "runs", "capsules that went on after their task was aborted", &stats_.doomed_runs);
  count("committed", "tasks", "guest tasks whose effects are permanent", &stats_.committed);
  count("waited", "tasks", "guest tasks that found their TaskGroup incomplete and were put back, each time",
        &stats_.waited);
  count("nonspeculative", "tasks", "guest tasks that ended as non-speculative ones", &stats_.nonspeculative);
  count("aborted", "attempts", "attempts aborted on the tile", &stats_.aborted);
  count("discarded", "tasks", "tasks dropped because their parents were aborted", &stats_.discarded);
  count("exceptions", "attempts", "attempts that stopped at what only a non-speculative task may do",
        &stats_.excepted);
  count("suspended", "tasks", "tasks that left their cores, waiting in system calls", &stats_.suspended);
  count("finish_stalls", "stalls", "finishes that found the commit queue full of earlier attempts",
        &stats_.commit_stalls);
  registry.histogram(prefix + "occupancy", "entries", "task-queue entries in use, by cycles", &occupancy_);
  registry.histogram(prefix + "commit_occupancy", "entries",
                     "commit-queue entries in use, by cycles: how far the tile speculates",
                     &commit_occupancy_);
}

void TaskUnit::describe_waiting(std::string& out) const {
  if (is_empty()) return;
  out += fmt::format(
      "tile {}: {} idle tasks, {} refill tasks, {} spilled tasks, {} of {} task-queue entries used, ",
      tile_.value, queue_.guests(), queue_.refills(), area_.tasks(), queue_.entries(),
      queue_.unlimited() ? std::string("unlimited") : std::to_string(queue_.capacity()));
  out += fmt::format("{} tasks in the send buffer; GVT's timestamp here {}\n", send_.used(), gvt().timestamp);
  if (context_.detector != nullptr) {
    out += fmt::format(
        "tile {}: {} of {} commit-queue entries used, {} held tasks, {} tasks rolling back{}\n", tile_.value,
        commit_queue_.size(),
        commit_queue_.capacity() == 0 ? std::string("unlimited") : std::to_string(commit_queue_.capacity()),
        queue_.held(), rolling_back_.size(), is_stopped_ ? "; stopped for a promotion" : "");
    out += fmt::format("tile {}: parents uncommitted of {} tasks, {} idle tasks may be spilled\n",
                       tile_.value, queue_.uncommitted(), queue_.spillable());
    for (const Waiting& w : waiting_)
      out += fmt::format("tile {}: {} waits for an entry, timestamp {}, its parent {}\n", tile_.value,
                         w.local ? fmt::format("core {}", core_of(w.slot).value)
                                 : fmt::format("a task of tile {}", w.from.value),
                         w.timestamp, is_of_uncommitted(w) ? "uncommitted" : "committed");
    commit_queue_.for_each_exceptioned([&](const Attempt* attempt) {
      out += fmt::format("tile {}: function {:#x}, timestamp {}, waits to be promoted\n", tile_.value,
                         attempt->task->descriptor.name(), attempt->virtual_time.timestamp);
    });
  }
  if (const Task* first = queue_.earliest(Lane::timestamped)) {
    out += fmt::format("tile {}: earliest idle task: function {:#x}, timestamp {}\n", tile_.value,
                       first->descriptor.name(), first->descriptor.timestamp);
  }
  for (const Task* task : suspended_) {
    if (task == nullptr) continue;
    out += fmt::format("tile {}: function {:#x}", tile_.value, task->descriptor.name());
    if (task->descriptor.has_timestamp) out += fmt::format(", timestamp {}", task->descriptor.timestamp);
    out += ", waits in a system call\n";
  }
  if (suspended_count_ != 0 && queue_.guests() != 0 && spare_workers_ == 0)
    out += fmt::format("tile {}: no worker to spare for idle tasks (task.spare_workers)\n", tile_.value);
  for (std::uint32_t slot = 0; slot < cores_; ++slot) {
    const CoreSlot& c = slots_[slot];
    if (c.task == nullptr) continue;
    const TaskDescriptor& d = c.task->descriptor;
    out += fmt::format("core {}: runs function {:#x}", core_of(slot).value, d.name());
    if (d.has_timestamp) out += fmt::format(", timestamp {}", d.timestamp);
    if (d.has_locale) {
      out += fmt::format(", locale {} for which {} tasks wait", d.locale, queue_.waiting_for(slot));
    }
    if (c.task->attempt != nullptr) out += ", speculatively";
    if (states_[slot] == CoreState::finishing) out += "; its finish waits for the commit queue";
    if (states_[slot] == CoreState::stalled) {
      out +=
          fmt::format("; its create waits for {} of tile {}",
                      c.destination == tile_ ? "the task queue" : "an entry of the send buffer", tile_.value);
    }
    out += '\n';
  }
}

}  // namespace rubato::chip
