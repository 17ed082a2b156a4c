// Sessions: what a run leaves behind, and on stdout, however it ends (C24, C26).
// SPDX-License-Identifier: MIT
#include "chip/session/session.hpp"
#include "chip/task/task_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "chip/config/schema.hpp"
#include "chip/session/guest_output.hpp"
#include "chip/session/run_directory.hpp"
#include "chip/speculation/task_observer.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::chip {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

/// Two cores, 100 cycles before a region of interest and 100 in it; prints, and ends as told.
class FakeSimulation final : public Simulation {
 public:
  struct Script {
    std::string output = "hello\ncheck: passed\n";
    RunOutcome outcome{};
    bool interrupts_itself = false;
    bool throws = false;
    bool speculates = false;
  };
  explicit FakeSimulation(Script script) : script_(std::move(script)) {
    registry_.counter("chip.cycles", "cycles", "cycles", &cycles_);
    registry_.counter("chip.instructions", "instructions", "instructions", &instructions_);
    registry_.counter("tasks.created", "tasks", "created", &created_);
    registry_.counter("net.bytes.memory", "bytes", "bytes", &bytes_);
    account_.register_stats(registry_);
  }
  void observe(ChipObserver* observer, Latency interval) override {
    observer_ = observer;
    interval_ = interval;
  }
  void observe_tasks(TaskObserver* observer) override { tasks_ = observer; }
  void observe_instructions(InstructionObserver*) override {}
  RunOutcome run() override {
    step(100);
    observer_->on_region_begin(Cycle{100});
    if (tasks_ != nullptr && script_.speculates) trace_aborts();
    if (tasks_ != nullptr && !script_.speculates) trace();
    if (script_.speculates) {
      aborts_.add(AbortCause::conflict, 0x1000, 0x1000, LineAddr{4}, 10);
      aborts_.add(AbortCause::task_queue, 0x1000, 0, LineAddr{}, 30);
    }
    if (script_.interrupts_itself) ::raise(SIGINT);
    if (!observer_->on_progress(progress())) return {ExitCode::interrupted, 0, "", ""};
    step(100);
    observer_->on_region_end(Cycle{200});
    EXPECT_EQ(::write(STDOUT_FILENO, script_.output.data(), script_.output.size()),
              static_cast<ssize_t>(script_.output.size()));
    if (script_.throws) throw UsageError("the guest asks for what is not there");
    return script_.outcome;
  }
  const StatRegistry& registry() const override { return registry_; }
  const CycleAccount& cycle_account() const override { return account_; }
  const AbortProfile& abort_profile() const override { return aborts_; }
  Progress progress() const override { return {Cycle{cycles_}, instructions_ + 1000, 3, 42, false}; }
  std::string symbol(Addr) const override { return "visit<\"x\">"; }
  std::optional<std::pair<Addr, std::uint64_t>> find_symbol(std::string_view) const override {
    return std::nullopt;
  }
  std::string symbol(LineAddr) const override { return "distances"; }
  std::vector<std::string> notes() const override { return {"system call foo is unknown"}; }
  std::string errors() const override { return "the guest's own words\n"; }

