// Functions whose tasks a worker has met, and whether these took long. A worker measures how long its tasks
// take on average. That says little of the next one if it runs another function than those before, and
// nothing of a new function. A task that may be long is shared before it begins (R2): a program that creates
// two tasks of a second each would otherwise run one after the other.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "rubato/engine/native_task.hpp"

namespace rubato::inline v0::native {

class KnownFunctions {
 public:
  KnownFunctions() { known_.reserve(kMost); }  // a running worker takes no memory

  enum class Length : std::uint8_t { unknown, brief, lengthy };

  /// The length of the task that runs next, by those of its function before. In a program with very many
  /// functions the last ones count as brief.
  Length look_up(const engine::Task& task) {
    const Function function{task.code, task.code->is_function_pointer ? task.words[0] : 0};
    if (next_ < known_.size() && known_[next_].function == function) [[likely]]
      return known_[next_].length;
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.function == function; });
    next_ = static_cast<std::size_t>(found - known_.begin());
    if (found == known_.end() && known_.size() < kMost) known_.push_back({function, Length::unknown});
    return next_ < known_.size() ? known_[next_].length : Length::brief;
  }
  /// The length of the tasks that have run since then.
  void took(Length length) {
    if (next_ < known_.size()) known_[next_].length = length;
  }

 private:
  using Function = std::pair<const engine::TaskCode*, std::uint64_t>;  // a pointer's tasks share a code
  struct Known {
    Function function;
    Length length;
  };
  static constexpr std::size_t kMost = 256;
  std::vector<Known> known_;
  std::size_t next_ = 0;
};

}  // namespace rubato::inline v0::native
