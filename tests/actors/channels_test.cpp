// Channels and event streams (A12), on every engine: order across channels, sealing one by one, every
// combinator, back-pressure from stage to stage, and what a restart keeps.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rubato/actors.hpp"

namespace channels {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Go {};

/// An actor without messages whose streams a test makes. Turns of an actor come one after the other, so the
/// vectors need no lock.
struct Stage : behavior<> {
  using Make = std::function<void(Stage&)>;
  explicit Stage(const Make& make) { make(*this); }
  template <class T>
  connector<T> open_one() {
    return open<T>();
  }
};

/// The events of a stream of numbers, and how often it was sealed.
struct Seen {
  std::vector<int> numbers;
  int sealed = 0;
  void listen(const events<int>& stream) {
    stream.on([this](const int& n) { numbers.push_back(n); }, [this] { ++sealed; });
  }
};

/// Sends 1 to `count` into a stream and seals it.
Seen numbers_through(int count, const std::function<events<int>(events<int>)>& stream) {
  Seen seen;
  channel<int> in;
  spawn<Stage>([&](Stage& stage) {
    const connector<int> numbers = stage.open_one<int>();
    in = numbers.channel;
    seen.listen(stream(numbers.events));
  });
  for (int i = 1; i <= count; ++i) in.send(i);
  in.seal();
  run();
  return seen;
}

TEST(Channels, MapFilterScanTakeAndDropMakeOneStreamOfAnother) {
  EXPECT_THAT(numbers_through(4, [](auto e) { return e.map([](int n) { return n * n; }); }).numbers,
              ElementsAre(1, 4, 9, 16));
  EXPECT_THAT(numbers_through(6, [](auto e) { return e.filter([](int n) { return n % 3 == 0; }); }).numbers,
              ElementsAre(3, 6));
  EXPECT_THAT(
      numbers_through(4, [](auto e) { return e.scan(10, [](int sum, int n) { return sum + n; }); }).numbers,
      ElementsAre(11, 13, 16, 20));
  EXPECT_THAT(numbers_through(5, [](auto e) { return e.take(2); }).numbers, ElementsAre(1, 2));
  EXPECT_THAT(numbers_through(5, [](auto e) { return e.take(0); }).numbers, IsEmpty());
  EXPECT_THAT(numbers_through(5, [](auto e) { return e.take(9); }).numbers, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(numbers_through(5, [](auto e) { return e.drop(3); }).numbers, ElementsAre(4, 5));
  EXPECT_THAT(numbers_through(5, [](auto e) { return e.drop(0).take(1); }).numbers, ElementsAre(1));
  const auto text = [](events<int> e) {
    return e.map([](int n) { return std::to_string(n); }).map([](const std::string& s) {
      return static_cast<int>(s.size());
    });
  };
  EXPECT_THAT(numbers_through(10, text).numbers, ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 2));
}

TEST(Channels, EachStreamIsSealedOnce) {
  EXPECT_EQ(numbers_through(3, [](auto e) { return e; }).sealed, 1);
  EXPECT_EQ(numbers_through(3, [](auto e) { return e.map([](int n) { return n; }); }).sealed, 1);
  EXPECT_EQ(numbers_through(3, [](auto e) { return e.filter([](int) { return false; }); }).sealed, 1);
  EXPECT_EQ(numbers_through(3, [](auto e) { return e.scan(0, [](int a, int) { return a; }); }).sealed, 1);
  for (const unsigned count : {0u, 1u, 3u, 4u})
    EXPECT_EQ(numbers_through(3, [count](auto e) { return e.take(count); }).sealed, 1) << count;
  EXPECT_EQ(numbers_through(3, [](auto e) { return e.drop(4); }).sealed, 1);
  EXPECT_EQ(numbers_through(3, [](auto e) { return e.merge(e); }).sealed, 1);
  EXPECT_EQ(numbers_through(3, [](auto e) { return e.until(e); }).sealed, 1);
  EXPECT_EQ(numbers_through(3, [](auto e) { return e.until(e.drop(9)); }).sealed, 1);
  EXPECT_EQ(numbers_through(3, [](auto e) { return e.throttle(milliseconds(1)); }).sealed, 1);
}

TEST(Channels, MergeBringsTheEventsOfBothAndEndsWithBoth) {
  EXPECT_THAT(numbers_through(3, [](auto e) { return e.merge(e.map([](int n) { return -n; })); }).numbers,
              ElementsAre(1, -1, 2, -2, 3, -3));
  EXPECT_THAT(numbers_through(3, [](auto e) { return e.take(1).merge(e); }).numbers, ElementsAre(1, 1, 2, 3));

  Seen seen;
  channel<int> one, other;
  spawn<Stage>([&](Stage& stage) {
    const connector<int> a = stage.open_one<int>(), b = stage.open_one<int>();
    one = a.channel, other = b.channel;
    seen.listen(a.events.merge(b.events));
  });
  one.send(1), one.seal(), one.send(2);
  run();
  EXPECT_EQ(seen.sealed, 0);
  other.send(3);
  run();
  EXPECT_THAT(seen.numbers, ElementsAre(1, 3));
  other.seal();
  run();
  EXPECT_EQ(seen.sealed, 1);
}

TEST(Channels, UntilEndsWithTheFirstEventOfTheOther) {
  // The stream listens before the other one does, so the event that ends it comes to it first.
  EXPECT_THAT(
      numbers_through(6, [](auto e) { return e.until(e.filter([](int n) { return n == 4; })); }).numbers,
      ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(numbers_through(3, [](auto e) { return e.until(e.filter([](int) { return false; })); }).numbers,
              ElementsAre(1, 2, 3));
  const auto inner = [](events<int> e) { return e.take(2).until(e.drop(3)).merge(e.drop(4)); };
  EXPECT_THAT(numbers_through(5, inner).numbers, ElementsAre(1, 2, 5));
}

struct Tick {};
struct Clock : behavior<Tick> {
  explicit Clock(std::vector<int>* seen) {
    ticks_.events().throttle(milliseconds(10)).on([seen](const int& n) { seen->push_back(n); });
    every(milliseconds(4), Tick{});
  }
  void on(Tick) {
    ticks_.emit(++count_);
    if (count_ == 10) stop();
  }
  emitter<int> ticks_;
  int count_ = 0;
};
TEST(Channels, ThrottleLeavesOutWhatComesTooSoon) {
  std::vector<int> seen;
  const std::uint64_t begin = engine::actor_nanoseconds();
  spawn<Clock>(&seen);
  run();
  const std::uint64_t took = engine::actor_nanoseconds() - begin;
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front(), 1);
  EXPECT_LE(seen.size(), took / 10'000'000 + 1) << "at most one in each 10 ms";
  if (took == 40'000'000) {  // virtual time: ticks at 4, 8, ..., 40 ms
    EXPECT_THAT(seen, ElementsAre(1, 4, 7, 10));
  }
}

TEST(Channels, KeepTheOrderOfASenderAcrossChannelsAndMessages) {
  struct Opened {
    channel<std::string> texts;
    channel<double> reals;
  };
  std::vector<std::string> seen;
  // A message brings the channels out.
  struct Ask {
    using reply = Opened;
  };
  struct Public : behavior<int, Ask> {
    explicit Public(std::vector<std::string>* seen) : seen_(seen) {
      texts_.events.on([this](const std::string& s) { seen_->push_back(s); });
      reals_.events.on(
          [this](const double& d) { seen_->push_back("real " + std::to_string(d).substr(0, 3)); });
    }
    void on(int n) { seen_->push_back("message " + std::to_string(n)); }
    Opened on(Ask) { return {texts_.channel, reals_.channel}; }
    std::vector<std::string>* seen_;
    connector<std::string> texts_ = open<std::string>();
    connector<double> reals_ = open<double>();
  };
  const auto mixed = spawn<Public>(&seen);
  auto opened = mixed.ask(Ask{});
  run();
  const Opened to = std::move(opened).get();
  std::vector<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    to.texts.send("text"), mixed.send(i), to.reals.send(0.5);
    expected.insert(expected.end(), {"text", "message " + std::to_string(i), "real 0.5"});
  }
  run();
  EXPECT_EQ(seen, expected);
  EXPECT_TRUE(to.texts.owner() == actor<>(mixed));
  EXPECT_FALSE(channel<int>());
  mixed.stop();
  run();
}

