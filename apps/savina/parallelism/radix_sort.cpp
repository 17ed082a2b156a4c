// Radix sort: numbers pass a chain of actors, one for each bit.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::radix_sort {
namespace {

constexpr unsigned kBits = 60;  // the suite's largest value is 2^60

struct Value {
  std::uint64_t value;
};
struct Begin {
  actor<Value> first;
};

struct Source : behavior<Begin> {
  Source(std::uint64_t count, std::uint64_t seed) : count_(count), random_(seed) {}
  void on(Begin begin) {
    for (std::uint64_t i = 0; i < count_; ++i) begin.first.send(Value{random_.next()});
    stop();
  }
  std::uint64_t count_;
  SuiteRandom random_;
};

struct Sorter : behavior<Value> {
  Sorter(std::uint64_t count, unsigned bit, actor<Value> next) : left_(count), bit_(bit), next_(next) {
    ones_.reserve(count);
  }
  void on(Value value) {
    if ((value.value >> bit_ & 1) == 0) {
      next_.send(value);
    } else {
      ones_.push_back(value.value);
    }
    if (--left_ != 0) return;
    for (const std::uint64_t one : ones_) next_.send(Value{one});
    stop();
  }
  std::uint64_t left_;
  unsigned bit_;
  actor<Value> next_;
  std::vector<std::uint64_t> ones_;
};

struct Sink : behavior<Value> {
  Sink(std::vector<std::uint64_t>& result, std::uint64_t count) : result_(result), left_(count) {
    result_.reserve(count);
  }
  void on(Value value) {
    result_.push_back(value.value);
    if (--left_ == 0) stop();
  }
  std::vector<std::uint64_t>& result_;
  std::uint64_t left_;
};

void iterate(Iteration& it) {
  const std::uint64_t count = it["n"], seed = it["s"] + it.seed();
  std::vector<std::uint64_t> sorted;
  it.measure([&] {
    actor<Value> next = spawn<Sink>(sorted, count);
    for (unsigned bit = kBits; bit-- > 0;) next = spawn<Sorter>(count, bit, next);
    spawn<Source>(count, seed).send(Begin{next});
  });
  it.verify([&] {
    SuiteRandom random(seed);
    std::vector<std::uint64_t> expected(count);
    for (std::uint64_t& value : expected) value = random.next();
    std::sort(expected.begin(), expected.end());
    it.expect_that("the numbers are not those that were sent, in order", sorted == expected);
    it.expect_actors(kBits + 2);
    it.expect_messages((kBits + 1) * count + 1);
  });
}

constexpr Parameter kParameters[] = {{"n", 100'000, 200}, {"s", 2'048, 2'048, 0}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"radixsort", "parallelism", "numbers pass a chain of actors, one for each bit",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::radix_sort
