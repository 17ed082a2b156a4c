// SPDX-License-Identifier: MIT
#include "native/counters_file.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/json_text.hpp"
#include "base/peak_memory.hpp"
#include "base/writable.hpp"
#include "native/engine.hpp"
#include "rubato/errors.hpp"

namespace rubato::inline v0::native {
namespace {

constexpr std::array kCounters = {
    CounterDescription{"tasks_created", "tasks", "Tasks created", &Counters::tasks_created},
    CounterDescription{"tasks_run", "tasks", "Tasks run to their end", &Counters::tasks_run},
    CounterDescription{"tasks_run_alone", "tasks", "SPEC tasks: no other ran beside them",
                       &Counters::tasks_run_alone},
    CounterDescription{"tasks_run_long", "tasks", "Tasks that took over 10 ms", &Counters::tasks_run_long},
    CounterDescription{"timestamps", "timestamps", "Distinct timestamps reached", &Counters::timestamps},
    CounterDescription{"tasks_packed", "tasks", "Tasks of large timestamps that waited in packed form",
                       &Counters::tasks_packed},
    CounterDescription{"timestamps_shared", "timestamps", "Timestamps with tasks enough for several workers",
                       &Counters::timestamps_shared},
    CounterDescription{"reads_repeated", "tasks", "Optimistic reads that lost against a writer",
                       &Counters::reads_repeated},
    CounterDescription{"chunks_published", "chunks", "Chunks of private tasks offered to idle workers",
                       &Counters::chunks_published},
    CounterDescription{"chunks_stolen", "chunks", "Chunks of private tasks taken by idle workers",
                       &Counters::chunks_stolen},
    CounterDescription{"pools_stolen", "pools", "Ready pools taken by idle workers", &Counters::pools_stolen},
    CounterDescription{"parks", "times", "A worker went to sleep", &Counters::parks},
    CounterDescription{"wake_ups", "calls", "System calls that woke workers", &Counters::wake_ups},
    CounterDescription{"lag_samples", "times",
                       "A worker waited to learn whether something comes before it sleeps",
                       &Counters::lag_samples},
    CounterDescription{"lag_sample_hits", "times", "Something came", &Counters::lag_sample_hits},
    CounterDescription{"lags", "times", "A worker waited before it slept, since that paid", &Counters::lags},
    CounterDescription{"lag_hits", "times", "Something came", &Counters::lag_hits},
    CounterDescription{"lag_ns", "ns", "Time of these samples and lags", &Counters::lag_ns},
    CounterDescription{"lag_decisions", "times", "A worker had samples enough to decide",
                       &Counters::lag_decisions},
    CounterDescription{"lag_drops", "times", "Lags ceased to pay", &Counters::lag_drops},
    CounterDescription{"lag_preempted", "times", "A worker lost its CPU while it waited",
                       &Counters::lag_preempted},
    CounterDescription{"lag_switch_ns", "ns", "What sleeping and being woken costs the first worker",
                       &Counters::lag_switch_ns},
    CounterDescription{"turn_lag_samples", "times",
                       "A turn waited to learn whether a message comes before its actor gives it up",
                       &Counters::turn_lag_samples},
    CounterDescription{"turn_lag_sample_hits", "times", "One came", &Counters::turn_lag_sample_hits},
    CounterDescription{"turn_lags", "times", "A turn waited before it was given up, since that paid",
                       &Counters::turn_lags},
    CounterDescription{"turn_lag_hits", "times", "A message came", &Counters::turn_lag_hits},
    CounterDescription{"turn_lag_ns", "ns", "Time of these samples and lags", &Counters::turn_lag_ns},
    CounterDescription{"turn_lag_decisions", "times", "An actor had samples enough to decide",
                       &Counters::turn_lag_decisions},
    CounterDescription{"turn_lag_drops", "times", "Lags of turns ceased to pay", &Counters::turn_lag_drops},
    CounterDescription{"turn_lag_preempted", "times", "A worker lost its CPU while a turn waited",
                       &Counters::turn_lag_preempted},
    CounterDescription{"turn_switch_ns", "ns", "What a switch from turn to turn costs the first worker",
                       &Counters::turn_switch_ns},
    CounterDescription{"turns_run_next", "turns", "Turns that ran right behind the one that caused them",
                       &Counters::turns_run_next},
    CounterDescription{"prefetch_distance", "tasks", "Prefetch distance of the first worker at the end",
                       &Counters::prefetch_distance},
    CounterDescription{"unreclaimed_bytes", "bytes", "Removed resources that are not freed yet",
                       &Counters::unreclaimed_bytes},
};

constexpr std::size_t kMostNamed = 16;  // functions of long tasks: a program may have thousands

/// Nanoseconds are significant.
std::string seconds(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9f", value);
  return text.data();
}

using Clock = std::chrono::steady_clock;

/// An empty name is none, as in RUBATO_TRACE.
const char* path_if_any(const char* text) { return text != nullptr && *text != 0 ? text : nullptr; }

struct File {
  const char* path = path_if_any(std::getenv("RUBATO_COUNTERS"));
  const pid_t process = getpid();
  std::mutex mutex;  // the process may end by another thread than the one in run()
  std::uint64_t runs = 0;
  bool is_serial = false;                  // a serial region was measured
  double seconds = 0;                      // of those that have ended
  std::optional<Clock::time_point> begin;  // of the one that goes on
  bool is_written = false;

