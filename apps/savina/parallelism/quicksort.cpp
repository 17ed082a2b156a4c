// Quicksort: an actor for each fragment, which travels in messages.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::quicksort {
namespace {

using Numbers = std::vector<std::uint64_t>;

struct Sort {
  Numbers numbers;
};
struct Sorted {
  Numbers numbers;
  bool is_left;
};

struct Fragment : behavior<Sort, Sorted> {
  /// For the whole `parent` is empty.
  Fragment(Numbers& result, actor<Sorted> parent, bool is_left, std::uint64_t threshold)
      : result_(result), parent_(parent), is_left_(is_left), threshold_(threshold) {}
  void on(Sort sort) {
    Numbers& all = sort.numbers;
    if (all.size() < threshold_) {
      std::sort(all.begin(), all.end());
      own_ = std::move(all);
      return end();
    }
    const std::uint64_t pivot = all[all.size() / 2];
    Numbers smaller, larger;
    for (const std::uint64_t number : all) {
      if (number == pivot) {
        own_.push_back(number);
      } else {
        (number < pivot ? smaller : larger).push_back(number);
      }
    }
    spawn<Fragment>(result_, self(), true, threshold_).send(Sort{std::move(smaller)});
    spawn<Fragment>(result_, self(), false, threshold_).send(Sort{std::move(larger)});
  }
  void on(Sorted sorted) {
    Numbers& first = sorted.is_left ? sorted.numbers : own_;
    const Numbers& second = sorted.is_left ? own_ : sorted.numbers;
    first.insert(first.end(), second.begin(), second.end());
    if (sorted.is_left) own_ = std::move(first);
    if (++parts_ == 2) end();
  }
  void end() {
    if (parent_) {
      parent_.send(Sorted{std::move(own_), is_left_});
    } else {
      result_ = std::move(own_);
    }
    stop();
  }
  Numbers& result_;
  actor<Sorted> parent_;
  bool is_left_;
  std::uint64_t threshold_;
  Numbers own_;
  unsigned parts_ = 0;
};

void iterate(Iteration& it) {
  SuiteRandom random(it["s"] + it.seed());
  Numbers input(it["n"]);
  for (std::uint64_t& number : input) number = random.next();
  Numbers sorted;
  it.measure([&] { spawn<Fragment>(sorted, actor<Sorted>(), true, it["t"]).send(Sort{input}); });
  it.verify([&] {
    std::sort(input.begin(), input.end());
    it.expect_that("the numbers are not those that were given, in order", sorted == input);
    it.expect_messages(2 * it.actors() - 1);
  });
}

constexpr Parameter kParameters[] = {{"n", 1'000'000, 2'000}, {"t", 2'048, 64}, {"s", 1'024, 1'024, 0}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"quicksort", "parallelism", "an actor for each fragment, which travels in messages",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::quicksort
