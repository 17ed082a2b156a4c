// The order in which tasks committed (C19), one line each: what a checker outside the run needs to replay it,
// and what people compare when two runs differ. A task that waited for a TaskGroup is there
// once, with its last end. Tab-separated, compressed while it is written. Not what
// aborted attempts did: that is the trace.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <unordered_map>

#include "chip/session/compressed_file.hpp"
#include "chip/speculation/task_observer.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CommitOrder final : public TaskObserver {
 public:
  /// @throws UsageError if the file cannot be made.
  CommitOrder(std::filesystem::path file, std::function<std::string(Addr)> symbol);

  void on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor&, CoreId, Cycle) override;
  void on_dispatched(CoreId, const DispatchedTask&, Cycle) override;
  void on_committed(std::uint64_t id, CoreId, Cycle, bool waits) override;
  void on_discarded(std::uint64_t id, Cycle) override { tasks_.erase(id); }

  /// Completes the file. @throws UsageError if the disk did not take all of it.
  void close() { file_.close(); }

 private:
  struct Task {
    std::uint64_t parent = 0;
    TaskDescriptor descriptor{};
    bool speculative = false;  // in its last attempt, when dispatched
  };
  const std::string& name_of_function(Addr function);

  CompressedFile file_;
  std::function<std::string(Addr)> symbol_;
  std::unordered_map<std::uint64_t, Task> tasks_;  // neither committed nor discarded; looked up only
  std::unordered_map<Addr, std::string> names_;    // looked up only
};

}  // namespace rubato::chip