 private:
  void step(Latency cycles) {
    for (Latency c = 0; c < cycles; c += 50) {
      cycles_ += 50;
      instructions_ += 20;
      created_ += 1;
      bytes_ += 64;
      account_.charge(CoreId{0}, CycleClass::nonspeculative, CyclePart::core, 50);
      account_.charge(CoreId{1}, CycleClass::idle, CyclePart::core, 50);
      if (interval_ != 0) observer_->on_interval(Cycle{cycles_});
    }
  }
  void trace() {
    TaskDescriptor task{
        .function = 0x1000, .timestamp = 7, .locale = ~Locale{0}, .has_timestamp = true, .has_locale = true};
    DispatchedTask parent{.descriptor = task, .id = 1};
    DispatchedTask child = parent;
    child.id = 2;
    tasks_->on_created(1, 0, task, CoreId{0}, Cycle{100});
    tasks_->on_dispatched(CoreId{0}, parent, Cycle{110});
    tasks_->on_created(2, 1, task, CoreId{0}, Cycle{115});
    tasks_->on_suspended(1, CoreId{0}, Cycle{116});
    tasks_->on_resumed(CoreId{0}, {.kind = DispatchedTask::Kind::resumed, .descriptor = task, .id = 1},
                       Cycle{118});
    tasks_->on_finished(1, CoreId{0}, Cycle{120});
    tasks_->on_gvt({7, 1}, Cycle{121});
    tasks_->on_gvt({7, 2}, Cycle{122});
    tasks_->on_spilled(9, TileId{0}, Cycle{123});
    tasks_->on_dispatched(CoreId{1}, child, Cycle{130});
    tasks_->on_dispatched(CoreId{0}, {.kind = DispatchedTask::Kind::spill}, Cycle{131});
    tasks_->on_internal_finished(CoreId{0}, DispatchedTask::Kind::spill, Cycle{140});
    tasks_->on_gvt({8, 1}, Cycle{150});
  }
  /// A child is aborted while it runs, again after it has finished, and commits at its third attempt; the
  /// second child of the same parent is discarded.
  void trace_aborts() {
    const DispatchedTask parent{.descriptor = {.function = 0x1000}, .speculative = true, .id = 1};
    DispatchedTask child = parent, other = parent;
    child.id = 2;
    other.id = 3;
    Task by;
    by.id = 9;
    by.descriptor.function = 0x1000;
    const AbortReason reason{.cause = AbortCause::conflict, .line = LineAddr{0x40}, .by_task = &by};
    tasks_->on_dispatched(CoreId{0}, parent, Cycle{100});
    tasks_->on_created(2, 1, child.descriptor, CoreId{0}, Cycle{101});
    tasks_->on_created(3, 1, other.descriptor, CoreId{0}, Cycle{102});
    tasks_->on_dispatched(CoreId{1}, child, Cycle{110});
    tasks_->on_aborted(2, CoreId{1}, reason, false, Cycle{120});
    tasks_->on_dispatched(CoreId{1}, child, Cycle{125});
    tasks_->on_finished(2, CoreId{1}, Cycle{130});
    tasks_->on_dispatched(CoreId{1}, other, Cycle{131});
    tasks_->on_aborted(2, CoreId{1}, {.cause = AbortCause::dependence}, false, Cycle{140});
    tasks_->on_aborted(3, CoreId{1}, {.cause = AbortCause::parent}, true, Cycle{141});
    tasks_->on_dispatched(CoreId{1}, child, Cycle{150});
    tasks_->on_finished(2, CoreId{1}, Cycle{160});
    tasks_->on_committed(2, CoreId{1}, Cycle{170}, false);
  }

  Script script_;
  StatRegistry registry_;
  CycleAccount account_{2};
  AbortProfile aborts_;
  std::uint64_t cycles_ = 0, instructions_ = 0, created_ = 0, bytes_ = 0;
  ChipObserver* observer_ = nullptr;
  TaskObserver* tasks_ = nullptr;
  Latency interval_ = 0;
};

class Sessions : public ::testing::Test {
 protected:
  Sessions() {
    options_.config.chip.cores = 2;
    options_.config = resolve(options_.config);
    options_.program = base_.write("prog", "abc");
    options_.arguments = {"a b", "\"q\""};
    options_.command_line = {"rubato-chip", "prog"};
    options_.out = base_ / "out";
    options_.live_line = false;
  }

  ExitCode run() {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    ExitCode code = ExitCode::usage;
    std::string error;
    try {
      code = static_cast<ExitCode>(run_session(
          options_, [&](const SessionOptions&) { return std::make_unique<FakeSimulation>(script_); }));
    } catch (const UsageError& e) {
      error = e.what();
    }
    stdout_ = ::testing::internal::GetCapturedStdout();
    stderr_ = ::testing::internal::GetCapturedStderr() + error;
    return code;
  }
  std::string read(const std::string& name) const { return read_file(fs::path(options_.out) / name); }
  Json json(const std::string& name) const { return Json::parse(read(name)); }
  bool exists(const std::string& name) const { return fs::exists(fs::path(options_.out) / name); }

