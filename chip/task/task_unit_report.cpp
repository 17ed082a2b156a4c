// Reports of the task unit. The arbiter gets the tile's position. Users get statistics, and the reasons for
// which tasks wait when nothing proceeds (C3). These reports write functions as hexadecimal addresses; a
// reader with symbols replaces them by names.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "chip/task/task_unit.hpp"

namespace rubato::chip {

TileReport TaskUnit::report(Cycle now) {
  state_.send.settle(now);
  TileReport result;
  result.empty = is_empty();
  result.stalls = admission_.stalls();
  // At equal timestamps running tasks precede waiting ones, whose tie-breakers are still to come.
  const auto include_active = [&](VirtualTime t) { result.earliest = std::min(result.earliest, t); };
  const auto include_running = [&](const Task* task) {
    if (task != nullptr && (task->descriptor.has_timestamp || task->attempt != nullptr || task->is_promoted))
      include_active(task->virtual_time);
  };
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot) {
    if (context_.fault == TaskFault::commit_early) break;
    include_running(state_.slots[slot].task);
  }
  if (suspensions_.any())
    for (const SuspendedRun& run : suspensions_.runs()) include_running(run.task);
  if (state_.promoted != nullptr) include_active(state_.promoted->virtual_time);
  state_.commit_queue.for_each_exceptioned(
      [&](const Attempt* attempt) { include_active(attempt->virtual_time); });
  const auto include_waiting = [&](Timestamp t) {
    if (t >= result.earliest.timestamp && result.earliest != kMaxVirtualTime) return;
    result.earliest = {t, 0};
    result.waits = true;
  };
  const auto include_task = [&](const Task* task) {
    if (task != nullptr && task->descriptor.has_timestamp) include_waiting(task->descriptor.timestamp);
  };
  include_task(state_.queue.earliest(Lane::timestamped));
  include_task(state_.queue.earliest(Lane::timestamped_nonspec));
  for (const Task* task : state_.queue.held_tasks()) include_task(task);
  for (const Task* task : rollbacks_.tasks()) include_task(task);
  spiller_.for_each_earliest(include_task);
  Timestamp in_flight = 0;
  if (state_.send.earliest(in_flight)) include_waiting(in_flight);
  return result;
}

void TaskUnit::register_stats(StatRegistry& registry) const {
  const std::string prefix = fmt::format("tile.{}.task_unit.", state_.tile.value);
  const auto count = [&](const char* name, const char* unit, const char* description,
                         const std::uint64_t* at) { registry.counter(prefix + name, unit, description, at); };
  count("created", "tasks", "tasks created by the tile's cores", &state_.counts.created);
  count("dispatched", "tasks", "guest tasks given to the tile's cores", &state_.counts.dispatched);
  count("finished", "tasks", "guest tasks whose body ended on the tile", &state_.counts.finished);
  count("enqueues.local", "tasks", "tasks accepted from the tile's own cores", &state_.counts.local);
  count("enqueues.remote", "tasks", "tasks accepted from other tiles", &state_.counts.remote);
  count("refusals", "messages", "tasks of other tiles refused because the task queue was full",
        &state_.counts.refused);
  count("spilled", "tasks", "tasks written to memory", &state_.counts.spilled);
  count("refilled", "tasks", "tasks read back from memory", &state_.counts.refilled);
  count("spills", "tasks", "spill tasks", &state_.counts.spills);
  count("spills_on_stalled_cores", "tasks", "spill tasks that ran on a core whose create was stalled",
        &state_.counts.borrowed);
  count("refills", "tasks", "refill tasks given to the tile's cores, again after a yield",
        &state_.counts.refills);
  count("create_stalls.task_queue", "stalls", "creates that found the tile's own task queue full",
        &state_.counts.queue_stalls);
  count("create_stalls.send_buffer", "stalls", "creates that found the send buffer full",
        &state_.counts.send_stalls);
  count("handlers.registered", "tasks", "abort handlers that capsules of speculative tasks registered",
        &state_.counts.handlers_registered);
  count("handlers.dropped", "tasks", "abort handlers whose tasks commit", &state_.counts.handlers_dropped);
  count("handlers.queued", "tasks", "abort handlers whose tasks were aborted, and which run",
        &state_.counts.handlers_queued);
  count("handlers.most_waiting", "tasks", "most abort handlers that have waited to start at a time",
        &state_.counts.handlers_most_waiting);
  count("handlers.waited", "cycles", "from the aborts of attempts until their handlers started, all handlers",
        &state_.counts.handlers_waited);
  count("doomed_runs", "runs", "capsules that went on after their task was aborted",
        &state_.counts.doomed_runs);
  count("committed", "tasks", "guest tasks whose effects are permanent", &state_.counts.committed);
  count("waited", "tasks", "guest tasks that found their TaskGroup incomplete and were put back, each time",
        &state_.counts.waited);
  count("nonspeculative", "tasks", "guest tasks that ended as non-speculative ones",
        &state_.counts.nonspeculative);
  count("aborted", "attempts", "attempts aborted on the tile", &state_.counts.aborted);
  count("held_back", "cycles",
        "in which the tile's cores had nothing to do while MAYSPEC tasks waited that task.throttle kept from "
        "speculating, all cores",
        &state_.counts.held_back);
  count("discarded", "tasks", "tasks dropped because their parents were aborted", &state_.counts.discarded);
  count("exceptions", "attempts", "attempts that stopped at what only a non-speculative task may do",
        &state_.counts.excepted);
  count("suspended", "tasks", "tasks that left their cores, waiting in system calls",
        &state_.counts.suspended);
  count("suspended_attempts.count", "runs",
        "attempts, and doomed runs, that left their cores, waiting in a capsule's system call",
        &state_.counts.suspended_attempts);
  count("suspended_attempts.cycles", "cycles", "they waited so, without a core, all together",
        &state_.counts.suspended_cycles);
  count("suspended_attempts.doomed", "attempts", "attempts aborted while they waited so",
        &state_.counts.suspended_doomed);
  count("finish_stalls", "stalls", "finishes that found the commit queue full of earlier attempts",
        &state_.counts.commit_stalls);
  registry.histogram(prefix + "occupancy", "entries", "task-queue entries in use, by cycles",
                     &state_.occupancy);
  registry.histogram(prefix + "commit_occupancy", "entries",
                     "commit-queue entries in use, by cycles: how far the tile speculates",
                     &state_.commit_occupancy);
}

