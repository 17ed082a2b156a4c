// Snapshot of the reasons for which a tile's tasks wait, for ParallelismProfile. It reads only.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <map>

#include "chip/task/task_unit.hpp"

namespace rubato::chip {

TaskWait TaskUnit::wait_of(const Task& task, const TileView& view) const {
  const TaskDescriptor& d = task.descriptor;
  if (task.is_throttled || view.throttles(task)) return TaskWait::throttle;
  if (task.waits_for_creator()) return TaskWait::creator;
  if (d.has_timestamp && d.timestamp > view.gvt.timestamp)
    return d.type == TaskType::nonspec || !state_.speculates() ? TaskWait::timestamp : TaskWait::commits;
  if (view.is_stopped) return TaskWait::promotion;
  return view.has_suspended ? TaskWait::system_call : TaskWait::other;
}

// Tasks of one locale run one at a time: if none of it runs, all but one wait. A task that is about to get an
// idle core of its tile waits for nothing.
void TaskUnit::look(ParallelismProfile::Instant& instant) const {
  const auto wait = [&](TaskWait for_what, std::uint64_t tasks) {
    instant.waiting[static_cast<unsigned>(for_what)] += tasks;
  };
  const auto idle = static_cast<std::uint32_t>(std::popcount(state_.states.in(CoreState::idle)));
  instant.idle += idle;
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot)
    if (const Task* const task = state_.slots[slot].task; task != nullptr)
      instant.running.push_back({task->id, task->descriptor.name()});

  const TileView view = choice_.view();
  std::map<Locale, ParallelismProfile::Waiting> here;
  std::uint64_t ready = 0;
  for (const Lane lane : kAllLanes)
    state_.queue.any_idle(lane, [&](const Task& task) {
      if (context_.rule->may_run(task, view) == RunMode::none) {
        wait(wait_of(task, view), 1);
      } else if (task.descriptor.has_locale) {
        auto& of = here[task.descriptor.locale];
        ++of.tasks;
        of.function = task.descriptor.name();
      } else {
        ++ready;
      }
      return false;
    });
  for (auto& [locale, waiting] : here) {
    bool is_held = false;
    for (std::uint32_t rest = state_.queue.busy_slots(); rest != 0 && !is_held; rest &= rest - 1)
      is_held = state_.queue.locale_of(static_cast<std::uint32_t>(std::countr_zero(rest))) == locale;
    if (!is_held) {
      --waiting.tasks;
      ++ready;
    }
    if (waiting.tasks == 0) continue;
    auto& of = instant.locales[locale];
    of.tasks += waiting.tasks;
    of.function = waiting.function;
  }
  const std::uint64_t about_to_run = std::min<std::uint64_t>(ready, idle);
  wait(TaskWait::other, about_to_run);
  wait(TaskWait::core, ready - about_to_run);
  wait(TaskWait::creator, state_.queue.held());
  wait(TaskWait::system_call, suspensions_.count());
  state_.commit_queue.for_each_exceptioned([&](const Attempt*) { wait(TaskWait::promotion, 1); });
  wait(TaskWait::memory, spiller_.spilled_tasks() + state_.send.used());
}

}  // namespace rubato::chip
