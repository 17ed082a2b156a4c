// Looking inside: lists of living actors, the page for Prometheus, and what a run says about what is left at
// its end. On every engine.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Question {
  using reply = int;
};
struct Note {
  int n = 0;
};
struct Release {};

/// Keeps replies and puts notes aside until it is told.
struct Keeper : behavior<Question, Note, Release> {
  void on(Question, reply<int> r) { kept_.push_back(std::move(r)); }
  void on(Note note) {
    if (!is_released_) stash(note);
  }
  void on(Release) {
    is_released_ = true;
    for (reply<int>& r : kept_) r(1);
    kept_.clear();
    unstash_all();
  }
  bool is_released_ = false;
  std::vector<reply<int>> kept_;
};
struct Parent : behavior<Release> {
  Parent() : child_(spawn<Keeper>()) {}
  void on(Release) { stop(); }
  actor<Question, Note, Release> child_;
};

std::string said_by_run() {
  ::testing::internal::CaptureStderr();
  run();
  return ::testing::internal::GetCapturedStderr();
}

std::vector<LivingActor> those_of(const std::string& behavior) {
  std::vector<LivingActor> all = living_actors();
  std::erase_if(all, [&](const LivingActor& a) { return a.behavior.find(behavior) == std::string::npos; });
  return all;
}

TEST(Living, ARunThatEndsWithOpenAsksAndStashedMessagesSaysSoOnce) {
  run();
  const auto keeper = spawn<Keeper>({.name = "the keeper"});
  std::atomic<int> answers = 0;  // each comes in a task of its own
  for (int i = 0; i < 2; ++i) keeper.ask(Question{}).then([&](int) { ++answers; });
  for (int i = 0; i < 3; ++i) keeper.send(Note{i});
  const std::string said = said_by_run();
  EXPECT_THAT(said,
              HasSubstr("rubato: run() has ended, but 2 asks have no answer, and 3 messages are stashed by "
                        "actor the keeper ("));
  EXPECT_THAT(said, HasSubstr("; living_actors() tells which actors wait\n"));
  EXPECT_EQ(said_by_run(), "") << "as before";
  keeper.ask(Question{}).then([&](int) { ++answers; });
  EXPECT_THAT(said_by_run(), HasSubstr("3 asks have no answer"));
  keeper.send(Release{});
  EXPECT_EQ(said_by_run(), "");
  EXPECT_EQ(answers, 3);
  keeper.send(Note{});
  keeper.stop();
  EXPECT_EQ(said_by_run(), "");
}

TEST(Living, WhatIsStashedWhenItsActorStopsIsNotLeft) {
  run();
  const auto keeper = spawn<Keeper>();
  keeper.send(Note{});
  keeper.stop();
  EXPECT_EQ(said_by_run(), "");
}

TEST(Living, EachActorIsListedWithWhatItWaitsFor) {
  const auto parent = spawn<Parent>({.name = "a parent"});
  run();
  const std::vector<LivingActor> parents = those_of("Parent"), keepers = those_of("Keeper");
  ASSERT_EQ(parents.size(), 1u);
  ASSERT_EQ(keepers.size(), 1u);
  EXPECT_EQ(parents[0].name, "a parent");
  EXPECT_TRUE(parents[0].who == actor<>(parent));
  EXPECT_FALSE(parents[0].parent);
  EXPECT_TRUE(keepers[0].parent == actor<>(parent));
  EXPECT_EQ(keepers[0].name, "");
  EXPECT_EQ(keepers[0].waiting, 0u);

  const auto other = spawn<Keeper>({.name = "another"});
  for (int i = 0; i < 4; ++i) other.send(Note{i});
  run();
  const std::vector<LivingActor> both = those_of("Keeper");
  ASSERT_EQ(both.size(), 2u);
  const auto named =
      std::find_if(both.begin(), both.end(), [](const LivingActor& a) { return !a.name.empty(); });
  EXPECT_EQ(named->stashed, 4u);
  EXPECT_THAT(living_actors_text(), HasSubstr("another ("));
  EXPECT_THAT(living_actors_text(), HasSubstr(": 0 waiting, 4 stashed\n"));
  EXPECT_THAT(living_actors_text(), HasSubstr(", child of a parent ("));
  EXPECT_THAT(living_actors_text(1), HasSubstr(" others\n"));

  parent.stop();
  other.stop();
  run();
  EXPECT_TRUE(those_of("Parent").empty());
  EXPECT_TRUE(those_of("Keeper").empty());
}

TEST(Living, MessagesThatWaitBeforeARunAreCounted) {
  const auto keeper = spawn<Keeper>();
  keeper.send(Release{});
  for (int i = 0; i < 5; ++i) keeper.send(Note{i});
  const std::vector<LivingActor> before = those_of("Keeper");
  ASSERT_EQ(before.size(), 1u);
  EXPECT_LE(before[0].waiting, 6u);
  run();
  EXPECT_EQ(those_of("Keeper")[0].waiting, 0u);
  keeper.stop();
  run();
}

TEST(Living, APageForPrometheusCountsByBehavior) {
  const auto one = spawn<Keeper>(), two = spawn<Keeper>();
  two.send(Note{});
  run();
  const std::string page = actors_as_prometheus();
  EXPECT_THAT(page, HasSubstr("# TYPE rubato_actors gauge\n"));
  EXPECT_THAT(page, HasSubstr("Keeper\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("Keeper\"} 1\n")) << "stashed";
  EXPECT_THAT(page,
              HasSubstr("# TYPE rubato_messages_handled_total counter\nrubato_messages_handled_total "));
  EXPECT_THAT(page, HasSubstr("rubato_dead_letters_total{cause=\"stopped\"} "));
  EXPECT_THAT(page, Not(HasSubstr("longest")));
  one.stop(), two.stop();
  run();
}

TEST(Living, InATaskTheyAreNotListed) {
  std::string sentence;
  create<nonspec>(
      [&sentence] {
        try {
          static_cast<void>(living_actors());
        } catch (const TaskError& e) {
          sentence = e.what();
        }
      },
      {});
  run();
  EXPECT_THAT(sentence, HasSubstr("living actors are listed in a task"));
}

}  // namespace
}  // namespace rubato
