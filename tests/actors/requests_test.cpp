// Requests (A11), on every engine: that are put aside, and that are answered without a value; and workers
// that an engine may not have.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

using ::testing::ElementsAre;

struct Read {
  using reply = int;
  int n = 0;
  std::unique_ptr<int> moved{};  ///< requests may be move-only
};
struct Write {
  using reply = void;
  int n = 0;
};
struct Open {};

struct File : behavior<Read, Write, Open> {
  void on(Read read, reply<int> r) {
    if (!is_open_) return stash(std::move(read), std::move(r));
    r(read.n);
  }
  void on(Write write, reply<void> r) {
    if (!is_open_) return stash(write, std::move(r));
    if (write.n < 0) return r.fail(AskError::failed);
    written.push_back(write.n);
    r();
  }
  void on(Open) {
    is_open_ = true;
    unstash_all();
  }
  static inline std::vector<int> written;
  bool is_open_ = false;
};

TEST(Requests, ThatArePutAsideAreAnsweredLater) {
  const auto file = spawn<File>();
  std::mutex mutex;  // each answer comes in a task of its own
  std::vector<int> answers;
  const auto answered = [&](int n) {
    const std::lock_guard lock(mutex);
    answers.push_back(n);
  };
  File::written.clear();
  for (int i = 1; i <= 2; ++i) {
    file.ask(Read{i}).then([&answered](int n) { answered(n); }, [](AskError) { ADD_FAILURE(); });
    run();
  }
  file.ask(Write{3}).then([&answered] { answered(-3); }, [](AskError) { ADD_FAILURE(); });
  run();
  file.send(Read{4});  // without a question
  run();
  EXPECT_THAT(answers, ElementsAre());
  file.send(Open{});
  run();
  EXPECT_THAT(answers, ::testing::UnorderedElementsAre(1, 2, -3));
  EXPECT_THAT(File::written, ElementsAre(3));
  file.stop();
  run();
}

TEST(Requests, ThatArePutAsideFailWithTheirActor) {
  const auto file = spawn<File>();
  std::vector<AskError> errors;
  file.ask(Read{1}).then([](int) { ADD_FAILURE(); }, [&errors](AskError e) { errors.push_back(e); });
  run();
  EXPECT_TRUE(errors.empty());
  file.stop();
  run();
  EXPECT_THAT(errors, ElementsAre(AskError::stopped));
}

struct Plain : behavior<Write> {
  void on(Write write) {
    if (write.n < 0) throw std::runtime_error("as asked");
    File::written.push_back(write.n);
  }
};

TEST(Requests, WithoutAValueAreAcknowledged) {
  File::written.clear();
  const auto plain = spawn<Plain>();
  int acknowledged = 0;
  plain.ask(Write{1}).then([&] { ++acknowledged; });
  auto later = plain.ask(Write{2});
  plain.send(Write{3});
  run();
  std::move(later).get();
  EXPECT_EQ(acknowledged, 1);
  EXPECT_THAT(File::written, ::testing::UnorderedElementsAre(1, 2, 3));

  auto failed = plain.ask(Write{-1});
  EXPECT_THROW(run(), TaskError);
  try {
    std::move(failed).get();
    ADD_FAILURE();
  } catch (const TaskError& e) {
    EXPECT_STREQ(e.what(), errors::ask_error(AskError::failed));
  }
  plain.stop();
  run();
}

TEST(Spawning, ForAWorkerThatTheEngineHasNotTakesAnother) {
  File::written.clear();
  std::vector<Plain::address> all;
  for (std::uint32_t core : {0u, 1u, 7u, 8u, 1000u, 70'000u}) {
    all.push_back(spawn<Plain>({.core = core}));
    all.back().send(Write{static_cast<int>(core)});
    run();
  }
  EXPECT_THAT(File::written, ElementsAre(0, 1, 7, 8, 1000, 70'000));
  for (const Plain::address& plain : all) plain.stop();
  run();
}

}  // namespace
}  // namespace rubato