  void write(unsigned workers, const Counters& counters, const std::vector<LongTask>& long_tasks) {
    const std::lock_guard lock(mutex);
    if (is_written) return;
    is_written = true;
    if (begin) end_run();
    const std::string text = counters_as_json(
        {.workers = workers, .runs = runs, .is_serial = is_serial, .seconds = seconds, .peak_mb = peak_mb()},
        counters, long_tasks, actor_counters());
    std::FILE* const file = std::fopen(path, "w");
    const bool failed = file == nullptr || std::fputs(text.c_str(), file) < 0;
    if ((file != nullptr && std::fclose(file) != 0) || failed) {
      std::fprintf(stderr, "rubato: the counters could not be written to %s (RUBATO_COUNTERS)\n", path);
    }
  }
  void end_run() {
    seconds += std::chrono::duration<double>(Clock::now() - *begin).count();
    begin.reset();
  }
};
File file;

// Handlers run in the reverse order of their registration: the one below first, then this one, registered
// before main(), for programs that never called run(). A copy made by fork() writes nothing.
const int registered = file.path == nullptr ? 0 : std::atexit([] {
  if (getpid() == file.process) file.write(file.is_serial ? 1 : 0, {}, {});
});

}  // namespace

void check_counters_file() {
  if (file.path == nullptr) return;
  const int error = writing_error(file.path);
  if (error == 0) return;
  file.is_written = true;  // nothing more is to be said about it at the end
  throw TaskError(std::string("the counters ") + file.path + " cannot be written: " + std::strerror(error) +
                  " (RUBATO_COUNTERS)");
}

std::span<const CounterDescription> counter_descriptions() { return kCounters; }

std::string counters_as_json(const RunTotals& totals, const Counters& counters,
                             const std::vector<LongTask>& long_tasks, const ActorCounters& actors) {
  std::string text = "{\n \"format\": 1,\n \"workers\": " + std::to_string(totals.workers) +
                     ",\n \"runs\": " + std::to_string(totals.runs) +
                     ",\n \"serial\": " + (totals.is_serial ? "true" : "false") +
                     ",\n \"seconds\": " + seconds(totals.seconds) +
                     ",\n \"peak_mb\": " + std::to_string(totals.peak_mb) + ",\n \"counters\": [";
  const char* separator = "\n";
  const auto append = [&](const char* name, const char* unit, const char* description, std::uint64_t value) {
    text += separator;
    text += std::string("  {\"name\": \"") + name + "\", \"unit\": \"" + unit + "\", \"description\": \"" +
            description + "\", \"value\": " + std::to_string(value) + "}";
    separator = ",\n";
  };
  for (const CounterDescription& c : kCounters) append(c.name, c.unit, c.description, counters.*c.value);
  if (actors.spawned != 0) {
    std::uint64_t dead = 0;
    for (const std::uint64_t letters : actors.dead_letters) dead += letters;
    append("actors_spawned", "actors", "Actors spawned", actors.spawned);
    append("actors_stopped", "actors", "Actors that have stopped", actors.stopped);
    append("messages_handled", "messages", "Messages handled", actors.messages_handled);
    append("messages_allocated", "messages", "Messages too large for a node", actors.messages_allocated);
    append("dead_letters", "messages", "Messages that no actor has handled", dead);
  }
  text += "\n ],\n \"long_tasks\": [";
  separator = "\n";
  for (std::size_t i = 0; i < long_tasks.size() && i < kMostNamed; ++i) {
    const LongTask& task = long_tasks[i];
    text += separator;
    text += "  {\"function\": " + json_quoted(task.function) + ", \"count\": " + std::to_string(task.count) +
            ", \"longest_seconds\": " + seconds(task.longest_seconds) + "}";
    separator = ",\n";
  }
  return text + "\n ]\n}\n";
}

RunClock::RunClock() {
  if (file.path == nullptr) return;
  const std::lock_guard lock(file.mutex);
  if (file.runs++ == 0) {
    std::atexit([] {
      if (!is_forked_copy()) file.write(native::workers(), native::counters(), native::long_tasks());
    });
  }
  file.begin = Clock::now();
}

RunClock::~RunClock() {
  if (file.path == nullptr) return;
  const std::lock_guard lock(file.mutex);
  if (file.begin) file.end_run();
}

}  // namespace rubato::inline v0::native

namespace rubato::inline v0::native {

SerialClock::SerialClock() {
  using native::file;
  if (file.path == nullptr) return;
  const std::lock_guard lock(file.mutex);
  file.is_serial = true;
  file.begin = Clock::now();
}

SerialClock::~SerialClock() {
  using native::file;
  if (file.path == nullptr) return;
  const std::lock_guard lock(file.mutex);
  if (file.begin) file.end_run();
}

}  // namespace rubato::inline v0::native
