// Behaviors, names and messages of actors in lists, long tasks and traces of this engine, and lags in traces.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "native/worker/lag_span.hpp"
#include "rubato/actors.hpp"
#include "tests/temporary_folder.hpp"

namespace seen_inside {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do
using ::testing::HasSubstr;
using ::testing::Not;

struct Nap {
  int milliseconds = 0;
};
struct Blink {};
struct Sleeper : behavior<Nap, Blink> {
  void on(Nap nap) { std::this_thread::sleep_for(std::chrono::milliseconds(nap.milliseconds)); }
  void on(Blink) {}
};

class Native_SeenInside : public ::testing::Test {
 protected:
  void SetUp() override { before_ = native::options(); }
  void TearDown() override { native::configure(before_); }
  /// Workers that are new time their first tasks.
  void begin(const std::string& trace = "", native::Lagging lagging = {}) {
    native::Options options;
    options.workers = 2;
    options.oversubscribe = true;
    options.trace = trace;
    options.lagging = lagging;
    native::configure(options);
  }

 private:
  native::Options before_;
};

TEST_F(Native_SeenInside, AnActorIsListedWithItsLongestHandler) {
  begin();
  const auto sleeper = spawn<Sleeper>({.name = "sleeper"});
  const auto awake = spawn<Sleeper>({.name = "awake"});
  for (const int milliseconds : {2, 6, 3}) sleeper.send(Nap{milliseconds});
  sleeper.send(Blink{});
  run();
  const std::vector<LivingActor> all = living_actors();
  const auto of = [&all](const char* name) {
    return *std::find_if(all.begin(), all.end(), [name](const LivingActor& a) { return a.name == name; });
  };
  EXPECT_GE(of("sleeper").longest_handler, std::chrono::milliseconds(6));
  EXPECT_EQ(of("sleeper").longest_message, "seen_inside::Nap");
  EXPECT_EQ(of("awake").longest_handler, Duration::zero());
  EXPECT_EQ(of("awake").longest_message, "");
  EXPECT_THAT(living_actors_text(), HasSubstr(" ms (seen_inside::Nap)\n"));
  sleeper.stop(), awake.stop();
  run();
}

TEST_F(Native_SeenInside, AHandlerThatFailsIsTimedToo) {
  begin();
  struct Failing : behavior<Nap> {
    void on(Nap nap) {
      std::this_thread::sleep_for(std::chrono::milliseconds(nap.milliseconds));
      throw 1;
    }
  };
  const auto failing = spawn<Failing>({.name = "failing"});
  failing.send(Nap{3});
  EXPECT_THROW(run(), TaskError);
  EXPECT_THAT(living_actors_text(), HasSubstr(" ms (seen_inside::Nap)\n"));
  failing.stop();
  run();
}

TEST_F(Native_SeenInside, ALongTurnIsNamedAfterItsBehaviorAndTheMessageThatTookLongest) {
  begin();
  const auto sleeper = spawn<Sleeper>();
  for (const int milliseconds : {1, 12, 1}) sleeper.send(Nap{milliseconds});
  sleeper.send(Blink{});
  run();
  std::string names;
  for (const native::LongTask& task : native::long_tasks()) names += task.function + "\n";
  EXPECT_THAT(names, HasSubstr("seen_inside::Sleeper handling seen_inside::Nap\n"));
  sleeper.stop();
  run();
}

struct Question {
  using reply = int;
};
struct Oracle : behavior<Question> {
  int on(Question) { return 42; }
};
struct Asker : behavior<Blink> {
  explicit Asker(actor<Question> oracle) : oracle_(oracle) {}
  void on(Blink) {
    oracle_.ask(Question{}).then([](int) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  }
  actor<Question> oracle_;
};

TEST_F(Native_SeenInside, ATraceNamesActorsAndMessagesAndNothingOfTheRuntime) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "trace.json").string();
  begin(file);
  const auto sleeper = spawn<Sleeper>({.name = "the sleeper"});
  const auto oracle = spawn<Oracle>();
  const auto asker = spawn<Asker>(actor<Question>(oracle));
  sleeper.send(Nap{1});
  asker.send(Blink{});
  run();
  sleeper.stop(), oracle.stop(), asker.stop();
  run();
  std::ifstream stream(file);
  const auto document = nlohmann::json::parse(stream);
  std::string said, actors, messages;
  for (const auto& event : document.at("traceEvents")) {
    if (event.value("cat", "") != "task") continue;
    const auto& arguments = event.at("args");
    actors += arguments.value("actor", "") + ";";
    messages += arguments.value("message", "") + ";";
  }
  EXPECT_THAT(actors, HasSubstr("the sleeper;"));
  EXPECT_THAT(messages, HasSubstr("seen_inside::Nap;"));
  EXPECT_THAT(messages, HasSubstr("seen_inside::Asker::on(seen_inside::Blink)::{lambda(int)"));
  EXPECT_THAT(messages, Not(HasSubstr("AskContinuation")));
}

TEST_F(Native_SeenInside, ALagAndASampleAreSpansOfTheirOwnKinds) {
  using Kind = native::TraceSpan::Kind;
  native::TraceLane lane(4);
  native::lag::Events events;
  native::LagSpan sample(&lane, events, 10);
  ++events.samples;
  sample.end(events, 20);
  native::LagSpan lag(&lane, events, 20);
  ++events.lags;
  lag.end(events, 25);
  native::LagSpan nothing(&lane, events, 25);
  nothing.end(events, 25);
  ASSERT_EQ(lane.size(), 2u);
  EXPECT_EQ(lane[0].kind, Kind::sampling);
  EXPECT_EQ(lane[1].kind, Kind::lagging);
  EXPECT_LE(lane[0].begin, lane[0].end);
  native::LagSpan untraced(nullptr, events, 0);
  untraced.end(events, 1);
}

TEST_F(Native_SeenInside, SamplesOfTurnsAreInTheTrace) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "trace.json").string();
  begin(file, {.kind = native::Lagging::Kind::published,
               .initial_rate = 1,
               .levels = native::Lagging::kTurns,
               .turn_switch_microseconds = 50});
  const native::Counters before = native::counters();
  const auto sleeper = spawn<Sleeper>();
  for (int i = 0; i < 20; ++i) {
    sleeper.send(Blink{});
    run();
  }
  sleeper.stop();
  run();
  const std::uint64_t samples = native::counters().turn_lag_samples - before.turn_lag_samples;
  std::ifstream stream(file);
  const auto document = nlohmann::json::parse(stream);
  std::uint64_t spans = 0;
  for (const auto& event : document.at("traceEvents")) spans += event.value("name", "") == "sampling" ? 1 : 0;
  EXPECT_EQ(spans, samples);
  const auto& other = document.at("otherData");
  const auto& first = other.at("worker 0");
  const auto& second = other.at("worker 1");
  EXPECT_EQ(first.at("sampling_us").get<double>() + second.at("sampling_us").get<double>() > 0, samples != 0);
}

}  // namespace seen_inside