void TaskUnit::describe_waiting(std::string& out) const {
  if (is_empty()) return;
  out += fmt::format(
      "tile {}: {} idle tasks, {} refill tasks, {} spilled tasks, {} of {} task-queue entries used, ",
      state_.tile.value, state_.queue.guests(), state_.queue.refills(), spiller_.spilled_tasks(),
      state_.queue.entries(),
      state_.queue.unlimited() ? std::string("unlimited") : std::to_string(state_.queue.capacity()));
  out += fmt::format("{} tasks in the send buffer; GVT's timestamp here {}\n", state_.send.used(),
                     state_.gvt().timestamp);
  if (context_.speculation != nullptr) {
    out += fmt::format(
        "tile {}: {} of {} commit-queue entries used, {} held tasks, {} tasks rolling back{}\n",
        state_.tile.value, state_.commit_queue.size(),
        state_.commit_queue.capacity() == 0 ? std::string("unlimited")
                                            : std::to_string(state_.commit_queue.capacity()),
        state_.queue.held(), rollbacks_.tasks().size(), state_.is_stopped ? "; stopped for a promotion" : "");
    out += fmt::format("tile {}: parents uncommitted of {} tasks, {} idle tasks may be spilled\n",
                       state_.tile.value, state_.queue.uncommitted(), state_.queue.spillable());
    admission_.describe_waiting(out);
    state_.commit_queue.for_each_exceptioned([&](const Attempt* attempt) {
      out += fmt::format("tile {}: function {:#x}, timestamp {}, waits to be promoted\n", state_.tile.value,
                         attempt->task->descriptor.name(), attempt->virtual_time.timestamp);
    });
  }
  if (const Task* first = state_.queue.earliest(Lane::timestamped)) {
    out += fmt::format("tile {}: earliest idle task: function {:#x}, timestamp {}\n", state_.tile.value,
                       first->descriptor.name(), first->descriptor.timestamp);
  }
  for (const SuspendedRun& run : suspensions_.runs()) {
    if (run.what.run == 0) continue;
    const TaskDescriptor& d = run.what.descriptor;
    out += fmt::format("tile {}: function {:#x}", state_.tile.value, d.name());
    if (d.has_timestamp) out += fmt::format(", timestamp {}", d.timestamp);
    out += run.is_doomed() ? ", doomed" : run.attempt() != nullptr ? ", speculatively" : "";
    out += ", waits in a system call\n";
  }
  if (suspensions_.any() && state_.queue.guests() != 0 && suspensions_.spare_workers() == 0)
    out +=
        fmt::format("tile {}: no worker to spare for idle tasks (task.spare_workers)\n", state_.tile.value);
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot) {
    const CoreSlot& c = state_.slots[slot];
    if (c.task == nullptr) continue;
    const TaskDescriptor& d = c.task->descriptor;
    out += fmt::format("core {}: runs function {:#x}", state_.core_of(slot).value, d.name());
    if (d.has_timestamp) out += fmt::format(", timestamp {}", d.timestamp);
    if (d.has_locale) {
      out += fmt::format(", locale {} for which {} tasks wait", d.locale, state_.queue.waiting_for(slot));
    }
    if (c.task->attempt != nullptr) out += ", speculatively";
    if (state_.states[slot] == CoreState::finishing) out += "; its finish waits for the commit queue";
    if (state_.states[slot] == CoreState::stalled) {
      out += fmt::format("; its create waits for {} of tile {}",
                         c.destination == state_.tile ? "the task queue" : "an entry of the send buffer",
                         state_.tile.value);
    }
    out += '\n';
  }
}

}  // namespace rubato::chip