  const TemporaryFolder base_;
  SessionOptions options_;
  FakeSimulation::Script script_;
  std::string stdout_, stderr_;
};

TEST_F(Sessions, PassOutputOnUnchangedAndTheSummaryOnStderr) {
  EXPECT_EQ(run(), ExitCode::success);
  EXPECT_EQ(stdout_, "hello\ncheck: passed\n");
  EXPECT_EQ(read("output.txt"), stdout_);
  EXPECT_THAT(stderr_, HasSubstr("100 cycles"));
  EXPECT_THAT(stderr_, HasSubstr("check: passed"));
  EXPECT_THAT(stderr_, HasSubstr("note: system call foo is unknown"));
  EXPECT_FALSE(exists("incomplete"));
  for (const auto& entry : fs::directory_iterator(options_.out)) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".tmp")));
  }
}

TEST_F(Sessions, SummarizeTheRegionOfInterest) {
  run();
  const Json s = json("summary.json");
  EXPECT_EQ(s["engine"], "chip");
  EXPECT_EQ(s["cores"], 2);
  EXPECT_EQ(s["mode"], "mayspec");
  EXPECT_EQ(s["cycles"], 100);
  EXPECT_EQ(s["seconds"], 100 / 2e9);
  EXPECT_EQ(s["instructions"], 40);
  EXPECT_EQ(s["tasks"]["created"], 4);
  EXPECT_EQ(s["tasks"]["held_back"], 0);
  EXPECT_EQ(s["tasks"].size(), 7u);
  EXPECT_EQ(s["cycle_breakdown"]["nonspeculative"], 0.5);
  EXPECT_EQ(s["cycle_breakdown"]["idle"], 0.5);
  EXPECT_EQ(s["cycle_breakdown"].size(), 6u);
  EXPECT_EQ(s["network_bytes"]["memory"], 128);
  EXPECT_EQ(s["network_bytes"].size(), 5u);
  EXPECT_EQ(s["check"], "passed");
  EXPECT_EQ(s["output"], "hello\ncheck: passed\n");
  EXPECT_EQ(s["exit_code"], 0);
  EXPECT_EQ(s["complete"], true);
  for (const char* key : {"seconds", "mips", "peak_mb"}) EXPECT_TRUE(s["host"].contains(key));
}

TEST_F(Sessions, PrintOneJsonObjectAndNothingElse) {
  options_.json = true;
  run();
  const Json s = Json::parse(stdout_);
  EXPECT_EQ(s["output"], "hello\ncheck: passed\n");
}

TEST_F(Sessions, WriteWhatIsNeededToRepeatTheRun) {
  run();
  const std::string toml = read("run.toml");
  EXPECT_THAT(toml, HasSubstr("arguments = [\"a b\", \"\\\"q\\\"\"]"));
  EXPECT_THAT(
      toml,
      HasSubstr("program_sha256 = \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\""));
  Config again;
  load_toml(again, (fs::path(options_.out) / "run.toml").string());
  for (const Key& key : keys()) EXPECT_EQ(key.get(again), key.get(options_.config)) << key.name;
}

TEST_F(Sessions, GiveTheSameStatisticsTwice) {
  run();
  const std::string first = read("stats.json");
  run();
  EXPECT_EQ(read("stats.json"), first);
  EXPECT_EQ(json("stats.json")["roi"]["chip.cycles"], 100);
  EXPECT_EQ(json("stats.json")["run"]["chip.cycles"], 200);
}

TEST_F(Sessions, EndWith1IfTheCheckFailedOrTheGuestDid) {
  script_.output = "check: failed\n";
  EXPECT_EQ(run(), ExitCode::check_failed);
  EXPECT_THAT(stderr_, ::testing::EndsWith("rubato-chip: the program's own check failed\n"));
  EXPECT_EQ(json("summary.json")["check"], "failed");
  script_.output = "";
  script_.outcome = {ExitCode::check_failed, 7, "", ""};
  EXPECT_EQ(run(), ExitCode::check_failed);
  EXPECT_THAT(stderr_, ::testing::EndsWith("rubato-chip: the program exited with status 7\n"));
  EXPECT_EQ(json("summary.json")["check"], "none");
  EXPECT_FALSE(exists("incomplete"));
}