TEST(Channels, AreSealedOneByOneAndTheLastOnesEndStopsAnActorWithoutMessages) {
  Seen one, other;
  channel<int> first, second;
  const actor<> stage = spawn<Stage>([&](Stage& s) {
    const connector<int> a = s.open_one<int>(), b = s.open_one<int>();
    first = a.channel, second = b.channel;
    one.listen(a.events);
    // Sealed by the actor itself, in the middle of its events.
    b.events.on([b](const int& n) {
      if (n == 3) b.seal();
    });
    other.listen(b.events);
  });
  const ActorCounters before = actor_counters();
  const auto sealed = [&] { return actor_counters().dead_letters[3] - before.dead_letters[3]; };
  first.send(1), first.seal(), first.send(2), first.seal();
  run();
  EXPECT_THAT(one.numbers, ElementsAre(1));
  EXPECT_EQ(one.sealed, 1);
  EXPECT_EQ(sealed(), 1u) << "cause sealed";
  EXPECT_TRUE(engine::is_alive(stage.id()));
  std::vector<std::string> types;
  const auto listening_to_dead = on_dead_letter([&](const DeadLetter& letter) {
    types.emplace_back(letter.type == &typeid(int) ? "int" : "another");
    EXPECT_TRUE(letter.to == stage);
  });
  for (int i = 1; i <= 4; ++i) second.send(i);
  run();
  EXPECT_THAT(other.numbers, ElementsAre(1, 2)) << "the listener before it has sealed the channel at 3";
  EXPECT_EQ(other.sealed, 1);
  EXPECT_FALSE(engine::is_alive(stage.id()));
  EXPECT_THAT(types, ElementsAre("int"));
  EXPECT_EQ(second.try_send(5), Sent::stopped);
}

