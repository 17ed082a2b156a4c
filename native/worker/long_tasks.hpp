// The functions of tasks that took long: how many each, and the longest (R11).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "rubato/engine/native_options.hpp"
#include "rubato/engine/native_task.hpp"

namespace rubato::inline v0::native {

class LongTasks {
 public:
  /// `first_word`: of the task, its function if it is one of a function pointer; of a turn see
  /// TaskTimer::begin_turn(). `took`: ticks.
  void note(const engine::TaskCode& code, std::uint64_t first_word, std::uint64_t took);
  /// By function, the longest first.
  std::vector<LongTask> list();

 private:
  struct Noted {
    std::uint64_t count = 0;
    std::uint64_t longest = 0;  // ticks
  };
  std::mutex mutex_;
  std::map<std::pair<const engine::TaskCode*, std::uint64_t>, Noted> by_code_;
};

}  // namespace rubato::inline v0::native
