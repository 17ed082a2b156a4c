// SPDX-License-Identifier: MIT
#include "chip/task/group_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "include/rubato/errors.hpp"

namespace rubato::chip {
namespace {

/// The argument of a waiting task that says for what it waits (docs/isa.md).
constexpr unsigned kWaitsFor = 2;
constexpr std::size_t kMostLines = 16;

std::string hexadecimal(Addr a) { return fmt::format("{:#x}", a); }

std::optional<std::uint64_t> timestamp_of(const TaskDescriptor& d) {
  return d.has_timestamp ? std::optional(d.timestamp) : std::nullopt;
}

}  // namespace

std::string BlockedTasks::sentence() const {
  const std::string function = hexadecimal(tasks.front().name());
  return errors::blocked_groups(tasks.size(), {function, timestamp_of(tasks.front())});
}

std::string BlockedTasks::details() const {
  struct Line {
    TaskDescriptor task;
    Addr group = 0;
    std::uint64_t count = 0;
  };
  std::vector<Line> lines;
  for (const TaskDescriptor& d : tasks) {
    const Addr group = d.argument_count > kWaitsFor ? d.arguments[kWaitsFor] : 0;
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return line.group == group && line.task.name() == d.name() &&
             timestamp_of(line.task) == timestamp_of(d);
    });
    if (same != lines.end()) {
      ++same->count;
    } else if (lines.size() < kMostLines) {
      lines.push_back({d, group, 1});
    }
  }
  std::string out;
  for (const Line& line : lines) {
    const std::string function = hexadecimal(line.task.name());
    out += fmt::format("{} waits for the TaskGroup {:#x}",
                       errors::describe({function, timestamp_of(line.task)}), line.group);
    out += line.count == 1 ? "\n" : fmt::format(", and {} more like it\n", line.count - 1);
  }
  return out;
}

void GroupWaits::count(const TaskDescriptor& task, std::int64_t by) {
  const auto [entry, is_new] = kept_.try_emplace(task.arguments);
  if (is_new) entry->second = {0, numbers_++, task};
  if ((entry->second.balance += by) == 0) kept_.erase(entry);
}

bool GroupWaits::waited(const Task& task, const TaskPool& pool) {
  count(task.descriptor, 1);
  return ++waits_ >= std::max(patience_, std::min<std::uint64_t>(pool.capacity(), kPatienceForMany));
}

// Attempts commit in another order than they create: what an uncommitted one has created again may be counted
// before it.
void GroupWaits::add_kept(Waiting& waiting) const {
  for (const auto& [arguments, kept] : kept_)
    if (kept.balance > 0) waiting.try_emplace(arguments, kept.number, kept.descriptor);
}

BlockedTasks GroupWaits::in_order(const Waiting& waiting) {
  std::vector<Numbered> all;
  for (const auto& [arguments, task] : waiting) all.push_back(task);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple(timestamp_of(a.second), a.first) < std::tuple(timestamp_of(b.second), b.first);
  });
  BlockedTasks blocked;
  for (const auto& [number, task] : all) blocked.tasks.push_back(task);
  return blocked;
}

BlockedTasks GroupWaits::kept() const {
  Waiting waiting;
  if (!kept_.empty()) add_kept(waiting);
  return in_order(waiting);
}

// Candidates to commit next: the tasks of the earliest timestamp, and tasks without one. Children of
// uncommitted parents and tasks of later timestamps commit after these. Each candidate of the earliest
// timestamp must have looked at its group in vain after the last change. Proof of that: its creator was
// itself created after the change.
std::optional<BlockedTasks> GroupWaits::look(const TaskPool& pool) {
  waits_ = 0;
  patience_ *= 2;
  Timestamp earliest = std::numeric_limits<Timestamp>::max();
  bool has_suspended = false, may_proceed = false;
  std::vector<const Task*> candidates, released;
  pool.for_each([&](const Task& task) {
    if (task.is_refill || task.is_discarded) return;
    if (task.uncommitted_parent != nullptr) {
      if (task.descriptor.is_again && !task.descriptor.has_timestamp) released.push_back(&task);
    } else if (task.is_suspended) {
      has_suspended = true;
    } else if (!task.descriptor.has_timestamp) {
      may_proceed = true;
    } else if (candidates.empty() || task.descriptor.timestamp <= earliest) {
      if (task.descriptor.timestamp < earliest) candidates.clear();
      earliest = task.descriptor.timestamp;
      candidates.push_back(&task);
    }
  });
  may_proceed = may_proceed || candidates.empty() ||
                std::any_of(candidates.begin(), candidates.end(), [&](const Task* task) {
                  return !task->descriptor.is_again || task->parent < progress_;
                });
  if (may_proceed) return std::nullopt;
  // A task has two records while what it created when it last waited stands beside it.
  Waiting waiting;
  add_kept(waiting);
  // Released by attempts of later tasks, which cannot commit either: the program still keeps them.
  candidates.insert(candidates.end(), released.begin(), released.end());
  for (const Task* task : candidates)
    waiting.try_emplace(task->descriptor.arguments, task->id, task->descriptor);
  BlockedTasks blocked = in_order(waiting);
  blocked.has_suspended = has_suspended;
  return blocked;
}

}  // namespace rubato::chip
