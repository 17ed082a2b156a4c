// Reasons for idle cores, by samples of task regions: the waiting tasks, the reasons of their waits, and the
// running tasks. A waiting task explains one idle core. If more tasks wait than cores idle, each explains the
// same fraction. Idle cores that no waiting task explains are counted by how many tasks run meanwhile, and by
// which: the run is bounded by those and by the tasks that they create.
//
// It watches and changes nothing, and costs nothing between samples.
//
// Invariant: the cores that its reasons explain add up to idle().
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "chip/vocabulary/task.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// The reason, other than a locale, for which a task on the chip does not run.
enum class TaskWait : std::uint8_t {
  timestamp,    ///< a NONSPEC task, or any where nothing speculates: until all earlier tasks have committed
  creator,      ///< until its creator has ended, or committed
  throttle,     ///< task.throttle keeps it from speculating
  commits,      ///< it would find the commit queue full, or was aborted too often to speculate again
  promotion,    ///< a task runs non-speculatively that others stop for
  system_call,  ///< it is suspended in one
  core,         ///< it may run, but the cores of its tile are busy
  other,        ///< it is about to run, or nothing of these keeps it
  memory,       ///< it is spilled, or under way to its tile
};
inline constexpr unsigned kTaskWaits = 9;
std::string_view name_of(TaskWait wait);

class ParallelismProfile {
 public:
  struct Running {
    std::uint64_t id;
    Addr function;
  };
  struct Waiting {
    std::uint64_t tasks = 0;
    Addr function = 0;  ///< of one of them
  };
  /// The contents of a sample.
  struct Instant {
    std::uint64_t region = 0;  ///< its number
    std::uint32_t idle = 0;    ///< cores
    std::array<std::uint64_t, kTaskWaits> waiting{};
    std::map<Locale, Waiting> locales;  ///< tasks that another one of their locale keeps waiting, or will
    std::vector<Running> running;
  };
  struct OfLocale {
    double idle = 0;
    Addr function = 0;
  };
  struct OfTask {
    Addr function = 0;
    double idle = 0;            ///< cores, while it ran and no waiting task explained them
    std::uint64_t samples = 0;  ///< in which it did
  };

  void add(const Instant& instant);

  std::uint64_t samples() const { return samples_; }
  /// Samples with an idle core.
  std::uint64_t idle_samples() const { return idle_samples_; }
  /// Idle cores, added up over samples; the same for all below.
  std::uint64_t idle() const { return idle_; }
  double waiting(TaskWait wait) const { return waiting_[static_cast<unsigned>(wait)]; }
  const std::map<Locale, OfLocale>& locales() const { return locales_; }
  /// Not explained by tasks that wait: by how many run.
  const std::map<std::size_t, double>& few() const { return few_; }
  const std::map<std::uint64_t, OfTask>& tasks() const { return tasks_; }
  /// Samples that saw one task and nothing else, and in how many regions they were. If a region has two such
  /// samples, the later one sees the same task, or a descendant of it.
  std::uint64_t lone_samples() const { return lone_samples_; }
  std::uint64_t lone_regions() const { return lone_regions_; }

 private:
  std::uint64_t samples_ = 0, idle_samples_ = 0, idle_ = 0;
  std::uint64_t lone_samples_ = 0, lone_regions_ = 0, last_lone_region_ = 0;
  std::array<double, kTaskWaits> waiting_{};
  std::map<Locale, OfLocale> locales_;
  std::map<std::size_t, double> few_;
  std::map<std::uint64_t, OfTask> tasks_;
};

}  // namespace rubato::chip
