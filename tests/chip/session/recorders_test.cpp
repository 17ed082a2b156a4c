// A run's recorders: only those that are asked for listen, and a file is in its place when it is whole.
// SPDX-License-Identifier: MIT
#include "chip/session/recorders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chip/config/config.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::chip {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Counts its listeners; nothing runs.
struct Silent final : Simulation {
  std::vector<TaskObserver*> tasks;
  std::vector<InstructionObserver*> instructions;
  std::vector<ThreadWatcher*> threads;
  std::vector<MessageObserver*> messages;
  std::vector<std::pair<Addr, std::uint64_t>> watched;
  StatRegistry stats;
  CycleAccount account{1};
  AbortProfile aborts;

  void observe(ChipObserver*, Latency) override {}
  void observe_tasks(TaskObserver* observer) override { tasks.push_back(observer); }
  void observe_instructions(InstructionObserver* observer) override { instructions.push_back(observer); }
  void watch_fast_forward(Addr first, std::uint64_t bytes, UntimedObserver*) override {
    watched.emplace_back(first, bytes);
  }
  void observe_messages(MessageObserver* observer) override { messages.push_back(observer); }
  void watch_threads(ThreadWatcher* watcher) override { threads.push_back(watcher); }
  RunOutcome run() override { return {}; }
  const StatRegistry& registry() const override { return stats; }
  const CycleAccount& cycle_account() const override { return account; }
  const AbortProfile& abort_profile() const override { return aborts; }
  Progress progress() const override { return {}; }
  std::string symbol(Addr) const override { return "f"; }
  std::optional<std::pair<Addr, std::uint64_t>> find_symbol(std::string_view) const override {
    return std::nullopt;
  }
  std::string symbol(LineAddr) const override { return "v"; }
  std::vector<std::string> notes() const override { return {}; }
  std::string errors() const override { return {}; }
};

struct RecordersTest : ::testing::Test {
  RecordersTest() { options.config = resolve(options.config); }
  Recorders make() { return {options, simulation, directory, "seed = 1\n", {0x1000, 8}}; }
  bool exists(const char* name) const { return std::filesystem::exists(directory.file(name)); }

  TemporaryFolder folder;
  RunDirectory directory{folder / "run"};
  SessionOptions options;
  Silent simulation;
};

TEST_F(RecordersTest, ListenToNothingThatIsNotAskedFor) {
  const Recorders recorders = make();
  EXPECT_THAT(simulation.tasks, IsEmpty());
  EXPECT_THAT(simulation.instructions, IsEmpty());
  EXPECT_THAT(simulation.threads, IsEmpty());
  EXPECT_THAT(simulation.messages, IsEmpty());
  EXPECT_THAT(simulation.watched, IsEmpty());
  EXPECT_THAT(recorders.notes(Cycle{100}), IsEmpty());
  recorders.publish();
  for (const char* file : {"trace.json.gz", "commits.tsv.gz", "instructions.tsv.gz", "watch.tsv.gz"})
    EXPECT_FALSE(exists(file)) << file;
}

TEST_F(RecordersTest, PublishWholeFilesOnly) {
  options.trace = options.commit_order = true;
  const Recorders recorders = make();
  EXPECT_EQ(simulation.tasks.size(), 2u);
  EXPECT_EQ(simulation.threads.size(), 1u);
  EXPECT_EQ(simulation.messages.size(), 1u);
  EXPECT_FALSE(exists("trace.json.gz"));
  EXPECT_FALSE(exists("commits.tsv.gz"));
  recorders.publish();
  EXPECT_TRUE(exists("trace.json.gz"));
  EXPECT_TRUE(exists("commits.tsv.gz"));
  EXPECT_FALSE(exists("instructions.tsv.gz"));
}

TEST_F(RecordersTest, SayWhyAFileIsEmpty) {
  options.trace = options.instructions = true;
  options.trace_from = Cycle{101};
  options.watch = "counter";
  const Recorders recorders = make();
  EXPECT_EQ(simulation.instructions.size(), 2u);
  EXPECT_THAT(simulation.watched, ElementsAre(std::pair<Addr, std::uint64_t>{0x1000, 8}));
  EXPECT_THAT(recorders.notes(Cycle{100}),
              ElementsAre(HasSubstr("begins at cycle 101"), HasSubstr("instructions.tsv.gz is empty"),
                          HasSubstr("the 8 bytes at 0x1000")));
  EXPECT_THAT(recorders.notes(Cycle{101}),
              ElementsAre(HasSubstr("instructions.tsv.gz"), HasSubstr("watch.tsv.gz")));
}

}  // namespace
}  // namespace rubato::chip
