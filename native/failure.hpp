// The end of a run by an exception: the first exception of a task, and how many followed. Names tasks for
// users. R11.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "rubato/engine/native_task.hpp"
#include "rubato/errors.hpp"

namespace rubato::inline v0::native {

std::string name_of(const engine::Task& task);
std::optional<std::uint64_t> timestamp_if_any(const engine::Task& task);

/// A child that its creator must not create: its timestamp is earlier, or the creator has none.
[[noreturn]] void throw_wrong_order(const engine::Task& creator, const engine::Task& child);

class Failure {
 public:
  // Without memory, too: the task has no name then.
  /// `error` left `task`. From any worker.
  void add(const std::exception_ptr& error, const engine::Task& task) noexcept;
  /// An error of the run itself.
  void add(const std::exception_ptr& error) noexcept;
  /// The text of the first one that was added; the exception itself is its run's. Empty: none, or no memory.
  std::string first() noexcept;
  /// The exception that run() throws, or null; the next run begins without.
  std::exception_ptr take();

 private:
  std::exception_ptr named(const std::exception_ptr& first, std::uint64_t further) const;

  std::mutex mutex_;
  std::exception_ptr first_;  // of a task: what it threw
  bool is_of_task_ = false;
  std::string function_;
  std::optional<std::uint64_t> timestamp_;
  std::uint64_t further_ = 0;
};

}  // namespace rubato::inline v0::native
