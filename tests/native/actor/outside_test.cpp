// Messages of threads that are no workers: they go to mailboxes directly, beside a run, in order, also when
// actors stop and cells are used again, and when runs fail. A8, A17 and A29.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

constexpr int kThreads = 3;

std::uint64_t all_dead() {
  std::uint64_t sum = 0;
  for (const std::uint64_t letters : actor_counters().dead_letters) sum += letters;
  return sum;
}

struct Numbered {
  int sender;
  int number;
};
/// Lies in two lines.
struct LargeNumbered {
  std::array<std::uint64_t, 10> words;
};

/// Sees to it that its turns come one after the other, and counts what is not in order.
struct Checker : behavior<Numbered, LargeNumbered> {
  explicit Checker(std::atomic<int>& wrong) : wrong_(wrong) {}
  void on(Numbered n) { note(n.sender, n.number); }
  void on(const LargeNumbered& l) {
    note(static_cast<int>(l.words.front()), static_cast<int>(l.words.back()));
  }
  void note(int sender, int number) {
    if (is_within_.exchange(true)) ++wrong_;
    if (expected_[sender]++ != number) ++wrong_;
    is_within_ = false;
  }
  std::atomic<int>& wrong_;
  std::atomic<bool> is_within_{false};
  std::array<int, kThreads + 1> expected_{};
};

void send_numbered(const Checker::address& to, int sender, int number) {
  if (number % 3 != 0) return to.send(Numbered{sender, number});
  LargeNumbered large{};
  large.words.front() = static_cast<std::uint64_t>(sender);
  large.words.back() = static_cast<std::uint64_t>(number);
  to.send(large);
}

/// Runs until a run has ended well that began with `left` at 0. @returns how many failed
int failed_runs_until_zero(const std::atomic<int>& left) {
  int failed = 0;
  for (bool is_over = false; !is_over;) {
    is_over = left == 0;
    try {
      run();
    } catch (const TaskError&) {
      ++failed;
      is_over = false;
    }
  }
  return failed;
}

/// Threads that send beside a run, which ends when they have.
class Outside {
 public:
  template <class Send>
  explicit Outside(Send send) {
    for (int t = 0; t < kThreads; ++t)
      threads_.emplace_back([send, t, hold = std::make_shared<native::Hold>(native::hold())] {
        send(t);
        hold->close();
      });
  }

 private:
  std::vector<std::jthread> threads_;
};

TEST(ActorsFromOutside, EachThreadsMessagesToEachActorKeepTheirOrder) {
  constexpr int kActors = 7, kMessages = 3000;
  std::atomic<int> wrong = 0;
  const std::uint64_t before = actor_counters().messages_handled;
  std::vector<Checker::address> checkers;
  // The first three have a bound, an urgent lane, and a worker of its own.
  for (int a = 0; a < kActors; ++a) {
    Spawn options;
    if (a == 0) options.mailbox.capacity = 1'000'000;
    if (a == 1) options.urgent = true;
    if (a == 2) options.core = 0;
    checkers.push_back(spawn<Checker>(options, wrong));
  }
  const auto send = [&checkers](int sender, int first) {
    for (int i = first; i < first + kMessages; ++i)
      for (const Checker::address& checker : checkers) send_numbered(checker, sender, i);
  };
  send(kThreads, 0);  // this thread, before the run, and again before the next
  {
    const Outside outside([&send](int t) { send(t, 0); });
    run();
  }
  send(kThreads, kMessages);
  run();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(actor_counters().messages_handled - before, std::uint64_t{kActors} * kMessages * (kThreads + 2));
  for (const Checker::address& checker : checkers) checker.stop();
  run();
}

TEST(ActorsFromOutside, OnlyTheFirstMessageToAnIdleActorMakesATask) {
  std::atomic<int> wrong = 0;
  const auto checker = spawn<Checker>(wrong);
  run();
  const std::uint64_t before = native::counters().tasks_run;
  for (int i = 0; i < 1000; ++i) checker.send(Numbered{0, i});
  run();
  EXPECT_LE(native::counters().tasks_run - before, 1000u / 50 + 1);
  EXPECT_EQ(wrong, 0);
  checker.stop();
  run();
}

