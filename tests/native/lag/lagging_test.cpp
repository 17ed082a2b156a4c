// A38 to A43 and A52: what lagging decides, and what it costs where messages come by a known law.
// SPDX-License-Identifier: MIT
#include "native/lag/lagging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <random>

#include "native/lag/formulas.hpp"

namespace {

using namespace rubato::native::lag;

constexpr double kNever = std::numeric_limits<double>::infinity();

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double operator()() { return (static_cast<double>(bits_() >> 11) + 1) * 0x1p-53; }

 private:
  std::mt19937_64 bits_;
};

/// When something arrives after the n-th giving-up, in units of c.
using Arrivals = std::function<double(Random&, std::uint64_t)>;

Arrivals never() {
  return [](Random&, std::uint64_t) { return kNever; };
}
Arrivals at(double when, double probability = 1) {
  return [=](Random& random, std::uint64_t) { return random() <= probability ? when : kNever; };
}
Arrivals exponential(double rate) {
  return [=](Random& random, std::uint64_t) { return -std::log(random()) / rate; };
}

/// By the costs of Lemma 2, with no work: the time relative to never lagging.
double time_of(const Rules& rules, const Arrivals& arrivals) {
  constexpr std::uint64_t kGivingUps = 400'000;
  double sum = 0;
  constexpr unsigned kSeeds = 6;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Lagging lagging(rules, Random(seed));
    Random world(seed + 1000);
    double time = 0;
    for (std::uint64_t i = 0; i < kGivingUps; ++i) {
      const double arrival = arrivals(world, i);
      const bool has_come = lagging.give_up([&](unsigned delays) -> unsigned {
        const double look = std::ceil(arrival * rules.delays);
        const bool is_in_time = look <= delays;
        const unsigned found_at = is_in_time ? std::max(1u, static_cast<unsigned>(look)) : 0;
        time += static_cast<double>(is_in_time ? found_at : delays) / rules.delays;
        return found_at;
      });
      if (!has_come) time += 1;
    }
    sum += time / kGivingUps;
  }
  return sum / kSeeds;
}

constexpr Rules kPublished{.is_as_published = true};
constexpr Rules kOn{};

struct Case {
  const char* name;
  Arrivals arrivals;
  double published, on;
};

TEST(Lag_Model, TimesAreThoseOfTheDesign) {
  // As `on`, nothing costs more than the initial rate; as published, what comes late costs ten times that.
  const Case cases[] = {
      {"none", never(), 1.002, 1.002},
      {"30 % at c", at(1, 0.3), 1.018, 1.002},
      {"50 % at c", at(1, 0.5), 1.021, 1.002},
      {"70 % at c", at(1, 0.7), 1.017, 1.002},
      {"exponential .5", exponential(0.5), 1.021, 1.002},
      {"exponential 1", exponential(1), 1.002, 1.000},
      {"30 % at .05 c", at(0.05, 0.3), 0.780, 0.770},
      {"exponential 1.5", exponential(1.5), 0.885, 0.770},
      {"exponential 3", exponential(3), 0.569, 0.387},
      {"exponential 10", exponential(10), 0.214, 0.134},
      {"all at .1 c", at(0.1), 0.126, 0.126},
      {"all at .6 c", at(0.6), 0.626, 0.626},
      {".1 or .9 c", [](Random& random, std::uint64_t) { return random() <= 0.5 ? 0.1 : 0.9; }, 0.617, 0.516},
  };
  for (const Case& c : cases) {
    const double published = time_of(kPublished, c.arrivals), on = time_of(kOn, c.arrivals);
    EXPECT_NEAR(published, c.published, 0.02) << c.name;
    EXPECT_NEAR(on, c.on, c.on >= 1.001 ? 0.002 : 0.02) << c.name;
  }
}

/// Samples that found something at these delays, and how many found nothing.
Record samples(std::initializer_list<unsigned> found, unsigned misses) {
  Record record;
  for (const unsigned i : found) record.note(i);
  for (unsigned i = 0; i < misses; ++i) record.note(0);
  return record;
}

