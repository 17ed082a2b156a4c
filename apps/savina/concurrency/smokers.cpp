// Cigarette smokers: an arbiter lets one smoker after the other begin, by chance.
// SPDX-License-Identifier: MIT
#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::smokers {
namespace {

struct Start {};
struct Started {
  std::uint32_t smoker;
};
struct Smoke {
  std::uint32_t steps;
};
struct Exit {};

using Order = std::vector<std::uint32_t>;

/// Random choices: the next smoker, and how long smoking takes.
class Choices {
 public:
  explicit Choices(const Iteration& it)
      : random_(it["r"] * it["s"] + it.seed()), smokers_(static_cast<std::uint32_t>(it["s"])) {}
  std::uint32_t smoker() { return random_.below(smokers_); }
  std::uint32_t steps() { return random_.below(1000) + 10; }

 private:
  SuiteRandom random_;
  std::uint32_t smokers_;
};

struct Smoker : behavior<Smoke, Exit> {
  Smoker(actor<Started> arbiter, std::uint32_t number) : arbiter_(arbiter), number_(number), busy_(number) {}
  void on(Smoke smoke) {
    arbiter_.send(Started{number_});
    kept_ += work(busy_, smoke.steps);
  }
  void on(Exit) { stop(); }
  actor<Started> arbiter_;
  std::uint32_t number_, kept_ = 0;
  SuiteRandom busy_;
};

struct Arbiter : behavior<Start, Started> {
  Arbiter(Order& order, const Iteration& it) : order_(order), choices_(it), left_(it["r"]) {
    for (std::uint32_t i = 0; i < it["s"]; ++i) smokers_.push_back(spawn<Smoker>(self(), i));
  }
  void on(Start) { choose(); }
  void on(Started started) {
    order_.push_back(started.smoker);
    if (--left_ != 0) return choose();
    for (const auto smoker : smokers_) smoker.send(Exit{});
    stop();
  }
  void choose() {
    const std::uint32_t smoker = choices_.smoker();
    smokers_[smoker].send(Smoke{choices_.steps()});
  }
  Order& order_;
  Choices choices_;
  std::uint64_t left_;
  std::vector<actor<Smoke, Exit>> smokers_;
};

void iterate(Iteration& it) {
  Order order;
  it.measure([&] { spawn<Arbiter>(order, it).send(Start{}); });
  it.verify([&] {
    it.expect("rounds", order.size(), it["r"]);
    Choices choices(it);
    bool is_same = true;
    for (const std::uint32_t smoker : order) {
      is_same = is_same && smoker == choices.smoker();
      choices.steps();
    }
    it.expect_that("the smokers were not those that were chosen", is_same);
    it.expect_actors(it["s"] + 1);
    it.expect_messages(2 * it["r"] + it["s"] + 1);
  });
}

constexpr Parameter kParameters[] = {{"r", 1'000, 100}, {"s", 200, 20}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"cigsmok", "concurrency", "an arbiter lets one smoker after the other begin",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::smokers