TEST(Channels, AListenerMayEndItselfAndOthersAndBeginOthers) {
  std::vector<std::string> seen;
  channel<int> in;
  const actor<> stage = spawn<Stage>([&](Stage& s) {
    const connector<int> numbers = s.open_one<int>();
    in = numbers.channel;
    const auto stream = numbers.events;
    auto self = std::make_shared<listening>(), next = std::make_shared<listening>();
    *self = stream.on([&seen, self, next, stream](const int& n) {
      seen.push_back("a" + std::to_string(n));
      self->cancel();
      next->cancel();
      stream.once([&seen](const int& m) { seen.push_back("c" + std::to_string(m)); });
    });
    *next = stream.on([&seen](const int& n) { seen.push_back("b" + std::to_string(n)); });
  });
  for (int i = 1; i <= 3; ++i) in.send(i);
  run();
  EXPECT_THAT(seen, ElementsAre("a1", "c2"));
  stage.stop();
  run();
}

TEST(Channels, AnExceptionOfAListenerIsAFailureOfItsActor) {
  channel<int> in;
  const actor<> stage = spawn<Stage>([&](Stage& s) {
    const connector<int> numbers = s.open_one<int>();
    in = numbers.channel;
    numbers.events.on([](const int&) { throw std::runtime_error("as asked"); });
  });
  in.send(1);
  try {
    run();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const TaskError& error) {
    EXPECT_STREQ(error.what(), "actor channels::Stage handling int ended with an exception: as asked");
  }
  stage.stop();
  run();
}

