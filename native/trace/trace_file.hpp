// The trace of the native engine (R13), in the JSON form that Perfetto and Chrome read: a track a worker
// with a slice a task that ran, and with the times in which it was idle, parked or stood by; a track of run()
// with the timestamps that several tasks share. One event is one line. Times are microseconds since the
// file was made. Functions have short names; the whole ones are a table at the end, beside what ran. A file
// whose name ends in .gz is compressed.
//
// The file is complete after each run(). Memory and file are bounded: a worker's first spans are kept
// (Options::trace_spans), and how many were left out is said in the file and on standard error.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/short_name.hpp"
#include "native/trace/trace_lane.hpp"

namespace rubato::inline v0::native {

class TraceFile {
 public:
  /// Errors: TaskError if the file cannot be made.
  TraceFile(std::string path, unsigned workers, std::size_t spans_a_worker);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  TraceLane& lane(unsigned worker) { return *lanes_[worker]; }

  /// Around a run(). At its end every worker is idle.
  void begin_run();
  void end_run();
  /// Writes the rest of the last run, if any. A failure is reported on standard error, once.
  void write() noexcept;
  /// At the end, on standard error, if anything is missing. While workers work, too.
  void say_left_out() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Kind = TraceSpan::Kind;
  /// The same moment on both clocks.
  struct Moment {
    std::uint64_t tick = 0;
    std::int64_t nanoseconds = 0;
  };
  struct Lane {
    std::size_t end = 0;      // spans below it are of this run or earlier
    std::size_t written = 0;  // of them
    std::uint64_t opened[kTraceKinds] = {};
    std::int64_t nanoseconds[kTraceKinds] = {};  // of what is written
  };
  struct Phase {
    std::int64_t begin, end;
    std::uint64_t tasks;
    unsigned last_worker, workers;
  };

  Moment now() const;
  /// In nanoseconds; moments outside the run become its ends. Monotone.
  std::int64_t time_of(std::uint64_t tick) const;
  void write_event(const std::string& fields);
  void put_text();
  void write_slice(unsigned track, const char* category, const std::string& quoted_name, std::int64_t begin,
                   std::int64_t end, const std::string& arguments);
  void write_span(unsigned worker, const TraceSpan& span);
  void write_phases();
  void write_tail();
  const std::string& name_of(const TraceSpan& span);  // quoted for JSON

  const std::string path_;
  const bool is_compressed_;
  std::FILE* file_ = nullptr;
  std::string text_;   // that is not in the file yet
  std::string about_;  // what ran: fields of JSON
  std::vector<std::unique_ptr<TraceLane>> lanes_;
  std::vector<Lane> ends_;
  const Clock::time_point start_ = Clock::now();
  Moment begin_, end_;
  std::uint64_t runs_ = 0;
  std::int64_t nanoseconds_ = 0;  // in all runs
  bool must_write_ = false;
  bool has_failed_ = false;
  bool is_lost_ = false;  // text could not be compressed
  bool is_first_ = true;
  std::map<std::uint64_t, Phase> phases_;  // of this run, by timestamp
  std::map<std::pair<const engine::TaskCode*, std::uint64_t>, std::string> names_;
  ShortNames short_names_;
};

}  // namespace rubato::inline v0::native