TEST_F(Sessions, TellWhyAProgramFaultedLast) {
  script_.outcome = {ExitCode::guest_fault, 0, "load from 0x8 at main+0x4", "registers:\n a0 0"};
  EXPECT_EQ(run(), ExitCode::guest_fault);
  EXPECT_THAT(stderr_, ::testing::EndsWith("registers:\n a0 0\nrubato-chip: load from 0x8 at main+0x4\n"));
  EXPECT_THAT(read("log.txt"), HasSubstr("load from 0x8 at main+0x4"));
  EXPECT_THAT(read("log.txt"), HasSubstr("\nthe guest's own words\n"));
  EXPECT_EQ(json("summary.json")["exit_code"], 3);
}

TEST_F(Sessions, KeepAnInterruptedRunMarkedButReadable) {
  script_.interrupts_itself = true;
  options_.trace = true;
  EXPECT_EQ(run(), ExitCode::interrupted);
  EXPECT_TRUE(exists("incomplete"));
  EXPECT_EQ(json("summary.json")["complete"], false);
  EXPECT_EQ(json("summary.json")["exit_code"], 130);
  EXPECT_EQ(json("stats.json")["run"]["chip.cycles"], 100);
  EXPECT_TRUE(exists("trace.json.gz"));
  script_.interrupts_itself = false;
  EXPECT_EQ(run(), ExitCode::success);
  EXPECT_FALSE(exists("incomplete"));
}

TEST_F(Sessions, LeaveARunThatBrokeOffMarkedAndUnpublished) {
  script_.throws = true;
  EXPECT_EQ(run(), ExitCode::usage);
  EXPECT_THAT(stderr_, HasSubstr("the guest asks for what is not there"));
  EXPECT_TRUE(exists("incomplete"));
  EXPECT_FALSE(exists("summary.json"));
  EXPECT_FALSE(exists("output.txt"));
}

TEST_F(Sessions, RefuseADirectoryThatIsNotARun) {
  fs::create_directories(options_.out);
  std::ofstream(fs::path(options_.out) / "thesis.tex") << "years of work";
  EXPECT_EQ(run(), ExitCode::usage);
  EXPECT_THAT(stderr_,
              HasSubstr("this directory holds something that is no run of rubato-chip; name another"));
  EXPECT_FALSE(exists("incomplete"));
  options_.out = options_.program;
  EXPECT_EQ(run(), ExitCode::usage);
  EXPECT_THAT(stderr_, HasSubstr("this is a file, not a directory"));
}

TEST_F(Sessions, ReplaceAnEarlierRunAndLeaveOtherFilesAlone) {
  options_.interval = 50;
  run();
  EXPECT_TRUE(exists("series.json"));
  std::ofstream(fs::path(options_.out) / "notes.txt") << "mine";
  options_.interval = 0;
  EXPECT_EQ(run(), ExitCode::success);
  EXPECT_FALSE(exists("series.json"));
  EXPECT_TRUE(exists("notes.txt"));
}

TEST_F(Sessions, SampleAtEveryIntervalAndAtTheEnd) {
  options_.interval = 50;
  options_.series = {"chip.cycles"};
  run();
  EXPECT_EQ(json("series.json"), Json::parse(R"({"interval": 50, "cycles": [50, 100, 150, 200],
    "series": {"chip.cycles": [50, 50, 50, 50]}})"));
}

TEST_F(Sessions, LeaveTheLastProgress) {
  run();
  const Json p = json("progress.json");
  EXPECT_EQ(p["cycles"], 200);
  EXPECT_EQ(p["committed"], 3);
  EXPECT_EQ(p["instructions"], 1080);
  EXPECT_EQ(p["gvt"], 42);
  EXPECT_TRUE(p.contains("mips") && p.contains("host_seconds"));
  options_.progress_file = false;
  run();
  EXPECT_FALSE(exists("progress.json"));
}

