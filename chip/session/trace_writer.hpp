// The task trace (C24): Chrome and Perfetto JSON, compressed while it is written. A core is a lane, an
// attempt a slice. Flows lead from the parent to every attempt of a child. Spills and refills are instants,
// the GVT is a counter. An attempt that was aborted while it ran ends there, with the cause in its name; if
// it was aborted after its body had ended, its slice stays, and an instant in the lane of its core names task
// and cause. If a capsule goes on after its task was aborted, a slice of its own follows. Under a coherence
// protocol by messages a tile has lanes for its caches, its home and the memory controller there. An arriving
// message is a slice, a transaction a flow. Timestamps are simulated microseconds. Functions have short
// names; the whole ones are a table at the end. Memory is bounded.
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

#include "base/short_name.hpp"
#include "chip/coherence/message_observer.hpp"
#include "chip/os/thread_profile.hpp"
#include "chip/session/compressed_file.hpp"
#include "chip/speculation/task_observer.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class TraceWriter final : public TaskObserver, public ThreadWatcher, public MessageObserver {
 public:
  struct Options {
    std::filesystem::path file;
    std::uint32_t cores = 1, cores_per_tile = 1;
    Cycle from{}, to = kNever;  ///< the window [from, to): slices that overlap it are written
    std::uint64_t frequency_mhz = 2000;
    std::function<std::string(Addr)> symbol;
    std::function<bool(Addr)> has_source{};  ///< empty: nowhere
    std::string about = "{}";                ///< a JSON object: what ran, on which chip
  };
  /// @throws UsageError if the file cannot be made.
  explicit TraceWriter(Options options);

  void on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor&, CoreId, Cycle) override;
  void on_handler_queued(std::uint64_t id, CoreId, Cycle) override;
  void on_dispatched(CoreId, const DispatchedTask&, Cycle) override;
  void on_suspended(std::uint64_t id, CoreId, Cycle) override;
  void on_resumed(CoreId, const DispatchedTask&, Cycle) override;
  void on_doomed_suspended(CoreId core, Cycle now) override { on_doomed_ended(core, now); }
  void on_doomed_resumed(CoreId, const DispatchedTask&, Cycle) override;
  void on_finished(std::uint64_t id, CoreId, Cycle) override;
  void on_committed(std::uint64_t id, CoreId, Cycle, bool waits) override;
  void on_aborted(std::uint64_t id, CoreId, const AbortReason&, bool discarded, Cycle) override;
  void on_capsule(CoreId, Addr stub, Cycle from, Cycle to, bool doomed) override;
  void on_doomed_ended(CoreId, Cycle) override;
  void on_internal_finished(CoreId, DispatchedTask::Kind, Cycle) override;
  void on_spilled(std::uint64_t id, TileId, Cycle) override;
  void on_refilled(std::uint64_t id, TileId, Cycle) override;
  void on_gvt(VirtualTime, Cycle) override;
  void on_ran(int thread, CoreId core, Cycle from, Cycle to) override;
  void on_waited(int thread, const ThreadWait& wait, const std::vector<Addr>& chain, Cycle from, Cycle to,
                 int by) override;
  void on_message(const SeenMessage& message) override;

  /// Ends open slices, completes the file. @throws UsageError if the disk did not take all of it.
  void close();

 private:
  struct Lane {
    bool open = false;
    DispatchedTask task{};
    Cycle began{}, ended{};  ///< the last slice
  };
  bool in_window(Cycle c) const { return c >= options_.from && c < options_.to; }
  double microseconds(Cycle c) const {
    return static_cast<double>(c.value) / static_cast<double>(options_.frequency_mhz);
  }
  void write_header();
  /// A flow to task `id`, if it may still run.
  void begin_flow(std::uint64_t id, CoreId core, Cycle now);
  void write_event(std::string_view fields);
  void write_instant(std::string_view name, std::uint64_t id, TileId tile, Cycle now);
  const std::string& name_of_function(Addr function);  // short, quoted for JSON
  /// The cause, and of a conflict also its causer and its place, as JSON members that begin with `key`.
  std::string arguments_of(const AbortReason& reason, std::string_view key);
  /// `aborted`: the attempt did not finish, for this reason. `suspended`: the task will go on.
  void end_slice(CoreId core, Cycle now, const AbortReason* aborted = nullptr, bool suspended = false);
  std::string position(CoreId core, Cycle at) const;
  /// A slice in the lane of a thread, which it names first.
  void write_thread_slice(int thread, std::string_view name, Cycle from, Cycle to,
                          std::string_view arguments);

  Options options_;
  CompressedFile file_;
  std::vector<Lane> lanes_;                  // by core
  std::unordered_set<std::uint64_t> flows_;  // children that may still run; looked up only, never iterated
  std::unordered_map<Addr, std::string> names_;  // looked up only
  ShortNames short_names_;
  std::unordered_set<int> threads_;                  // whose lanes have names; looked up only
  std::unordered_set<std::uint64_t> message_lanes_;  // that have names; looked up only
  std::uint64_t messages_ = 0;                       // drawn
  Cycle last_{};
  Timestamp gvt_ = kMaxVirtualTime.timestamp;  // last written
  bool is_first_ = true, closed_ = false;
};

}  // namespace rubato::chip
