// The task trace (C24): Chrome and Perfetto JSON, compressed while it is written. A lane a core, a slice an
// attempt, flows from parent to every attempt of a child, instants for spills and refills, a counter for the
// GVT. An attempt that was aborted while it ran ends there, with the cause in its name; one that was aborted
// after its body had ended has its slice behind it, and an instant in the lane of its core names task and
// cause. Timestamps are simulated microseconds. Memory is bounded.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "chip/session/compressed_file.hpp"
#include "chip/speculation/task_observer.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class TraceWriter final : public TaskObserver {
 public:
  struct Options {
    std::filesystem::path file;
    std::uint32_t cores = 1, cores_per_tile = 1;
    Cycle from{}, to = kNever;  ///< the window [from, to): slices that overlap it are written
    std::uint64_t frequency_mhz = 2000;
    std::function<std::string(Addr)> symbol;
  };
  /// @throws UsageError if the file cannot be made.
  explicit TraceWriter(Options options);

  void on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor&, CoreId, Cycle) override;
  void on_dispatched(CoreId, const DispatchedTask&, Cycle) override;
  void on_suspended(std::uint64_t id, CoreId, Cycle) override;
  void on_resumed(CoreId, const DispatchedTask&, Cycle) override;
  void on_finished(std::uint64_t id, CoreId, Cycle) override;
  void on_committed(std::uint64_t id, CoreId, Cycle, bool waits) override;
  void on_aborted(std::uint64_t id, CoreId, AbortCause, bool discarded, Cycle) override;
  void on_internal_finished(CoreId, DispatchedTask::Kind, Cycle) override;
  void on_spilled(std::uint64_t id, TileId, Cycle) override;
  void on_refilled(std::uint64_t id, TileId, Cycle) override;
  void on_gvt(VirtualTime, Cycle) override;

  /// Ends open slices, completes the file. @throws UsageError if the disk did not take all of it.
  void close();

 private:
  struct Lane {
    bool open = false;
    DispatchedTask task{};
    Cycle began{};
  };
  bool in_window(Cycle c) const { return c >= options_.from && c < options_.to; }
  double microseconds(Cycle c) const {
    return static_cast<double>(c.value) / static_cast<double>(options_.frequency_mhz);
  }
  void write_header();
  void write_event(std::string_view fields);
  void write_instant(std::string_view name, std::uint64_t id, TileId tile, Cycle now);
  const std::string& name_of_function(Addr function);  // quoted for JSON
  /// `aborted`: the attempt did not finish, for this reason. `suspended`: the task will go on.
  void end_slice(CoreId core, Cycle now, std::optional<AbortCause> aborted = std::nullopt,
                 bool suspended = false);
  std::string position(CoreId core, Cycle at) const;

  Options options_;
  CompressedFile file_;
  std::vector<Lane> lanes_;                  // by core
  std::unordered_set<std::uint64_t> flows_;  // children that may still run; looked up only, never iterated
  std::unordered_map<Addr, std::string> names_;  // looked up only
  Cycle last_{};
  Timestamp gvt_ = kMaxVirtualTime.timestamp;  // last written
  bool is_first_ = true, closed_ = false;
};

}  // namespace rubato::chip
