// Ties between the tasks of a program that is compiled with RUBATO_CHECKED, as far as their data is
// `tracked`: see base/task_ties.hpp. A tie ends the run with a TaskError. Other programs have no TieCheck.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/task_ties.hpp"
#include "rubato/rubato.hpp"

namespace rubato::inline v0::engine {

class TieCheck {
 public:
  /// Null unless the program is checked.
  static TieCheck* active;

  /// The running task, or with 0 code outside tasks, has created `task`.
  void create(std::uint64_t task, Function function, const TaskTies::Task& traits);
  /// `task` begins, behind all members of this group, if it waited for one.
  void begin(std::uint64_t task, const TaskGroup* after);
  /// The running task has ended, as a member of this group, if it is one.
  void end(const TaskGroup* group);
  /// All earlier uses of `object` come before the running task's actions from now on.
  void synchronize(const void* object);
  /// The running task touches tracked data. Errors: TaskError for a tie.
  void access(const void* at, unsigned bytes, bool is_write);
  /// A run has ended.
  void clear();

 private:
  struct Known {
    Function function;
    std::optional<std::uint64_t> at;
  };
  errors::Task describe(std::uint64_t task, std::string& name) const;

  TaskTies ties_;
  std::unordered_map<std::uint64_t, Known> tasks_;  // looked up only
  std::uint64_t running_ = 0;
  TaskTies::Position position_ = 0;
};

}  // namespace rubato::inline v0::engine