struct Mortal : behavior<Numbered> {
  Mortal(std::uint64_t who, std::atomic<std::uint64_t>& handled, std::atomic<int>& wrong)
      : who_(static_cast<int>(who)), handled_(handled), wrong_(wrong) {}
  void on(Numbered n) {
    if (n.sender != who_) ++wrong_;
    ++handled_;
    if (++mine_ == 3) stop();
  }
  int who_, mine_ = 0;
  std::atomic<std::uint64_t>& handled_;
  std::atomic<int>& wrong_;
};

struct Renew {};
/// Replaces actors that stop by new ones in the same cells, as fast as it can.
struct Nursery : behavior<Renew> {
  static constexpr unsigned kPlaces = 8;
  explicit Nursery(std::atomic<std::uint64_t>& handled, std::atomic<int>& wrong)
      : handled_(handled), wrong_(wrong) {
    for (auto& place : places) place = 0;
    for (unsigned p = 0; p < kPlaces; ++p) renew(p);
    self().send(Renew{});
  }
  void on(Renew) {
    for (unsigned p = 0; p < kPlaces; ++p)
      if (current_[p].try_send(Numbered{numbers_[p], 0}) == Sent::stopped) {
        renew(p);
      } else {
        ++sent;
      }
    if (is_open) return self().send(Renew{});
    for (auto& mortal : current_) mortal.stop();
    stop();
  }
  void renew(unsigned p) {
    numbers_[p] = ++last_;
    current_[p] = spawn<Mortal>(static_cast<std::uint64_t>(last_), handled_, wrong_);
    places[p] = 0;
    handles[p] = current_[p];
    places[p] = static_cast<std::uint64_t>(last_);
  }
  static inline std::atomic<bool> is_open{true};
  static inline std::atomic<std::uint64_t> sent{0};
  static inline std::array<std::atomic<Mortal::address>, kPlaces> handles{};
  static inline std::array<std::atomic<std::uint64_t>, kPlaces> places{};
  std::array<Mortal::address, kPlaces> current_{};
  std::array<int, kPlaces> numbers_{};
  int last_ = 0;
  std::atomic<std::uint64_t>& handled_;
  std::atomic<int>& wrong_;
};