struct Job : behavior<Go> {
  static constexpr bool restarts = true;
  explicit Job(std::vector<int>* seen) : seen_(seen) {
    numbers_.events.on([this](const int& n) {
      if (n == 0) throw std::runtime_error("as asked");
      seen_->push_back(n + 100 * life);
    });
    made.push_back(numbers_.channel);
  }
  void on(Go) {
    ++life;
    const connector<int> more = open<int>();
    more.events.on([seen = seen_](const int& n) { seen->push_back(n); });
    later = more.channel;
  }
  static inline int life = 0;
  static inline std::vector<channel<int>> made;
  static inline channel<int> later;
  std::vector<int>* seen_;
  connector<std::string> unused_ = open<std::string>();
  connector<int> numbers_ = open<int>();
};
struct Boss : behavior<Go> {
  explicit Boss(std::vector<int>* seen) { job = spawn<Job>(seen); }
  void on(Go) {}
  Directive on_failure(const Failure&) { return Directive::restart; }
  static inline actor<Go> job;
};

TEST(Channels, ARestartKeepsThoseOfTheConstructorAndSealsOthers) {
  Job::life = 0;
  Job::made.clear();
  std::vector<int> seen;
  const auto boss = spawn<Boss>(&seen);
  Boss::job.send(Go{});
  run();
  Job::later.send(50), Job::made[0].send(1), Job::made[0].send(0);
  run();
  ASSERT_EQ(Job::made.size(), 2u);
  EXPECT_TRUE(Job::made[0] == Job::made[1]);
  const std::uint64_t sealed = actor_counters().dead_letters[3];
  Job::made[0].send(2), Job::later.send(51);
  run();
  EXPECT_EQ(actor_counters().dead_letters[3], sealed + 1);
  std::sort(seen.begin(), seen.end());
  EXPECT_THAT(seen, ElementsAre(50, 101, 102));
  // Each life's handlers open channels with numbers of their own.
  const channel<int> before = Job::later;
  Boss::job.send(Go{});
  run();
  EXPECT_FALSE(before == Job::later);
  boss.stop();
  run();
}

/// Counts how far it is ahead of what it feeds.
struct Feeding : behavior<Go> {
  Feeding(channel<int> to, int count, std::atomic<int>* ahead) : left_(count), ahead_(ahead) {
    out_.events().map([](const int& n) { return n + 1; }).to(to);
    self().send(Go{});
  }
  void on(Go) {
    ++*ahead_;
    out_.emit(left_);
    if (--left_ > 0) return self().send(Go{});
    stop();
  }
  emitter<int> out_;
  int left_;
  std::atomic<int>* ahead_;
};

