// How a program ends, and what fork() leaves of it: exit() by tasks and beside run(), static objects that
// outlive main(). Each in a process of its own, which has started no engine before. R10, R11, R13.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "rubato/algorithms.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;
using std::chrono::milliseconds;

std::atomic<std::uint64_t> calls{0};

/// Begins with a time limit: a process that hangs is ended by a signal.
void begin(unsigned workers) {
  ::alarm(20);
  use_workers(workers);
}

void go_on() {
  ++calls;
  create<nonspec>(go_on, {});
}
/// The calling thread is in run() for ever.
void keep_all_busy(unsigned workers) {
  for (unsigned i = 0; i < 4 * workers; ++i) create<nonspec>(go_on, {});
}
void exit_soon(int code) {
  std::this_thread::sleep_for(milliseconds(5));
  std::exit(code);
}

void exit_by_task(unsigned workers, unsigned worker) {
  begin(workers);
  keep_all_busy(workers);
  create<nonspec>(exit_soon, {.core = worker}, 5);
  run();
}
void exit_by_spec_task(unsigned workers) {
  begin(workers);
  keep_all_busy(workers);
  create<spec>(exit_soon, {}, 6);
  run();
}
void exit_beside_run(unsigned workers, bool is_busy) {
  begin(workers);
  if (is_busy) keep_all_busy(workers);
  const native::Hold hold = native::hold();
  const std::thread other([] { exit_soon(7); });
  run();
}
void exit_after_run(unsigned workers) {
  begin(workers);
  for (unsigned i = 0; i < 1000; ++i) create<nonspec>([] { ++calls; }, {.on = i});
  run();
  std::exit(calls == 1000 ? 8 : 1);
}

/// Made before the engine, so that it ends after all that the engine registers for the end.
struct Network {
  std::atomic<bool> may_create{false}, has_created{false}, is_closed{false};
  std::thread thread{[this] {
    while (!may_create) std::this_thread::sleep_for(milliseconds(1));
    for (unsigned i = 0; i < 1000; ++i) create<nonspec>([] { ++calls; }, {.on = i});
    has_created = true;
    while (!is_closed) std::this_thread::sleep_for(milliseconds(1));
  }};
  ~Network() {
    is_closed = true;
    thread.join();
  }
};
void end_with_a_thread_of_a_static_object(unsigned workers) {
  static Network network;
  begin(workers);
  network.may_create = true;
  while (!network.has_created) std::this_thread::sleep_for(milliseconds(1));
  run();
  std::exit(calls == 1000 ? 9 : 1);
}

/// Made before the engine and the thread's part of it, so that it ends after both.
struct Last {
  ~Last() {
    for (unsigned i = 0; i < 1000; ++i) create<nonspec>([] { ++calls; }, {.on = i});
    run();
    std::_Exit(calls == 2000 ? 12 : 1);
  }
};
void create_at_the_very_end(unsigned workers) {
  static Last last;
  begin(workers);
  for (unsigned i = 0; i < 1000; ++i) create<nonspec>([] { ++calls; }, {.on = i});
  run();
  std::exit(1);
}

struct SumsAtEnd {
  ~SumsAtEnd() {
    std::atomic<int> sum{0};
    parallel_for(0, 100, [&sum](int i) { sum += i; });
    std::_Exit(sum == 4950 ? 14 : 1);
  }
};
void end_with_an_algorithm_of_a_worker(unsigned workers) {
  begin(workers);
  create<nonspec>(
      [] {
        static thread_local const SumsAtEnd object;
        static_cast<void>(&object);
      },
      {.core = workers - 1});
  run();
  std::exit(2);
}

/// Workers that get their CPUs late, and one that has left its own and comes back when its thread ends.
void end_with_late_cpus() {
  begin(1);
  create<nonspec>([] { ++calls; }, {});
  run();
  native::configure({});
  for (int i = 0; i < 3; ++i) {
    native::Hold hold = native::hold();
    std::thread other([&hold] {
      std::this_thread::sleep_for(milliseconds(5));
      hold.close();
    });
    run();
    other.join();
  }
  std::exit(10);
}

class ProcessEnd : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
INSTANTIATE_TEST_SUITE_P(Workers, ProcessEnd, ::testing::Values(1u, 2u, 8u));

TEST_P(ProcessEnd, ByATask) {
  for (unsigned worker = 0; worker < GetParam(); worker += 3)
    EXPECT_EXIT(exit_by_task(GetParam(), worker), ::testing::ExitedWithCode(5), "");
  EXPECT_EXIT(exit_by_task(GetParam(), GetParam() - 1), ::testing::ExitedWithCode(5), "");
}
TEST_P(ProcessEnd, ByASpecTask) {
  EXPECT_EXIT(exit_by_spec_task(GetParam()), ::testing::ExitedWithCode(6), "");
}
TEST_P(ProcessEnd, ByAnotherThreadWhileTasksRunOrAllWait) {
  for (const bool is_busy : {true, false})
    EXPECT_EXIT(exit_beside_run(GetParam(), is_busy), ::testing::ExitedWithCode(7), "");
}
TEST_P(ProcessEnd, AfterARun) { EXPECT_EXIT(exit_after_run(GetParam()), ::testing::ExitedWithCode(8), ""); }
TEST_P(ProcessEnd, BeforeAThreadThatCreatedTasks) {
  EXPECT_EXIT(end_with_a_thread_of_a_static_object(GetParam()), ::testing::ExitedWithCode(9), "");
}
TEST_P(ProcessEnd, BeforeAStaticObjectThatCreatesTasks) {
  EXPECT_EXIT(create_at_the_very_end(GetParam()), ::testing::ExitedWithCode(12), "");
}
TEST_P(ProcessEnd, BeforeAThreadLocalObjectThatCallsAnAlgorithm) {
  EXPECT_EXIT(end_with_an_algorithm_of_a_worker(GetParam()), ::testing::ExitedWithCode(14), "");
}
TEST(ProcessEndAlone, WithCpusThatWereGivenLate) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int i = 0; i < 4; ++i) EXPECT_EXIT(end_with_late_cpus(), ::testing::ExitedWithCode(10), "");
}