TEST(Lag_Decision, TheDelayThatGainsMost) {
  EXPECT_EQ(decide(kOn, samples({}, 43)), 0u);
  EXPECT_EQ(decide(kPublished, samples({4, 4, 4, 20}, 0)), 4u);   // .75 - 4/32, later 1 - 20/32
  EXPECT_EQ(decide(kPublished, samples({4, 4, 20, 20}, 0)), 4u);  // equal: .5 - 4/32 = 1 - 20/32, the first
  EXPECT_EQ(decide(kPublished, samples({32, 32}, 0)), 0u);        // all of it gains nothing
}

TEST(Lag_Decision, AWaitThatEndsEarlyCostsLess) {
  // Waiting on for the other half costs 16/32 a miss only, of which there are half as many.
  EXPECT_EQ(decide(kPublished, samples({4, 4, 21, 21}, 0)), 4u);
  EXPECT_EQ(decide(kOn, samples({4, 4, 21, 21}, 0)), 21u);
  // And there is a margin: 43 samples are few.
  EXPECT_EQ(decide(kOn, samples({30}, 0)), 0u);
  EXPECT_EQ(decide(kPublished, samples({30}, 0)), 30u);
}

/// The process of Theorem 4, as the class runs it, needs what the exact sum says.
TEST(Lag_Model, MessagesUntilTheDecisionAreThoseOfTheExactSum) {
  Rules rules = kPublished;
  rules.initial_rate = 0.01;
  std::uint64_t all = 0;
  constexpr unsigned kRuns = 4000;
  for (unsigned run = 1; run <= kRuns; ++run) {
    Lagging lagging(rules, Random(run));
    Random world(run + 100'000);
    while (lagging.events().decisions == 0) {
      ++all;
      lagging.give_up([&](unsigned) { return world() <= 0.9 ? 1u : 0u; });
    }
  }
  const double exact = mean_messages(rules.samples, rules.initial_rate, 0.9, false);
  EXPECT_NEAR(static_cast<double>(all) / kRuns, exact, 0.03 * exact);
}

TEST(Lag_Account, SamplingNeverCostsMoreThanTheInitialRateAndOne) {
  // Every second sample finds something, as late as it can be: the published rate goes to 1 and stays there.
  for (const bool is_as_published : {false, true}) {
    Rules rules;
    rules.is_as_published = is_as_published;
    Lagging lagging(rules, Random(7));
    double lost = 0, most_above = 0;
    std::uint64_t n = 0;
    const auto look = [&](unsigned) -> unsigned {
      lost += n % 2 == 0 ? 1 : 0;
      return n % 2 == 0 ? 0 : 32;
    };
    for (n = 0; n < 100'000; ++n) {
      lagging.give_up(look);
      most_above = std::max(most_above, lost - rules.initial_rate * static_cast<double>(n + 1));
    }
    if (is_as_published) {
      EXPECT_GT(most_above, 10);
    } else {
      EXPECT_LE(most_above, 2);  // the account holds at most one, and may be overdrawn by one
    }
  }
}

TEST(Lag_Watching, AChangeForTheWorseCosts64Lags) {
  Lagging lagging(kOn, Random(3));
  while (lagging.record().delay == 0) lagging.give_up([](unsigned) { return 8u; });
  EXPECT_EQ(lagging.record().delay, 8u);
  const std::uint64_t before = lagging.events().lags;
  for (int i = 0; i < 1000; ++i) lagging.give_up([](unsigned) { return 0u; });
  EXPECT_EQ(lagging.record().delay, 0u);
  EXPECT_EQ(lagging.events().drops, 1u);
  EXPECT_LE(lagging.events().lags - before, 64u);
}

TEST(Lag_Watching, AsPublishedAChangeForTheWorseCostsAllUntilTheNextDecision) {
  Lagging lagging(kPublished, Random(3));
  while (lagging.record().delay == 0) lagging.give_up([](unsigned) { return 8u; });
  for (int i = 0; i < 1000; ++i) lagging.give_up([](unsigned) { return 0u; });
  EXPECT_EQ(lagging.record().delay, 8u);
  EXPECT_GT(lagging.events().lags, 900u);
}

}  // namespace