/// A slow end of a pipeline. `most`: how far the source was ahead of it.
struct Sink {
  explicit Sink(std::uint32_t bound) {
    actor_ = spawn<Stage>({.mailbox = {.capacity = bound, .when_full = WhenFull::mute}}, [this](Stage& s) {
      const connector<int> numbers = s.open_one<int>();
      in = numbers.channel;
      numbers.events.on([this](const int& n) {
        most = std::max(most.load(), ahead.load());
        --ahead;
        sum += n;
      });
    });
  }
  ~Sink() {
    actor_.stop();
    run();
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  channel<int> in;
  std::atomic<int> ahead{0}, most{0}, sum{0};

 private:
  actor<> actor_;
};

TEST(Channels, AFullMailboxMutesTheActorWhoseStreamGoesThere) {
  constexpr int kNumbers = 2000;
  constexpr std::uint32_t kBound = 8;
  Sink sink(kBound);
  spawn<Feeding>(sink.in, kNumbers, &sink.ahead);
  run();
  EXPECT_EQ(sink.sum, kNumbers * (kNumbers + 1) / 2 + kNumbers);
  // A full mailbox, the message that mutes, and one in its handler.
  EXPECT_LE(sink.most, static_cast<int>(kBound + 2));
}

TEST(Channels, BackPressureGoesThroughTheStagesOfAPipeline) {
  constexpr int kNumbers = 2000;
  constexpr std::uint32_t kBound = 8;
  Sink sink(kBound);
  channel<int> middle;
  const Spawn bounded{.mailbox = {.capacity = kBound, .when_full = WhenFull::mute}};
  const actor<> between = spawn<Stage>(bounded, [&](Stage& s) {
    const connector<int> numbers = s.open_one<int>();
    middle = numbers.channel;
    numbers.events.map([](const int& n) { return n * 2; }).to(sink.in);
  });
  spawn<Feeding>(middle, kNumbers, &sink.ahead);
  run();
  EXPECT_EQ(sink.sum, kNumbers * (kNumbers + 1) + 2 * kNumbers);
  // A stage with more than half of its own bound goes on, so no fixed limit holds for the stage behind it
  // while others send. Without back-pressure nearly all of the numbers wait at once on one thread.
  EXPECT_LE(sink.most, kNumbers / 4);
  between.stop();
  run();
}

TEST(Channels, ABoundCountsEventsAndTrySendSaysFull) {
  channel<int> in;
  std::atomic<int> handled{0};
  const actor<> stage =
      spawn<Stage>({.mailbox = {.capacity = 2, .when_full = WhenFull::refuse}}, [&](Stage& s) {
        const connector<int> numbers = s.open_one<int>();
        in = numbers.channel;
        numbers.events.on([&](const int&) { ++handled; });
      });
  EXPECT_EQ(in.try_send(1), Sent::accepted);
  EXPECT_EQ(in.try_send(2), Sent::accepted);
  EXPECT_EQ(in.try_send(3), Sent::full);
  run();
  EXPECT_EQ(handled, 2);
  EXPECT_EQ(in.try_send(4), Sent::accepted);
  run();
  EXPECT_EQ(handled, 3);
  stage.stop();
  run();
}

TEST(Channels, EventsAreMessagesInTheCounters) {
  const std::uint64_t before = actor_counters().messages_handled;
  numbers_through(7, [](auto e) { return e; });
  EXPECT_EQ(actor_counters().messages_handled - before, 7u);
}

TEST(Channels, AreListenedToAndSealedByTheirActorOnly) {
  connector<int> stolen;
  const actor<> stage = spawn<Stage>([&](Stage& s) { stolen = s.open_one<int>(); });
  const auto sentence = [](auto f) -> std::string {
    try {
      f();
    } catch (const TaskError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(sentence([&] { stolen.events.on([](const int&) {}); }),
              HasSubstr("where that actor does not run"));
  EXPECT_THAT(sentence([&] { stolen.seal(); }), HasSubstr("where that actor does not run"));
  EXPECT_THAT(sentence([] { emitter<int>(); }), HasSubstr("an emitter is made where no actor runs"));
  EXPECT_THAT(sentence([] { channel<int>().send(1); }), HasSubstr("empty actor handle"));
  stage.stop();
  run();
}

/// Counts how many of it live.
struct Counted {
  explicit Counted(std::shared_ptr<int> c) : count(std::move(c)) {}
  std::shared_ptr<int> count;
  void operator()(const int&) const {}
};
TEST(Channels, ListenersAreGoneWithTheirActorAlsoIfTheyHoldTheirStream) {
  const auto count = std::make_shared<int>(0);
  const actor<> stage = spawn<Stage>([&](Stage& s) {
    const connector<int> numbers = s.open_one<int>();
    numbers.events.on([numbers, count](const int&) {});
    numbers.events.map([count](const int& n) { return n; }).on(Counted(count));
  });
  run();
  EXPECT_GT(count.use_count(), 1);
  stage.stop();
  run();
  EXPECT_EQ(count.use_count(), 1);
}

}  // namespace channels
