// R13: a trace on request, as Perfetto reads it: a slice a task that ran, waiting shown, bounded.
// SPDX-License-Identifier: MIT
#include "native/trace/trace_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "native/trace/gzip.hpp"
#include "rubato/actors.hpp"
#include "rubato/algorithms.hpp"
#include "rubato/async.hpp"
#include "rubato/create_all.hpp"
#include "rubato/delayed.hpp"
#include "rubato/outside_event.hpp"
#include "rubato/rubato.hpp"
#include "tests/temporary_folder.hpp"

namespace {

using namespace rubato;
using nlohmann::json;
namespace fs = std::filesystem;

struct Slice {
  std::string name, category;
  unsigned track = 0;
  std::int64_t begin = 0, end = 0;  // nanoseconds
  json arguments;
};

std::int64_t nanoseconds(const json& microseconds) {
  return static_cast<std::int64_t>(microseconds.get<double>() * 1000 + 0.5);
}

/// The engine with a trace, and what is in its file.
class Trace : public ::testing::TestWithParam<unsigned> {
 protected:
  ~Trace() override { native::configure({}); }
  fs::path file() const { return folder_ / name_; }
  void begin(unsigned workers, unsigned spans = 1u << 18, const char* name = "trace.json") {
    name_ = name;
    native::Options options;
    options.workers = workers;
    options.oversubscribe = true;
    options.trace = file().string();
    options.trace_spans = spans;
    native::configure(options);
    workers_ = workers;
  }
  json document() const {
    std::ifstream stream(file());
    return json::parse(stream);
  }
  std::vector<Slice> slices(const std::string& category) const {
    std::vector<Slice> found;
    const json document = this->document();
    for (const json& event : document["traceEvents"]) {
      if (event["ph"] != "X" || (!category.empty() && event["cat"] != category)) continue;
      const std::int64_t ts = nanoseconds(event["ts"]);
      found.push_back(
          {event["name"], event["cat"], event["tid"], ts, ts + nanoseconds(event["dur"]), event["args"]});
    }
    return found;
  }
  /// On each track a slice lies within another or beside it.
  void expect_nested() const {
    std::map<unsigned, std::vector<Slice>> tracks;
    for (const Slice& slice : slices("")) tracks[slice.track].push_back(slice);
    for (auto& [track, list] : tracks) {
      std::stable_sort(list.begin(), list.end(), [](const Slice& a, const Slice& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
      });
      std::vector<Slice> around;
      for (const Slice& slice : list) {
        ASSERT_LE(slice.begin, slice.end);
        while (!around.empty() && around.back().end <= slice.begin) around.pop_back();
        if (!around.empty()) {
          ASSERT_LE(slice.end, around.back().end) << slice.name << " in " << around.back().name;
        }
        ASSERT_FALSE(slice.category == "task" && !around.empty()) << "in " << around.back().name;
        around.push_back(slice);
      }
    }
  }
  double total(const std::string& field) const {
    double sum = 0;
    const json document = this->document();
    for (unsigned w = 0; w < workers_; ++w)
      sum += document["otherData"]["worker " + std::to_string(w)][field].get<double>();
    return sum;
  }