// ---- Files that are written at the end (R13) ----

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv("RUBATO_COUNTERS", counters_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("RUBATO_COUNTERS");
    std::remove(counters_.c_str());
  }
  nlohmann::json counters() const { return nlohmann::json::parse(std::ifstream(counters_)); }
  static std::uint64_t value(const nlohmann::json& file, const std::string& name) {
    for (const auto& counter : file.at("counters"))
      if (counter.at("name") == name) return counter.at("value");
    return ~std::uint64_t{0};
  }
  /// Name of the counters' file: the same for the process that runs the test's body and the one that runs the
  /// statement, and another one for every other test.
  const std::string counters_ =
      ::testing::TempDir() + "rubato-process-end-" +
      std::to_string(std::filesystem::hash_value(std::filesystem::read_symlink("/proc/self/exe"))) + "-" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

void exit_by_task_of_second_run() {
  begin(2);
  for (int i = 0; i < 100; ++i) create<nonspec>([] {}, {});
  run();
  create<nonspec>(exit_soon, {.core = 1}, 11);
  run();
}
TEST_F(Files, SayWhatRanUntilATaskEndedTheProgram) {
  EXPECT_EXIT(exit_by_task_of_second_run(), ::testing::ExitedWithCode(11), "");
  const nlohmann::json file = counters();
  EXPECT_EQ(file.at("workers"), 2);
  EXPECT_EQ(file.at("runs"), 2);
  EXPECT_GE(file.at("seconds"), 0.004) << "the run that goes on counts, too";
  EXPECT_EQ(value(file, "tasks_created"), 101u);
  EXPECT_EQ(value(file, "tasks_run"), 100u);
}

// ---- fork() ----

/// Whether `call` says that it may not be in a forked process.
template <class Call>
bool is_refused(Call call) {
  try {
    call();
  } catch (const TaskError& e) {
    return std::string(e.what()).find("fork") != std::string::npos;
  }
  return false;
}

/// The exit code of a child that runs `call`.
template <class Call>
int in_child(Call call) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    std::exit(call());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

void run_in_a_child(unsigned workers) {
  begin(workers);
  for (int i = 0; i < 100; ++i) create<nonspec>([] { ++calls; }, {});
  run();
  const int code = in_child([workers] {
    create<nonspec>([] { ++calls; }, {});
    if (!is_refused([] { run(); })) return 1;
    if (!is_refused([workers] { use_workers(workers); })) return 2;
    return calls == 100 ? 12 : 3;
  });
  create<nonspec>([] { ++calls; }, {});
  run();
  std::exit(calls == 101 ? code : 4);
}
TEST_P(ProcessEnd, OfAChildWhoseThreadsStayedInTheParent) {
  EXPECT_EXIT(run_in_a_child(GetParam()), ::testing::ExitedWithCode(12), "");
}

void run_in_a_child_before_the_parent() {
  ::alarm(20);
  const int code = in_child([] {
    use_workers(2);
    for (int i = 0; i < 100; ++i) create<nonspec>([] { ++calls; }, {});
    run();
    return calls == 100 ? 13 : 1;
  });
  std::exit(code);
}
TEST(ProcessEndAlone, OfAChildThatStartsTheEngineItself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_in_a_child_before_the_parent(), ::testing::ExitedWithCode(13), "");
}

void exit_in_a_child_before_the_parent(bool has_run) {
  if (has_run) {
    begin(2);
    for (int i = 0; i < 100; ++i) create<nonspec>([] { ++calls; }, {});
    run();
  }
  const int code = in_child([] { return 14; });
  const std::filesystem::path file = std::getenv("RUBATO_COUNTERS");
  std::exit(!std::filesystem::exists(file) || std::filesystem::is_empty(file) ? code : 1);
}
TEST_F(Files, AreNotWrittenByAChildOfAProcessThatRanTasks) {
  EXPECT_EXIT(exit_in_a_child_before_the_parent(true), ::testing::ExitedWithCode(14), "");
  EXPECT_EQ(value(counters(), "tasks_run"), 100u);
}
TEST_F(Files, AreNotWrittenByAChildOfAProcessThatRanNone) {
  EXPECT_EXIT(exit_in_a_child_before_the_parent(false), ::testing::ExitedWithCode(14), "");
  EXPECT_EQ(value(counters(), "tasks_run"), 0u);
}

}  // namespace
