// Sieve of Eratosthenes: candidates pass a chain of actors, each of which keeps some primes.
// SPDX-License-Identifier: MIT
#include "apps/savina/reference/reference.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::sieve {
namespace {

struct Candidate {
  std::uint64_t value;
};
struct Exit {};
using Stage = actor<Candidate, Exit>;

struct Filter : behavior<Candidate, Exit> {
  Filter(std::uint64_t& result, std::uint64_t before, std::uint64_t prime, std::size_t most)
      : result_(result), before_(before), most_(most) {
    primes_.reserve(most);
    primes_.push_back(prime);
  }
  void on(Candidate candidate) {
    for (const std::uint64_t prime : primes_) {
      if (candidate.value % prime == 0) return;
    }
    if (next_) return next_.send(candidate);
    if (primes_.size() < most_) {
      primes_.push_back(candidate.value);
    } else {
      next_ = spawn<Filter>(result_, before_ + most_, candidate.value, most_);
    }
  }
  void on(Exit) {
    if (next_) {
      next_.send(Exit{});
    } else {
      result_ = before_ + primes_.size();
    }
    stop();
  }
  std::uint64_t& result_;
  std::uint64_t before_;
  std::size_t most_;
  std::vector<std::uint64_t> primes_;
  Stage next_;
};

struct Begin {
  Stage first;
};
struct Producer : behavior<Begin> {
  explicit Producer(std::uint64_t limit) : limit_(limit) {}
  void on(Begin begin) {
    for (std::uint64_t candidate = 3; candidate < limit_; candidate += 2)
      begin.first.send(Candidate{candidate});
    begin.first.send(Exit{});
    stop();
  }
  std::uint64_t limit_;
};

void iterate(Iteration& it) {
  std::uint64_t result = 0;
  it.measure([&] {
    const Stage first = spawn<Filter>(result, 0, 2, it["m"]);
    spawn<Producer>(it["n"]).send(Begin{first});
  });
  it.verify([&] {
    const std::uint64_t primes = reference::primes_below(it["n"]);
    it.expect("primes", result, primes);
    it.expect_actors((primes + it["m"] - 1) / it["m"] + 1);
  });
}

constexpr Parameter kParameters[] = {{"n", 100'000, 3'000, 3}, {"m", 1'000, 50}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"sieve", "parallelism", "candidates pass a chain of actors that keep primes",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::sieve