TEST(ActorsFromOutside, AMessageReachesItsActorOrNoneThoughCellsAreUsedAgain) {
  std::atomic<std::uint64_t> handled = 0, sent = 0;
  std::atomic<int> wrong = 0;
  const std::uint64_t dead = all_dead();
  Nursery::is_open = true;
  Nursery::sent = 0;
  spawn<Nursery>(handled, wrong);
  std::atomic<int> left = kThreads;
  {
    const Outside outside([&](int t) {
      for (unsigned i = 0; i < 20'000; ++i) {
        const unsigned p = (i + static_cast<unsigned>(t)) % Nursery::kPlaces;
        // A number that is the same before and after, and not 0, belongs to the handle read between.
        const std::uint64_t number = Nursery::places[p];
        const Mortal::address mortal = Nursery::handles[p];
        if (!mortal || number != Nursery::places[p] || number == 0) continue;
        mortal.send(Numbered{static_cast<int>(number), 0});
        ++sent;
      }
      if (--left == 0) Nursery::is_open = false;
    });
    run();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(handled + (all_dead() - dead), sent + Nursery::sent);
}

struct Fragile : behavior<Numbered> {
  Fragile(std::atomic<std::uint64_t>& handled, std::atomic<int>& wrong) : handled_(handled), wrong_(wrong) {}
  void on(Numbered n) {
    if (is_within_.exchange(true)) ++wrong_;
    ++handled_;
    is_within_ = false;
    if (n.number % 500 == 499) throw std::runtime_error("one of five hundred");
  }
  std::atomic<bool> is_within_{false};
  std::atomic<std::uint64_t>& handled_;
  std::atomic<int>& wrong_;
};

TEST(ActorsFromOutside, MayGoOnWhileRunsFail) {
  constexpr int kActors = 5, kMessages = 4000;
  std::atomic<std::uint64_t> handled = 0;
  std::atomic<int> wrong = 0, left = kThreads;
  const std::uint64_t dead = all_dead();
  std::vector<Fragile::address> actors;
  for (int a = 0; a < kActors; ++a) actors.push_back(spawn<Fragile>(handled, wrong));
  int failed = 0;
  {
    const Outside outside([&](int) {
      for (int i = 0; i < kMessages; ++i) actors[static_cast<std::size_t>(i % kActors)].send(Numbered{0, i});
      --left;
    });
    failed = failed_runs_until_zero(left);
  }
  EXPECT_GT(failed, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(handled + (all_dead() - dead), std::uint64_t{kThreads} * kMessages);
  for (const Fragile::address& actor : actors) actor.stop();
  run();
}

/// Sends to itself before it has begun, and may fail at once.
struct Newborn : behavior<Numbered> {
  explicit Newborn(int number) {
    for (int i = 0; i < 2; ++i) {
      self().send(Numbered{0, 0});
      if (number % 2 != 0) std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
    if (number % 7 == 6) throw std::runtime_error("not to be made");
  }
  ~Newborn() { ++destroyed; }
  void on(Numbered n) {
    if (is_within_.exchange(true)) ++wrong;
    ++handled;
    is_within_ = false;
    if (n.number % 10 == 9) throw std::runtime_error("one of ten");
  }
  static inline std::atomic<std::uint64_t> destroyed, handled;
  static inline std::atomic<int> wrong;
  std::atomic<bool> is_within_{false};
};

TEST(ActorsFromOutside, MayBeSpawnedWhileRunsFail) {
  constexpr int kActors = 600;
  Newborn::destroyed = Newborn::handled = 0;
  Newborn::wrong = 0;
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<int> left = kThreads;
  std::array<std::vector<Newborn::address>, kThreads> actors;
  const std::uint64_t dead = all_dead();
  int failed = 0;
  {
    const Outside outside([&](int t) {
      for (int i = 0; i < kActors; ++i) {
        sent += 2;
        Spawn options;
        if (i % 3 == 1) options.mailbox.capacity = 1000;
        if (i % 3 == 2) options.urgent = true;
        try {
          actors[static_cast<std::size_t>(t)].push_back(spawn<Newborn>(options, i));
        } catch (const std::runtime_error&) {  // by its constructor
          continue;
        }
        ++sent;
        actors[static_cast<std::size_t>(t)].back().send(Numbered{0, i});
      }
      --left;
    });
    failed = failed_runs_until_zero(left);
  }
  EXPECT_GT(failed, 0);
  EXPECT_EQ(Newborn::wrong, 0);
  EXPECT_EQ(Newborn::handled + (all_dead() - dead), sent);
  for (const auto& mine : actors)
    for (const Newborn::address& actor : mine) actor.stop();
  run();
  EXPECT_EQ(Newborn::destroyed, std::uint64_t{kThreads} * (kActors - kActors / 7));
}

/// The sender gets an error, so that nothing is lost silently.
TEST(ActorsFromOutside, AreRefusedBesideARunThatNothingHoldsOpenWithoutADeadLetter) {
  std::atomic<std::uint64_t> handled = 0;
  std::atomic<int> wrong = 0;
  const auto fragile = spawn<Fragile>(handled, wrong);
  const std::uint64_t dead = all_dead();
  std::string said;
  create<nonspec>(
      [&] {
        std::thread([&] {
          try {
            fragile.send(Numbered{0, 0});
          } catch (const TaskError& e) {
            said = e.what();
          }
        }).join();
      },
      {});
  run();
  EXPECT_NE(said.find("Numbered is created by another thread"), std::string::npos) << said;
  EXPECT_EQ(all_dead(), dead);
  EXPECT_EQ(handled, 0u);
  fragile.stop();
  run();
}

TEST(ActorsFromOutside, EndInTheNextRunIfTheirLastMessageIsDropped) {
  const ActorCounters before = actor_counters();
  std::atomic<std::uint64_t> handled = 0;
  std::atomic<int> wrong = 0;
  spawn<Fragile>(handled, wrong).stop();
  spawn<Fragile>(handled, wrong).kill();
  EXPECT_THROW(spawn<Newborn>(6), std::runtime_error);
  native::drop_pending();
  run();
  const ActorCounters after = actor_counters();
  EXPECT_EQ(after.spawned - before.spawned, 3u);
  EXPECT_EQ(after.stopped - before.stopped, 3u);
}

}  // namespace
}  // namespace rubato
