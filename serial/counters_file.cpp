// SPDX-License-Identifier: MIT
#include "serial/counters_file.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/peak_memory.hpp"
#include "base/writable.hpp"
#include "rubato/rubato.hpp"

namespace rubato::inline v0::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// An empty name is none.
const char* path_if_any(const char* text) { return text != nullptr && *text != 0 ? text : nullptr; }

struct CountersFile {
  const char* path = path_if_any(std::getenv("RUBATO_COUNTERS"));
  const pid_t process = getpid();
  std::uint64_t runs = 0;
  bool is_serial = false;  // a serial region was measured
  double seconds = 0;      // of what has ended
  std::optional<Clock::time_point> begin;

  void end() {
    if (begin) seconds += std::chrono::duration<double>(Clock::now() - *begin).count();
    begin.reset();
  }
  void write() {
    end();
    std::FILE* const file = std::fopen(path, "w");
    bool is_written = file != nullptr;
    if (is_written) {
      is_written = std::fprintf(file,
                                "{\n \"format\": 1,\n \"engine\": \"serial\",\n \"seed\": %llu,\n "
                                "\"workers\": %d,\n \"runs\": %llu,\n"
                                " \"serial\": %s,\n \"seconds\": %.9f,\n \"peak_mb\": %f,\n \"counters\": [\n"
                                "  {\"name\": \"tasks_created\", \"unit\": \"tasks\", \"description\": "
                                "\"Tasks created\", \"value\": %llu},\n"
                                "  {\"name\": \"tasks_run\", \"unit\": \"tasks\", \"description\": "
                                "\"Tasks run to their end\", \"value\": %llu}\n ],\n \"long_tasks\": []\n}\n",
                                static_cast<unsigned long long>(totals.seed), runs != 0 || is_serial ? 1 : 0,
                                static_cast<unsigned long long>(runs), is_serial ? "true" : "false", seconds,
                                peak_mb(), static_cast<unsigned long long>(totals.tasks_created),
                                static_cast<unsigned long long>(totals.tasks_run)) > 0;
      is_written = std::fclose(file) == 0 && is_written;
    }
    if (!is_written)
      std::fprintf(stderr, "rubato: the counters could not be written to %s (RUBATO_COUNTERS)\n", path);
  }
};
CountersFile counters;

// Before main(), so that a program that never calls run() leaves counters, too. A copy that fork() made
// writes nothing.
const int registered = counters.path == nullptr ? 0 : std::atexit([] {
  if (getpid() == counters.process) counters.write();
});

}  // namespace

void check_counters_file() {
  if (counters.path == nullptr) return;
  if (const int error = writing_error(counters.path); error != 0) {
    throw TaskError(std::string("the counters ") + counters.path +
                    " cannot be written: " + std::strerror(error) + " (RUBATO_COUNTERS)");
  }
}

RunClock::RunClock() {
  if (counters.path == nullptr) return;
  ++counters.runs;
  counters.begin = Clock::now();
}
RunClock::~RunClock() { counters.end(); }

}  // namespace rubato::inline v0::engine

namespace rubato::inline v0::serial {

SerialClock::SerialClock() {
  engine::counters.is_serial = true;
  engine::counters.begin = std::chrono::steady_clock::now();
}
SerialClock::~SerialClock() { engine::counters.end(); }

}  // namespace rubato::inline v0::serial
