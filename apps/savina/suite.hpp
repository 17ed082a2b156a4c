// Common part of the benchmarks: their description, and one iteration of one, which measures it and collects
// errors. The list of all is in suite.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato::apps::savina {

struct Parameter {
  const char* name;
  std::uint64_t value;  ///< the suite's default
  std::uint64_t small;  ///< with --small
  std::uint64_t least = 1;
  std::uint64_t most = 100'000'000;
};

class Iteration;

struct Benchmark {
  const char* name;
  const char* group;  ///< micro, concurrency, parallelism
  const char* summary;
  std::span<const Parameter> parameters;
  void (*iterate)(Iteration&);
};

/// All, in the order of the publication.
std::span<const Benchmark* const> benchmarks();
/// Null if there is none of that name.
const Benchmark* find_benchmark(std::string_view name);

class Iteration {
 public:
  /// `values`: one a parameter. `seed` is added to all seeds of the suite.
  Iteration(const Benchmark& benchmark, std::span<const std::uint64_t> values, std::uint64_t seed,
            bool is_verified)
      : benchmark_(benchmark), values_(values), seed_(seed), is_verified_(is_verified) {}

  /// The value of a parameter; of one that the benchmark has.
  std::uint64_t operator[](std::string_view name) const;
  std::uint64_t seed() const { return seed_; }

  /// Times the actors that `start` spawns until all of them have ended.
  template <class F>
  void measure(F&& start) {
    const ActorCounters before = actor_counters();
    const auto began = std::chrono::steady_clock::now();
    start();
    rubato::run();
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    count(before);
  }

  /// `check` is called only with --verify, after the measurement.
  template <class F>
  void verify(F&& check) {
    if (is_verified_) check();
  }
  template <class A, class B>
  void expect(const char* what, const A& found, const B& expected) {
    if (found == static_cast<A>(expected)) return;
    std::ostringstream text;
    text.precision(17);
    text << what << ": " << found << ", expected " << expected;
    wrong_.push_back(text.str());
  }
  void expect_near(const char* what, double found, double expected, double relative_error) {
    if (!(std::abs(found - expected) <= relative_error * std::abs(expected))) expect(what, found, expected);
  }
  void expect_that(const char* what, bool holds) {
    if (!holds) wrong_.emplace_back(what);
  }
  /// How many actors there were in all, all of which have stopped, how many messages they handled, and how
  /// many came too late.
  void expect_actors(std::uint64_t expected) { expect("actors", counted_.spawned, expected); }
  void expect_messages(std::uint64_t expected, std::uint64_t dead = 0) {
    expect("messages", counted_.messages_handled, expected);
    dead_expected_ = dead;
  }
  /// Without this, none may.
  void allow_dead_letters() { has_dead_letters_ = true; }
  /// Checks that hold at the end of every benchmark.
  void expect_end();
  /// @throws InputError: these parameters do not go together.
  [[noreturn]] void refuse(const char* sentence) const;

  double seconds() const { return seconds_; }
  std::uint64_t messages() const { return counted_.messages_handled; }
  std::uint64_t actors() const { return counted_.spawned; }
  const std::vector<std::string>& wrong() const { return wrong_; }

 private:
  void count(const ActorCounters& before);

  const Benchmark& benchmark_;
  std::span<const std::uint64_t> values_;
  std::uint64_t seed_;
  bool is_verified_;
  double seconds_ = 0;
  ActorCounters counted_;
  std::uint64_t dead_ = 0, dead_expected_ = 0;
  bool has_dead_letters_ = false;
  std::vector<std::string> wrong_;
};

}  // namespace rubato::apps::savina
