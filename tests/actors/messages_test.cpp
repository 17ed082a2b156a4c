// Messages, on every engine: their order, requests, stash. Compiled for each, natively run with 1, 2 and 8
// workers.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

struct Number {
  int value;
};
struct Text {
  std::string text;
};
struct Large {
  std::array<std::uint64_t, 12> words;
};
struct Huge {
  std::array<std::uint64_t, 100> words;
};
struct alignas(32) Aligned {
  int value;
};

struct Collector : behavior<Number, Text, Large, Huge, Aligned> {
  explicit Collector(std::vector<std::string>& seen) : seen_(seen) {}
  void on(Number n) { seen_.push_back(std::to_string(n.value)); }
  void on(Text t) { seen_.push_back(t.text); }
  void on(const Large& l) { seen_.push_back("large " + std::to_string(l.words.back())); }
  void on(const Huge& h) { seen_.push_back("huge " + std::to_string(h.words.back())); }
  void on(const Aligned& a) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a) % 32, 0u);
    seen_.push_back("aligned " + std::to_string(a.value));
  }
  std::vector<std::string>& seen_;
};

TEST(Messages, OfEverySizeArriveInTheOrderOfTheirSends) {
  std::vector<std::string> seen;
  const std::uint64_t allocated = actor_counters().messages_allocated;
  const auto collector = spawn<Collector>(seen);
  collector.send(Number{1});
  collector.send(Text{"a string too long to lie in the object itself, which is destroyed"});
  Large large{};
  large.words.back() = 12;
  collector.send(large);
  auto huge = std::make_unique<Huge>();
  huge->words.back() = 100;
  collector.send(*huge);
  collector.send(Aligned{7});
  collector.stop();
  run();
  EXPECT_EQ(actor_counters().messages_allocated - allocated, 2u);  // huge and aligned
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "1", "a string too long to lie in the object itself, which is destroyed", "large 12",
                      "huge 100", "aligned 7"}));
}

TEST(Messages, NarrowHandlesReachTheSameActor) {
  std::vector<std::string> seen;
  const auto collector = spawn<Collector>(seen);
  const actor<Number> numbers = collector;
  const actor<> identity = collector;
  EXPECT_EQ(identity.id(), numbers.id());
  numbers.send(Number{5});
  run();
  EXPECT_EQ(seen, std::vector<std::string>{"5"});
  collector.stop();
  run();
}

TEST(Messages, ToAnEmptyHandleAreMisuse) {
  const actor<Number> empty;
  EXPECT_FALSE(empty);
  EXPECT_THROW(empty.send(Number{1}), TaskError);
}

/// Sends the numbers 0, 1, ... to two receivers in turn, itself in between.
struct Sequence {
  int sender;
  int number;
};
struct Next {};
struct OrderChecker : behavior<Sequence> {
  explicit OrderChecker(int senders) : expected_(static_cast<std::size_t>(senders), 0) {}
  void on(Sequence s) {
    if (s.number != expected_[static_cast<std::size_t>(s.sender)]++) ++wrong;
    ++received;
  }
  std::vector<int> expected_;
  static inline std::atomic<int> wrong{0}, received{0};
};
struct OrderedSender : behavior<Next> {
  OrderedSender(actor<Sequence> to, int number) : to_(to), me_(number) { self().send(Next{}); }
  void on(Next) {
    for (int i = 0; i < 7; ++i) to_.send(Sequence{me_, sent_++});
    if (sent_ < 700) return self().send(Next{});
    stop();
  }
  actor<Sequence> to_;
  int me_;
  int sent_ = 0;
};

TEST(Messages, OfOneSenderToOneReceiverKeepTheirOrder) {
  OrderChecker::wrong = OrderChecker::received = 0;
  constexpr int kSenders = 20;
  const auto checker = spawn<OrderChecker>(kSenders);
  for (int i = 0; i < kSenders; ++i) spawn<OrderedSender>(checker, i);
  run();
  EXPECT_EQ(OrderChecker::wrong, 0);
  EXPECT_EQ(OrderChecker::received, 700 * kSenders);
  checker.stop();
  run();
}

struct Add {
  using reply = int;
  int a, b;
};
struct Later {
  using reply = std::string;
};
struct Never {
  using reply = int;
};
struct Release {};
struct Server : behavior<Add, Later, Never, Release> {
  int on(Add add) { return add.a + add.b; }
  void on(Later, reply<std::string> answer) { kept_ = std::move(answer); }
  void on(Never, reply<int>) {}
  void on(Release) { kept_("at last"); }
  reply<std::string> kept_;
};
struct Client : behavior<Number> {
  Client(Server::address server, std::vector<std::string>& seen) : server_(server), seen_(seen) {
    self().send(Number{0});
  }
  void on(Number) {
    server_.ask(Add{2, 3}).then([this](int sum) { seen_.push_back("sum " + std::to_string(sum)); });
    server_.ask(Never{}).then([](int) {},
                              [this](AskError e) {
                                EXPECT_EQ(e, AskError::no_answer);
                                seen_.push_back("never");
                                server_.send(Release{});
                              });
    server_.ask(Later{}).then([this](const std::string& text) {
      seen_.push_back(text);
      server_.stop();
      server_.ask(Add{1, 1}).then([](int) {},
                                  [this](AskError e) {
                                    EXPECT_EQ(e, AskError::stopped);
                                    seen_.push_back("stopped");
                                    stop();
                                  });
    });
  }
  Server::address server_;
  std::vector<std::string>& seen_;
};