std::string gunzip(const fs::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  char buffer[4096];
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  gzclose(file);
  return text;
}

TEST_F(Sessions, TraceTasksAsSlicesFlowsInstantsAndACounter) {
  options_.trace = true;
  run();
  const Json trace = Json::parse(gunzip(fs::path(options_.out) / "trace.json.gz"));
  std::map<std::string, std::vector<Json>> by_phase;
  for (const Json& event : trace["traceEvents"]) by_phase[event["ph"]].push_back(event);
  ASSERT_EQ(by_phase["X"].size(), 4u);
  EXPECT_EQ(by_phase["X"][0]["name"], "visit (waits)") << "in a system call, without its core";
  EXPECT_NEAR(by_phase["X"][0]["dur"].get<double>(), 6 / 2000.0, 1e-12);
  const Json& parent = by_phase["X"][1];
  EXPECT_EQ(parent["name"], "visit");
  EXPECT_EQ(parent["ts"], 118 / 2000.0);
  EXPECT_NEAR(parent["dur"].get<double>(), 2 / 2000.0, 1e-12);
  EXPECT_EQ(parent["args"]["timestamp"], 7);
  EXPECT_EQ(parent["args"]["locale"], "18446744073709551615");
  EXPECT_EQ(by_phase["X"][2]["name"], "spill");
  EXPECT_EQ(by_phase["X"][3]["tid"], 1) << "still open at the end: closed at the last event";
  EXPECT_EQ(by_phase["X"][3]["args"]["end_cycle"], 150);
  ASSERT_EQ(by_phase["s"].size(), 1u) << "the parentless task has no flow";
  ASSERT_EQ(by_phase["f"].size(), 1u);
  EXPECT_EQ(by_phase["s"][0]["id"], by_phase["f"][0]["id"]);
  EXPECT_EQ(by_phase["i"].size(), 1u);
  ASSERT_EQ(by_phase["C"].size(), 2u) << "only changes of the timestamp";
  EXPECT_EQ(by_phase["C"][1]["args"]["timestamp"], 8);
  const Json& about = trace["otherData"];
  EXPECT_EQ(about["seed"], options_.config.chip.seed);
  EXPECT_EQ(about["cores"], options_.config.chip.cores);
  EXPECT_THAT(about["run.toml"].get<std::string>(), HasSubstr("[config.chip]"));
  EXPECT_EQ(about["functions"], Json::parse(R"({"visit": "visit<\"x\">"})")) << "the whole name, once";
}

TEST_F(Sessions, TraceOnlyWhatOverlapsTheWindow) {
  options_.trace = true;
  options_.trace_from = Cycle{120};
  options_.trace_cycles = 3;  // [120, 123)
  run();
  const Json trace = Json::parse(gunzip(fs::path(options_.out) / "trace.json.gz"));
  int slices = 0, instants = 0, counters = 0;
  for (const Json& event : trace["traceEvents"]) {
    slices += event["ph"] == "X";
    instants += event["ph"] == "i";
    counters += event["ph"] == "C";
  }
  EXPECT_EQ(slices, 1) << "the one that ended in cycle 120";
  EXPECT_EQ(instants, 0) << "the spill in cycle 123 is behind the window";
  EXPECT_EQ(counters, 1);
}

TEST_F(Sessions, SayThatATraceIsEmptyBecauseTheRunEndedBeforeIt) {
  options_.trace = true;
  options_.trace_from = Cycle{201};
  EXPECT_EQ(run(), ExitCode::success);
  const std::string note =
      "rubato-chip: note: the trace is empty: it begins at cycle 201 (--trace-from), and the run ended at "
      "cycle 200\n";
  EXPECT_THAT(stderr_, HasSubstr(note));
  options_.trace_from = Cycle{200};
  run();
  EXPECT_THAT(stderr_, Not(HasSubstr("the trace is empty")));
}

