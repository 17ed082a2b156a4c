// Dining philosophers: actors that ask one arbitrator for both forks, again and again until they get them.
// SPDX-License-Identifier: MIT
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::philosophers {
namespace {

struct Start {};
struct Eat {};
struct Denied {};
using Philosopher = actor<Start, Eat, Denied>;
struct Hungry {
  Philosopher who;
  std::uint64_t seat;
};
struct Done {
  std::uint64_t seat;
};
struct Exit {};

struct Result {
  std::vector<std::uint64_t> meals{};
  std::uint64_t denials = 0;
  std::uint64_t wrong_forks = 0;
};

struct Arbitrator : behavior<Hungry, Done, Exit> {
  Arbitrator(Result& result, std::uint64_t seats) : result_(result), taken_(seats, false), left_(seats) {}
  void on(Hungry hungry) {
    const std::size_t left = hungry.seat, right = (hungry.seat + 1) % taken_.size();
    if (taken_[left] || taken_[right]) {
      ++result_.denials;
      return hungry.who.send(Denied{});
    }
    taken_[left] = taken_[right] = true;
    ++result_.meals[hungry.seat];
    hungry.who.send(Eat{});
  }
  void on(Done done) {
    const std::size_t left = done.seat, right = (done.seat + 1) % taken_.size();
    if (!taken_[left] || !taken_[right]) ++result_.wrong_forks;
    taken_[left] = taken_[right] = false;
  }
  void on(Exit) {
    if (--left_ == 0) stop();
  }
  Result& result_;
  std::vector<bool> taken_;
  std::uint64_t left_;
};

struct PhilosopherActor : behavior<Start, Eat, Denied> {
  PhilosopherActor(actor<Hungry, Done, Exit> arbitrator, std::uint64_t seat, std::uint64_t rounds)
      : arbitrator_(arbitrator), seat_(seat), left_(rounds) {}
  void on(Start) { arbitrator_.send(Hungry{self(), seat_}); }
  void on(Denied) { arbitrator_.send(Hungry{self(), seat_}); }
  void on(Eat) {
    arbitrator_.send(Done{seat_});
    if (--left_ != 0) return self().send(Start{});
    arbitrator_.send(Exit{});
    stop();
  }
  actor<Hungry, Done, Exit> arbitrator_;
  std::uint64_t seat_, left_;
};

void iterate(Iteration& it) {
  const std::uint64_t seats = it["n"], rounds = it["m"];
  Result result{std::vector<std::uint64_t>(seats)};
  it.measure([&] {
    const auto arbitrator = spawn<Arbitrator>(result, seats);
    std::vector<Philosopher> all;
    for (std::uint64_t i = 0; i < seats; ++i) all.push_back(spawn<PhilosopherActor>(arbitrator, i, rounds));
    for (const Philosopher philosopher : all) philosopher.send(Start{});
  });
  it.verify([&] {
    for (const std::uint64_t meals : result.meals) it.expect("meals", meals, rounds);
    it.expect("forks put back that were not taken", result.wrong_forks, 0);
    it.expect_actors(seats + 1);
    it.expect_messages(4 * seats * rounds + seats + 2 * result.denials);
  });
}

constexpr Parameter kParameters[] = {{"n", 20, 5, 2}, {"m", 10'000, 100}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"philosopher", "concurrency", "dining philosophers and an arbitrator", kParameters,
                          iterate};

}  // namespace rubato::apps::savina::philosophers
