// The choice of the algorithm on programs whose rates are given (T50).
// SPDX-License-Identifier: MIT
#include "tm/choice/chooser.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>

namespace rubato::tm {
namespace {

constexpr std::uint32_t kEverything = (1u << static_cast<unsigned>(AlgorithmId::rtm)) - 1;
constexpr std::uint64_t kSecond = 1'000'000'000;

/// A program of which each algorithm commits so many transactions a millisecond.
struct Rates {
  double serial, eager, lazy, norec, rtm = 0, tml = 0;
  double of(AlgorithmId id) const {
    switch (id) {
      case AlgorithmId::serial:
        return serial;
      case AlgorithmId::eager:
        return eager;
      case AlgorithmId::lazy:
        return lazy;
      case AlgorithmId::norec:
        return norec;
      case AlgorithmId::rtm:
        return rtm;
      case AlgorithmId::tml:
        return tml;
    }
    return 0;
  }
};

class Machine {
 public:
  explicit Machine(std::uint32_t candidates = kEverything) : chooser_(candidates) {}

  /// Windows until `nanoseconds` have passed. `disturb`: a factor of the rate in this window.
  void run(
      std::uint64_t nanoseconds, const Rates& rates, unsigned threads = 2,
      const std::function<double()>& disturb = [] { return 1.0; }) {
    for (std::uint64_t passed = 0; passed < nanoseconds; passed += Chooser::kWindow) {
      const double commits = rates.of(chooser_.now()) * disturb() * Chooser::kWindow / 1e6;
      time_[static_cast<std::size_t>(chooser_.now())] += Chooser::kWindow;
      chooser_.next({Chooser::kWindow, static_cast<std::uint64_t>(commits), threads});
    }
  }
  AlgorithmId now() const { return chooser_.now(); }
  /// Share of the time since forget() that the algorithm had.
  double share(AlgorithmId id) const {
    double all = 0;
    for (const std::uint64_t each : time_) all += static_cast<double>(each);
    return static_cast<double>(time_[static_cast<std::size_t>(id)]) / all;
  }
  void forget() { time_ = {}; }
  const Chooser& chooser() const { return chooser_; }

