// Storage of attempts: they never move and keep the capacity of their lists, so that speculation allocates
// nothing once it has seen its largest tasks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chip/speculation/attempt.hpp"

namespace rubato::chip {

class AttemptPool {
 public:
  Attempt* acquire() {
    if (free_.empty()) {
      attempts_.push_back(make());
      attempts_.back()->number = static_cast<std::uint32_t>(attempts_.size()) - 1;
      free_.push_back(attempts_.back().get());
    }
    Attempt* attempt = free_.back();
    free_.pop_back();
    return attempt;
  }
  void release(Attempt* attempt) {
    attempt->task = nullptr;
    attempt->reads.clear();
    attempt->writes.clear();
    attempt->undo.clear();
    attempt->log_lines.clear();
    attempt->children.clear();
    attempt->handlers.clear();
    attempt->cycles_before.clear();
    attempt->cycles = AttemptCycles{};
    attempt->held_children = 0;
    attempt->is_victim = attempt->is_rolling_back = attempt->holds_core = attempt->has_moved = false;
    free_.push_back(attempt);
  }
  /// By Attempt::number.
  Attempt* at(std::uint32_t number) const { return attempts_[number].get(); }
  const std::vector<std::unique_ptr<Attempt>>& all() const { return attempts_; }

 private:
  // The lists of a usual attempt are allocated with it, so that all of it lies together in host memory.
  static std::unique_ptr<Attempt> make() {
    auto attempt = std::make_unique<Attempt>();
    attempt->reads.reserve(8);
    attempt->writes.reserve(4);
    attempt->undo.reserve(4);
    attempt->log_lines.reserve(2);
    attempt->children.reserve(4);
    return attempt;
  }

  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::vector<Attempt*> free_;
};

}  // namespace rubato::chip
