// Digits of pi: workers compute terms of the series of Bailey, Borwein and Plouffe until they are too small.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "apps/savina/fixed_point.hpp"
#include "apps/savina/reference/reference.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::pi {
namespace {

/// The last digits of so many terms are not exact.
constexpr std::size_t kInexact = 10;

FixedPoint term(std::uint32_t k, std::size_t places) {
  const auto fraction = [&](std::uint32_t numerator, std::uint32_t plus) {
    FixedPoint value(numerator, places);
    return value /= 8 * k + plus;
  };
  FixedPoint sum = fraction(4, 1);
  sum -= fraction(2, 4);
  sum -= fraction(1, 5);
  sum -= fraction(1, 6);
  return sum.shift_right(std::size_t{4} * k);
}

struct Begin {};
struct Stop {};
struct Stopped {};
struct Work {
  std::uint32_t term;
};
struct Result {
  FixedPoint value;
  std::uint32_t worker;
};

struct Worker : behavior<Work, Stop> {
  Worker(actor<Result, Stopped> master, std::uint32_t number, std::size_t places)
      : master_(master), number_(number), places_(places) {}
  void on(Work work) { master_.send(Result{term(work.term, places_), number_}); }
  void on(Stop) {
    master_.send(Stopped{});
    stop();
  }
  actor<Result, Stopped> master_;
  std::uint32_t number_;
  std::size_t places_;
};

struct Outcome {
  std::string digits{};
  std::uint64_t terms = 0;
};

struct Master : behavior<Begin, Result, Stopped> {
  Master(Outcome& outcome, const Iteration& it)
      : outcome_(outcome), digits_(it["p"]), sum_(0, FixedPoint::places_for(it["p"])) {
    for (std::uint32_t i = 0; i < it["w"]; ++i)
      workers_.push_back(spawn<Worker>(self(), i, FixedPoint::places_for(it["p"])));
  }
  void on(Begin) {
    const std::uint64_t first = std::min<std::uint64_t>(digits_, 10 * workers_.size());
    for (std::uint64_t i = 0; i < first; ++i) request(i % workers_.size());
  }
  void on(Result result) {
    ++received_;
    is_enough_ = is_enough_ || result.value.is_zero();
    sum_ += result.value;
    if (!is_enough_) request(result.worker);
    if (received_ != requested_) return;
    for (const auto worker : workers_) worker.send(Stop{});
  }
  void on(Stopped) {
    if (++stopped_ != workers_.size()) return;
    outcome_ = {sum_.digits(digits_ - 1), requested_};
    stop();
  }
  void request(std::size_t worker) { workers_[worker].send(Work{requested_++}); }
  Outcome& outcome_;
  std::size_t digits_;
  FixedPoint sum_;
  std::vector<actor<Work, Stop>> workers_;
  std::uint32_t requested_ = 0, received_ = 0;
  std::size_t stopped_ = 0;
  bool is_enough_ = false;
};

void iterate(Iteration& it) {
  Outcome outcome;
  it.measure([&] { spawn<Master>(outcome, it).send(Begin{}); });
  it.verify([&] {
    const std::string expected = reference::pi_digits(it["p"]);
    const auto differing = std::mismatch(expected.begin(), expected.end(), outcome.digits.begin()).first;
    it.expect_that("pi has other digits",
                   static_cast<std::size_t>(differing - expected.begin()) >= it["p"] - kInexact);
    it.expect_actors(it["w"] + 1);
    it.expect_messages(2 * outcome.terms + 2 * it["w"] + 1);
  });
}

constexpr Parameter kParameters[] = {{"p", 5'000, 200, 20, 100'000}, {"w", 20, 5, 1, 10'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"piprecision", "parallelism", "digits of pi, a term of its series a message",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::pi