 private:
  Chooser chooser_;
  std::array<std::uint64_t, kAlgorithmCount> time_{};
};

TEST(Chooser, WithOneThreadNothingIsTried) {
  Machine machine;
  machine.run(kSecond, {100, 10000, 10000, 10000}, 1);
  EXPECT_EQ(machine.share(AlgorithmId::serial), 1);
}

TEST(Chooser, AProgramOfSixMillisecondsTriesNothing) {
  Machine machine;
  machine.run(3 * Chooser::kWindow, {100, 10000, 10000, 10000});
  EXPECT_EQ(machine.share(AlgorithmId::serial), 1);
  machine.run(kSecond / 50, {100, 10000, 100, 100});
  EXPECT_EQ(machine.now(), AlgorithmId::eager);
}

TEST(Chooser, AProgramOfFortyMillisecondsGetsMostOfWhatTheBestGives) {
  constexpr std::uint32_t kInPlace = 1u | Chooser::bit(AlgorithmId::eager) | Chooser::bit(AlgorithmId::tml);
  const Rates rates{.serial = 1000, .eager = 1200, .lazy = 0, .norec = 0, .rtm = 0, .tml = 1600};
  Machine machine(kInPlace);
  machine.run(kSecond / 25, rates);
  double rate = 0;
  for (const AlgorithmId id : {AlgorithmId::serial, AlgorithmId::eager, AlgorithmId::tml})
    rate += machine.share(id) * rates.of(id);
  EXPECT_GT(rate, 0.85 * rates.tml);
}

TEST(Chooser, SeveralThreadsBeginInHardwareWhereThereIsSome) {
  Machine machine(kEverything | 1u << static_cast<unsigned>(AlgorithmId::rtm));
  machine.run(Chooser::kWindow, {1000, 100, 100, 100, 500}, 1);
  EXPECT_EQ(machine.now(), AlgorithmId::serial) << "one thread";
  machine.run(Chooser::kWindow, {1000, 100, 100, 100, 500});
  EXPECT_EQ(machine.now(), AlgorithmId::rtm);
  machine.forget();
  machine.run(2 * Chooser::kWindow, {1000, 100, 100, 100, 500});
  EXPECT_EQ(machine.share(AlgorithmId::rtm), 1) << "nothing is tried yet";
  machine.run(kSecond / 10, {1000, 100, 100, 100, 500});
  EXPECT_EQ(machine.now(), AlgorithmId::serial) << "another one is better";
}

TEST(Chooser, TheBestIsFoundAndStays) {
  for (const AlgorithmId best :
       {AlgorithmId::serial, AlgorithmId::eager, AlgorithmId::lazy, AlgorithmId::norec}) {
    Rates rates{1000, 1000, 1000, 1000};
    (best == AlgorithmId::serial  ? rates.serial
     : best == AlgorithmId::eager ? rates.eager
     : best == AlgorithmId::lazy  ? rates.lazy
                                  : rates.norec) = 1500;
    Machine machine;
    machine.run(kSecond / 10, rates);
    machine.forget();
    machine.run(10 * kSecond, rates);
    EXPECT_GT(machine.share(best), 0.97);
    EXPECT_EQ(machine.now(), best);
  }
}

TEST(Chooser, TryingTakesAFiftiethOfTheTime) {
  Machine machine;
  machine.run(30 * kSecond, {1000, 900, 900, 900});
  EXPECT_GT(machine.share(AlgorithmId::serial), 0.975);
  EXPECT_GT(machine.share(AlgorithmId::eager), 0.0003);
}

TEST(Chooser, ADifferenceBelowTheHysteresisChangesNothing) {
  Machine machine;
  machine.run(10 * kSecond, {1000, 1040, 1030, 1020});
  EXPECT_EQ(machine.chooser().changes(), 0u);
  EXPECT_EQ(machine.now(), AlgorithmId::serial);
}

// As labyrinth's: with a dozen commits in a window a quarter more is chance.
TEST(Chooser, WithFewCommitsALeadHasToBeLarger) {
  Machine machine;
  machine.run(10 * kSecond, {5, 6.5, 5, 5});
  EXPECT_EQ(machine.chooser().changes(), 0u);
  Machine other;
  other.run(10 * kSecond, {5, 15, 5, 5});
  EXPECT_EQ(other.now(), AlgorithmId::eager);
}

TEST(Chooser, WithFewCommitsTheFirstRoundIsLater) {
  const Rates rates{5, 15, 5, 5};
  Machine machine;
  machine.run(38 * Chooser::kWindow, rates);
  EXPECT_EQ(machine.share(AlgorithmId::serial), 1);
  machine.run(12 * Chooser::kWindow, rates);
  EXPECT_LT(machine.share(AlgorithmId::serial), 1);
}

TEST(Chooser, AFirstRoundThatWasMisledIsRepeatedSoon) {
  Machine machine;
  machine.run(kSecond / 20, {1000, 100, 100, 100});
  EXPECT_EQ(machine.now(), AlgorithmId::serial);
  EXPECT_EQ(machine.chooser().windows(AlgorithmId::eager), 1u);
  machine.run(kSecond * 3 / 10, {1000, 1500, 100, 100});
  EXPECT_EQ(machine.now(), AlgorithmId::eager);
}

TEST(Chooser, TheBestOfALaterPhaseIsFound) {
  Machine machine;
  machine.run(5 * kSecond, {1000, 200, 200, 200});
  machine.forget();
  machine.run(5 * kSecond, {100, 400, 200, 200});
  EXPECT_EQ(machine.now(), AlgorithmId::eager);
  EXPECT_GT(machine.share(AlgorithmId::eager), 0.9);
}

TEST(Chooser, WhoLostTwiceByFarSitsOut) {
  Machine machine;
  machine.run(20 * kSecond, {1000, 900, 100, 900});
  EXPECT_EQ(machine.chooser().windows(AlgorithmId::lazy), 2u);
  EXPECT_GT(machine.chooser().windows(AlgorithmId::eager), 2u);
}

TEST(Chooser, AnAlgorithmThatCommitsNothingLoses) {
  Machine machine;
  machine.run(20 * kSecond, {1000, 0, 900, 900});
  EXPECT_EQ(machine.chooser().windows(AlgorithmId::eager), 2u);
}

TEST(Chooser, OneWindowInWhichTheBestWasHeldUpChangesNothing) {
  Machine machine;
  int window = 0;
  machine.run(10 * kSecond, {1000, 700, 700, 700}, 2, [&window] { return window++ % 50 == 0 ? 0.1 : 1.0; });
  EXPECT_EQ(machine.now(), AlgorithmId::serial);
  EXPECT_EQ(machine.chooser().changes(), 0u);
}

TEST(Chooser, WhenOtherThreadsComeBackTheirBestDoes) {
  Machine machine;
  const Rates rates{500, 1000, 600, 600};
  machine.run(kSecond, rates);
  machine.run(kSecond, rates, 1);
  EXPECT_EQ(machine.now(), AlgorithmId::serial);
  machine.forget();
  machine.run(kSecond / 10, rates);
  EXPECT_GT(machine.share(AlgorithmId::eager), 0.8);
}

TEST(Chooser, AWindowInWhichOneThreadCommittedIsNotAReturnToOneThread) {
  Machine machine;
  const Rates rates{500, 1000, 600, 600};
  machine.run(kSecond, rates);
  machine.run(Chooser::kWindow, rates, 1);
  EXPECT_EQ(machine.now(), AlgorithmId::eager);
}

TEST(Chooser, AnAlgorithmUnderWhichOneThreadStarvesIsJudgedByItsCommits) {
  Machine machine;
  for (int i = 0; i < 1000; ++i) {
    const bool is_serial = machine.now() == AlgorithmId::serial;
    machine.run(Chooser::kWindow, {1000, 500, 500, 500}, is_serial ? 2 : 1);
  }
  EXPECT_EQ(machine.now(), AlgorithmId::serial);
  EXPECT_GT(machine.share(AlgorithmId::serial), 0.95);
}

TEST(Chooser, WhatIsNoCandidateIsNeverTried) {
  Machine machine(1u << static_cast<unsigned>(AlgorithmId::norec));
  machine.run(kSecond, {100, 10000, 10000, 1000});
  EXPECT_EQ(machine.now(), AlgorithmId::norec);
  EXPECT_EQ(machine.chooser().windows(AlgorithmId::eager), 0u);
}

TEST(Chooser, AWindowNeedsTimeAndCommitsOrALongTime) {
  const Chooser chooser;
  EXPECT_FALSE(chooser.is_over({Chooser::kWindow - 1, 1'000'000, 2}));
  EXPECT_FALSE(chooser.is_over({Chooser::kWindow, Chooser::kFewestCommits - 1, 2}));
  EXPECT_TRUE(chooser.is_over({Chooser::kWindow, Chooser::kFewestCommits, 2}));
  EXPECT_TRUE(chooser.is_over({Chooser::kLongestWindow, 0, 2}));
}

TEST(Chooser, AWindowInWhichACandidateClearlyLosesEndsEarly) {
  constexpr std::uint64_t kHopeless = Chooser::kHopelessWindow, kLosing = Chooser::kLosingWindow;
  Chooser chooser(1u | 1u << static_cast<unsigned>(AlgorithmId::tml));
  const Window best{Chooser::kWindow, Chooser::kWindow / 1000, 2};
  while (chooser.now() == AlgorithmId::serial) {
    EXPECT_FALSE(chooser.is_over({kHopeless, 100, 2})) << "the best";
    EXPECT_EQ(chooser.shortest_window(), Chooser::kWindow);
    chooser.next(best);
  }
  EXPECT_EQ(chooser.shortest_window(), kHopeless);
  EXPECT_TRUE(chooser.is_over({kHopeless, kHopeless * 49 / 100'000, 2}));
  EXPECT_FALSE(chooser.is_over({kHopeless - 1, kHopeless * 49 / 100'000, 2}));
  EXPECT_FALSE(chooser.is_over({kHopeless, kHopeless * 51 / 100'000, 2}));
  EXPECT_TRUE(chooser.is_over({kLosing, kLosing * 79 / 100'000, 2}));
  EXPECT_FALSE(chooser.is_over({kLosing, kLosing * 81 / 100'000, 2}));
  EXPECT_FALSE(chooser.is_over({kLosing, Chooser::kFewestCommits - 1, 2})) << "chance";
}

}  // namespace
}  // namespace rubato::tm