  const TemporaryFolder folder_;
  std::string name_ = "trace.json";
  unsigned workers_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Workers, Trace, ::testing::Values(1u, 2u, 8u));

struct alignas(64) Line {
  tracked<std::uint64_t> value;
};

void adds(resource<Line> line, std::uint64_t left) {
  line->value = line->value + 1;
  if (left != 0) create<nonspec>(adds, {.on = line}, line, left - 1);
}
void steps(std::uint64_t left) {
  if (left == 0) return;
  create<nonspec>(steps, {.at = timestamp() + 1, .on = left}, left - 1);
  create<nonspec>([] {}, {.at = timestamp() + 1, .priority = Priority::high});
}
void alone() {}

TEST_P(Trace, HasOneSliceForEachTaskThatRan) {
  for (const auto way : {native::Synchronization::automatic, native::Synchronization::latch}) {
    begin(GetParam());
    native::Options options = native::options();
    options.synchronization = way;
    native::configure(options);
    const std::uint64_t before = native::counters().tasks_run;
    std::vector<resource<Line>> lines;
    for (int i = 0; i < 4; ++i) lines.push_back(make_resource<Line>({}));
    TaskGroup group;
    for (std::uint64_t i = 0; i < 400; ++i) create<nonspec>(adds, {.on = lines[i % 4]}, lines[i % 4], 3);
    for (std::uint64_t i = 0; i < 20; ++i) create<spec>(alone, {.on = i});
    for (std::uint64_t i = 0; i < 20; ++i) create<nonspec>([] {}, {.group = &group});
    create<nonspec>([] {}, {.after = &group});
    create<nonspec>(steps, {.at = 0}, 200);
    run();
    const std::uint64_t ran = native::counters().tasks_run - before;
    EXPECT_EQ(ran, 400u * 4 + 20 + 20 + 1 + 401);
    EXPECT_EQ(slices("task").size(), ran);
    EXPECT_EQ(total("task_left_out"), 0);
    expect_nested();
    for (const resource<Line>& line : lines) {
      EXPECT_EQ(line->value, 400u);
      remove(line);
    }
  }
}

TEST_P(Trace, SaysWhatRanAndWhen) {
  begin(GetParam());
  const auto line = make_resource<Line>({.isolation = Isolation::shared_reads});
  create<nonspec>(adds, {.on = line, .access = writes}, line, 0);
  create<spec>(alone, {});
  create<nonspec>(steps, {.at = std::uint64_t{1} << 60}, 3);
  run();
  unsigned named = 0;
  for (const Slice& slice : slices("task")) {
    if (slice.name == "adds") {
      ++named;
      EXPECT_EQ(slice.arguments["access"], "writes");
      EXPECT_EQ(std::stoull(slice.arguments["resource"].get<std::string>(), nullptr, 16),
                reinterpret_cast<std::uintptr_t>(line.get()));
    } else if (slice.name == "alone") {
      ++named;
      EXPECT_EQ(slice.arguments["type"], "spec");
    } else if (slice.name == "steps" || slice.name == "lambda of steps") {
      ++named;
      EXPECT_EQ(slice.arguments["timestamp"].get<std::string>().substr(0, 15), "115292150460684");
    }
  }
  EXPECT_EQ(named, 9u) << "steps() ran four times, its lambda, which is named after it, three times";
  // Two tasks each at the second, third and fourth timestamp.
  EXPECT_EQ(slices("order").size(), 3u);
  for (const Slice& slice : slices("order")) EXPECT_EQ(slice.arguments["tasks"], 2);
  EXPECT_EQ(slices("run").size(), 1u);
  remove(line);
}

struct Works {
  void operator()() const {}
};
struct Question {
  using reply = int;
};
struct Guest : behavior<Question> {
  int on(Question) {
    stop();
    return 1;
  }
};

/// Tasks by which the engine does its own work are no slices; others have names of the program.
TEST_P(Trace, ShowsNoTaskOfTheRuntime) {
  begin(GetParam());
  TaskGroup group;
  OutsideEvent event(group);
  const auto guest = spawn<Guest>({.group = &group, .thread = ActorThread::own});
  create<nonspec>([guest] { guest.ask(Question{}).then([](int) {}); }, {});
  create<nonspec>([&event] { event.set(); }, {});
  create<nonspec>(Works{}, {.after = &group});
  create_later<nonspec>(std::chrono::milliseconds(1), Works{}, {});
  const std::future<void> done = async(Works{});
  create<nonspec>([] { create_all<nonspec>(0, 500, [](int) { create<nonspec>(Works{}, {}); }); }, {});
  run();
  EXPECT_TRUE(group.is_complete());
  const json functions = document()["otherData"]["functions"];
  const auto all = slices("task");
  for (const Slice& slice : all) {
    const std::string name = functions.value(slice.name, slice.name);
    if (name.find("::engine::split_range<") != std::string::npos) continue;  // shown as what it creates
    for (const char* own : {"::native::", "::engine::", "OutsideEvent"})
      EXPECT_EQ(name.find(own), std::string::npos) << name;
  }
  const auto of_program = [](const Slice& slice) { return slice.name == "Works"; };
  EXPECT_EQ(std::count_if(all.begin(), all.end(), of_program), 503);
}

TEST_P(Trace, SaysWhichProgramRan) {
  begin(GetParam());
  create<spec>(alone, {});
  run();
  const json document = this->document();
  const json& first = document["traceEvents"][0];
  EXPECT_EQ(first["name"], "process_name");
  EXPECT_EQ(first["args"]["name"], "test_native_trace");
  EXPECT_NE(document["otherData"]["command"][0].get<std::string>().find("test_native_trace"),
            std::string::npos);
  EXPECT_TRUE(document["otherData"]["environment"].is_array());
  ASSERT_TRUE(document["otherData"]["functions"].contains("alone"));
  EXPECT_NE(document["otherData"]["functions"]["alone"].get<std::string>().find("alone()"),
            std::string::npos);
}

/// The file, unpacked by gzip.
json unpacked(const fs::path& file) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("gzip -dc " + file.string()).c_str(), "r"), pclose);
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(c);
  return json::parse(text);
}