TEST(Ask, BringsAnswersAndErrorsAsMessagesToTheAsker) {
  std::vector<std::string> seen;
  const auto server = spawn<Server>();
  spawn<Client>(server, seen);
  run();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0], "sum 5");
  EXPECT_EQ(seen[1], "never");
  EXPECT_EQ(seen[2], "at last");
  EXPECT_EQ(seen[3], "stopped");
}

TEST(Ask, FromOutsideIsGotAfterTheRun) {
  const auto server = spawn<Server>();
  auto sum = server.ask(Add{20, 22});
  auto never = server.ask(Never{});
  run();
  EXPECT_EQ(std::move(sum).get(), 42);
  EXPECT_THROW(std::move(never).get(), TaskError);
  server.send(Add{1, 2});  // of a request that is only sent the answer goes nowhere
  server.stop();
  run();
}

TEST(Ask, OfATaskIsAnsweredInATask) {
  const auto server = spawn<Server>();
  int sum = 0;
  create<nonspec>(
      [server, &sum] {
        server.ask(Add{1, 2}).then([server, &sum](int s) {
          sum = s;
          server.stop();
        });
      },
      {});
  run();
  EXPECT_EQ(sum, 3);
}

struct Silent : behavior<Later> {
  void on(Later, reply<std::string> answer) { kept_.push_back(std::move(answer)); }
  std::vector<reply<std::string>> kept_;
};
TEST(Ask, EndsByItsTimeout) {
  const auto silent = spawn<Silent>();
  bool is_late = false;
  create<nonspec>(
      [silent, &is_late] {
        silent.ask(Later{}, {.timeout = std::chrono::milliseconds(5)})
            .then([](const std::string&) {}, [&is_late](AskError e) { is_late = e == AskError::timeout; });
      },
      {});
  run();
  EXPECT_TRUE(is_late);
  silent.stop();
  run();
}

struct Open {};
struct Door : behavior<Number, Open> {
  explicit Door(std::vector<int>& passed) : passed_(passed) {}
  void on(Number n) {
    if (!is_open_) return stash(n);
    passed_.push_back(n.value);
    if (passed_.size() == 200) stop();
  }
  void on(Open) {
    is_open_ = true;
    unstash_all();
  }
  std::vector<int>& passed_;
  bool is_open_ = false;
};
TEST(Stash, ComesBackInOrderBeforeWhatWaits) {
  std::vector<int> passed;
  const auto door = spawn<Door>(passed);
  for (int i = 0; i < 150; ++i) door.send(Number{i});
  door.send(Open{});
  for (int i = 150; i < 200; ++i) door.send(Number{i});
  run();
  ASSERT_EQ(passed.size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(passed[static_cast<std::size_t>(i)], i);
}

TEST(SpawnFrom, MakesAnActorOfLambdas) {
  int sum = 0;
  std::string text;
  const auto both = spawn_from([&sum](Number n) { sum += n.value; }, [&text](Text t) { text = t.text; });
  both.send(Number{4});
  both.send(Text{"x"});
  both.send(Number{5});
  both.stop();
  run();
  EXPECT_EQ(sum, 9);
  EXPECT_EQ(text, "x");
}

struct Tick {};
struct Clock : behavior<Tick, Number> {
  explicit Clock(std::vector<std::string>& seen) : seen_(seen) {
    cancelled_ = after(std::chrono::milliseconds(1), Number{1});
    cancelled_.cancel();
    ticks_ = every(std::chrono::milliseconds(1), Tick{});
    after(std::chrono::milliseconds(3), Number{10});
  }
  void on(Tick) {
    EXPECT_LE(++count_, 5) << "then it is cancelled";
    if (count_ == 5) ticks_.cancel();
    end_if_over();
  }
  void on(Number n) {
    seen_.push_back(std::to_string(n.value));
    if (n.value == 10) after(std::chrono::milliseconds(5), Number{30});
    end_if_over();
  }
  void end_if_over() {
    if (count_ != 5 || seen_.size() != 2) return;
    every(std::chrono::milliseconds(1), Tick{});  // ends with the actor
    stop();
  }
  std::vector<std::string>& seen_;
  timer cancelled_, ticks_;
  int count_ = 0;
};
TEST(Timers, SendLaterAndAgainAndKeepTheRunOpen) {
  std::vector<std::string> seen;
  spawn<Clock>(seen);
  run();
  EXPECT_EQ(seen, (std::vector<std::string>{"10", "30"}));
}

TEST(Behavior, ItsFunctionsOutsideAreMisuse) {
  struct Loose : behavior<Number> {
    void on(Number) {}
    void try_self() { static_cast<void>(self()); }
  } loose;
  EXPECT_THROW(loose.try_self(), TaskError);
}

}  // namespace
}  // namespace rubato
