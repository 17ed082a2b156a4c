// Tasks that wait for a TaskGroup, and whether any of them can still proceed. A TaskGroup is software, but
// its waiting tasks end by `task.finish waits` and are created again by `task.create again` (docs/isa.md). In
// between, the program keeps them (tasks without a timestamp). A task with a timestamp, which keeps later
// ones from running, instead creates itself again before it ends as waiting, to look again later.
//
// No task can proceed if each task that could commit next has looked at its group, in vain, since the last
// change. The groups change only by other tasks, and none of these is left. A task that is not known to have
// looked since then may still be running, however slowly: a time limit proves nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chip/task/task_pool.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

/// Tasks that wait for TaskGroups which cannot complete.
struct BlockedTasks {
  std::vector<TaskDescriptor> tasks;  ///< the earliest first, those without a timestamp before all others
  bool has_suspended = false;         ///< others wait in system calls

  /// Functions and groups stand as addresses, which the receiver turns into names.
  std::string sentence() const;
  std::string details() const;
};

class GroupWaits {
 public:
  /// The end of `task` is permanent: it waits. @returns true if it is time to look().
  bool waited(const Task& task, const TaskPool& pool);
  /// A task that has waited is created again; or that is undone, since its creator was aborted.
  void created_again(const TaskDescriptor& task) { count(task, -1); }
  void discarded_again(const TaskDescriptor& task) { count(task, 1); }
  /// The end of a task that did not wait is permanent: groups may be complete. `next_id`: the next new
  /// task's.
  void progressed(std::uint64_t next_id) {
    progress_ = next_id;
    waits_ = 0;
    patience_ = kLeastPatience;
  }

  /// The waiting tasks, if nothing can proceed, except perhaps tasks that wait in system calls. Walks over
  /// all tasks.
  std::optional<BlockedTasks> look(const TaskPool& pool);
  /// The tasks that the program still keeps, when no task is on the chip.
  BlockedTasks kept() const;

 private:
  using Arguments = std::array<std::uint64_t, 5>;
  struct Kept {
    std::int64_t balance = 0;  ///< waits less creations
    std::uint64_t number = 0;
    TaskDescriptor descriptor{};
  };
  using Numbered = std::pair<std::uint64_t, TaskDescriptor>;
  using Waiting = std::map<Arguments, Numbered>;
  void count(const TaskDescriptor& task, std::int64_t by);
  void add_kept(Waiting& waiting) const;
  static BlockedTasks in_order(const Waiting& waiting);

  static constexpr std::uint64_t kLeastPatience = 64, kPatienceForMany = 4096;
  std::map<Arguments, Kept> kept_;  ///< by arguments: the program's record of the task is among them
  std::uint64_t numbers_ = 0;
  std::uint64_t progress_ = 0;  ///< tasks from this one on were created after the last change
  std::uint64_t waits_ = 0;     ///< since then, or since the last look
  /// So many are a reason to look; more if the pool has many records, over which looking walks.
  std::uint64_t patience_ = kLeastPatience;
};

}  // namespace rubato::chip