TEST_P(Trace, IsCompressedIfItsNameSaysSo) {
  if (!native::has_gzip()) GTEST_SKIP() << "built without zlib";
  begin(GetParam(), 1u << 18, "trace.json.gz");
  for (unsigned runs = 1; runs <= 3; ++runs) {
    for (int i = 0; i < 2000; ++i) create<nonspec>([] {}, {});
    run();
    const json document = unpacked(file());
    std::size_t tasks = 0;
    for (const json& event : document["traceEvents"]) tasks += event["ph"] == "X" && event["cat"] == "task";
    EXPECT_EQ(tasks, 2000u * runs);
    EXPECT_EQ(document["otherData"]["runs"], runs) << "its end is replaced";
  }
  EXPECT_LT(fs::file_size(file()), 6000u * 40);
}

TEST_P(Trace, IsCompleteAfterEachRun) {
  begin(GetParam());
  std::int64_t end = 0;
  for (unsigned runs = 1; runs <= 3; ++runs) {
    for (int i = 0; i < 100; ++i) create<nonspec>([] {}, {});
    run();
    EXPECT_EQ(document()["otherData"]["runs"], runs);
    const std::vector<Slice> all = slices("run");
    ASSERT_EQ(all.size(), runs);
    EXPECT_GE(all.back().begin, end);
    end = all.back().end;
    EXPECT_EQ(slices("task").size(), 100u * runs);
    expect_nested();
  }
}

TEST_P(Trace, KeepsTheFirstSpansAndCountsTheOthers) {
  testing::internal::CaptureStderr();
  begin(GetParam(), 10);
  for (int i = 0; i < 1000; ++i) create<nonspec>([] {}, {});
  run();
  const std::size_t kept = slices("task").size();
  EXPECT_LE(kept, 10u * GetParam());
  EXPECT_EQ(total("task_left_out"), 1000.0 - static_cast<double>(kept));
  native::configure({});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("leaves out " + std::to_string(1000 - kept) + " tasks"), std::string::npos) << said;
}

/// Far longer than it takes the other workers to begin, on a busy machine, too.
void lingers() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

TEST_P(Trace, ShowsWhoHadNothingToDo) {
  begin(GetParam());
  create<nonspec>(lingers, {});
  run();
  const std::vector<Slice> tasks = slices("task");
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_GE(tasks[0].end - tasks[0].begin, 199'000'000);
  EXPECT_LE(tasks[0].end - tasks[0].begin, 5'000'000'000);
  std::map<unsigned, std::int64_t> idle;
  for (const Slice& slice : slices("worker")) {
    if (slice.name == "idle") idle[slice.track] += slice.end - slice.begin;
  }
  for (unsigned w = 0; w < GetParam(); ++w) {
    if (w == tasks[0].track) continue;
    EXPECT_GE(idle[w], 20'000'000) << "worker " << w;
  }
  const double run_us = document()["otherData"]["run_us"];
  EXPECT_LE(total("task_us") + total("idle_us") + total("aside_us"), run_us * GetParam() + 1);
  EXPECT_GE(total("task_us"), 199'000);
}

/// The watch hands over a copy of the last task behind a long one. What stays in its place is no task.
TEST_P(Trace, HasATaskOnceThatTheWatchHandsOver) {
  if (GetParam() == 1) GTEST_SKIP() << "another worker runs what is handed over";
  begin(GetParam());
  std::atomic<int> ran{0};
  create<nonspec>(
      [&ran] {
        for (int i = 0; i < 10; ++i) create<nonspec>([&ran] { ++ran; }, {});
        while (ran != 10) std::this_thread::yield();
      },
      {});
  run();
  EXPECT_EQ(slices("task").size(), 11u);
}

TEST_P(Trace, IsWrittenAfterAnExceptionToo) {
  begin(GetParam());
  create<nonspec>(alone, {.at = 0});
  create<nonspec>([] { throw std::runtime_error("no"); }, {.at = 1});
  EXPECT_THROW(run(), TaskError);
  EXPECT_EQ(slices("task").size(), 2u);
}

TEST_P(Trace, ThatCannotBeWrittenIsRefusedAndChangesNothing) {
  native::Options options = native::options();
  options.workers = GetParam();
  options.oversubscribe = true;
  native::configure(options);
  options.trace = (folder_ / "none" / "trace.json").string();
  options.workers = GetParam() + 1;
  try {
    native::configure(options);
    FAIL() << "configure() throws";
  } catch (const TaskError& e) {
    EXPECT_NE(std::string(e.what()).find("trace.json cannot be written: No such file"), std::string::npos);
  }
  EXPECT_EQ(native::workers(), GetParam());
  create<nonspec>(alone, {});
  run();
}

}  // namespace