TEST_F(Sessions, TraceAbortedAttemptsWithTheirCauseAndAFlowToEachAttempt) {
  options_.trace = true;
  script_.speculates = true;
  run();
  const Json trace = Json::parse(gunzip(fs::path(options_.out) / "trace.json.gz"));
  std::vector<Json> slices, instants;
  std::map<int, std::string> flows;
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "X" && event["tid"] == 1) slices.push_back(event);
    if (phase == "i") instants.push_back(event);
    if (phase == "s" || phase == "t" || phase == "f") flows[event["id"]] += phase;
  }
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[0]["name"], "visit (aborted: conflict)");
  EXPECT_EQ(slices[0]["args"]["aborted"], "conflict");
  EXPECT_EQ(slices[0]["args"]["by"], "visit");
  EXPECT_EQ(slices[0]["args"]["by_id"], 9);
  EXPECT_EQ(slices[0]["args"]["line"], "visit<\"x\">") << "what is at the line, as the simulation names it";
  EXPECT_EQ(slices[0]["args"]["end_cycle"], 120);
  EXPECT_EQ(slices[1]["name"], "visit") << "it had finished when it was aborted";
  EXPECT_FALSE(slices[1]["args"].contains("aborted"));
  EXPECT_EQ(slices[2]["name"], "visit (aborted: parent)");
  ASSERT_EQ(instants.size(), 1u);
  EXPECT_EQ(instants[0]["name"], "aborted: dependence");
  EXPECT_FALSE(instants[0]["args"].contains("by")) << "nobody is named";
  EXPECT_EQ(instants[0]["tid"], 1);
  EXPECT_EQ(instants[0]["ts"], 140 / 2000.0);
  EXPECT_EQ(instants[0]["args"], Json::parse(R"({"id": 2, "cause": "dependence", "discarded": false})"));
  EXPECT_EQ(flows[2], "stff") << "every attempt has its arrow";
  EXPECT_EQ(flows[3], "st");
}

TEST_F(Sessions, NameConflictsByFunctionAndLine) {
  script_.speculates = true;
  run();
  EXPECT_EQ(json("stats.json")["conflicts"], Json::parse(R"json({
    "lines": [{"line": "0x100", "symbol": "distances", "victim": "visit<\"x\">", "by": "visit<\"x\">",
               "aborts": 1, "lost_cycles": 10}],
    "line_count": 1,
    "functions": [{"victim": "visit<\"x\">", "by": "(no task)", "cause": "task_queue", "aborts": 1,
                   "lost_cycles": 30},
                  {"victim": "visit<\"x\">", "by": "visit<\"x\">", "cause": "conflict", "aborts": 1,
                   "lost_cycles": 10}]})json"));
}

TEST(ReadFile, HasEveryByteOnBothSidesOfItsBlocksAndRefusesAFolder) {
  const TemporaryFolder folder;
  for (const std::size_t size : {0u, 1u, 65535u, 65536u, 65537u, 131071u, 131072u, 131073u, 300000u}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
    EXPECT_TRUE(read_file(folder.write("file", bytes)) == bytes) << size;
  }
  EXPECT_THROW(read_file(folder.path()), UsageError);
}

TEST(CheckScanner, TakesOnlyWholeLinesAndLetsOneFailureWin) {
  const auto verdict = [](std::initializer_list<std::string_view> parts) {
    CheckScanner scanner;
    for (const auto part : parts) scanner.add(part);
    return scanner.verdict();
  };
  EXPECT_EQ(verdict({}), CheckVerdict::none);
  EXPECT_EQ(verdict({"check: passed"}), CheckVerdict::passed);
  EXPECT_EQ(verdict({"x\nche", "ck: pas", "sed\r\ny"}), CheckVerdict::passed);
  EXPECT_EQ(verdict({"the check: passed\n"}), CheckVerdict::none);
  EXPECT_EQ(verdict({"check: passed!\n"}), CheckVerdict::none);
  EXPECT_EQ(verdict({"check: failed\ncheck: passed\n"}), CheckVerdict::failed);
  EXPECT_EQ(verdict({"check: passed\ncheck: failed\n"}), CheckVerdict::failed);
  EXPECT_EQ(verdict({std::string(1000, 'x'), "\ncheck: passed\n"}), CheckVerdict::passed);
}

}  // namespace
}  // namespace rubato::chip
