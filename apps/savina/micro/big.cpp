// Every actor asks others at random and answers all: messages from everywhere to everywhere.
// SPDX-License-Identifier: MIT
#include <memory>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::big {
namespace {

struct Ping {
  std::uint32_t from;
};
struct Pong {
  std::uint32_t from;
};
struct Exit {};
using Worker = actor<Ping, Pong, Exit>;
struct Neighbors {
  std::shared_ptr<const std::vector<Worker>> all;
};
using Asker = actor<Ping, Pong, Exit, Neighbors>;
struct Done {};

struct Result {
  std::uint64_t pings = 0, wrong_pongs = 0, put_aside = 0;
};

struct Sink : behavior<Done, Neighbors> {
  explicit Sink(std::uint64_t workers) : left_(workers) {}
  void on(Neighbors neighbors) { all_ = std::move(neighbors.all); }
  void on(Done) {
    if (--left_ != 0) return;
    for (const Worker& worker : *all_) worker.send(Exit{});
    stop();
  }
  std::uint64_t left_;
  std::shared_ptr<const std::vector<Worker>> all_;
};

struct Member : behavior<Ping, Pong, Exit, Neighbors> {
  static constexpr std::uint32_t kNone = ~0u;
  Member(Result& result, actor<Done> sink, std::uint32_t number, std::uint64_t pings, std::uint64_t seed)
      : result_(result), sink_(sink), number_(number), left_(pings), random_(number + seed) {}
  void on(Neighbors neighbors) {
    all_ = std::move(neighbors.all);
    unstash_all();
  }
  /// Ping of a neighbour, which may come before this member knows its own neighbours.
  void on(Ping ping) {
    if (!all_) {
      ++put_aside_;
      return stash(ping);
    }
    ++pings_;
    (*all_)[ping.from].send(Pong{number_});
  }
  void on(Pong pong) {
    if (pong.from != asked_) ++wrong_pongs_;
    if (left_ == 0) return sink_.send(Done{});
    --left_;
    asked_ = random_.below(static_cast<std::uint32_t>(all_->size()));
    (*all_)[asked_].send(Ping{number_});
  }
  void on(Exit) {
    result_ = {pings_, wrong_pongs_, put_aside_};
    stop();
  }
  Result& result_;
  actor<Done> sink_;
  std::uint32_t number_;
  std::uint64_t left_;
  SuiteRandom random_;
  std::uint32_t asked_ = kNone;
  std::uint64_t pings_ = 0, wrong_pongs_ = 0, put_aside_ = 0;
  std::shared_ptr<const std::vector<Worker>> all_;
};

void iterate(Iteration& it) {
  const std::uint64_t pings = it["n"], workers = it["w"];
  std::vector<Result> results(workers);
  it.measure([&] {
    const auto sink = spawn<Sink>(workers);
    std::vector<Asker> members;
    for (std::uint32_t i = 0; i < workers; ++i)
      members.push_back(spawn<Member>(results[i], sink, i, pings, it.seed()));
    const auto all = std::make_shared<const std::vector<Worker>>(members.begin(), members.end());
    sink.send(Neighbors{all});
    for (const Asker& member : members) member.send(Neighbors{all});
    for (const Asker& member : members) member.send(Pong{Member::kNone});
  });
  it.verify([&] {
    std::uint64_t handled = 0, put_aside = 0;
    for (const Result& result : results) {
      handled += result.pings;
      put_aside += result.put_aside;
      it.expect("pongs that were not asked for", result.wrong_pongs, 0);
    }
    it.expect("pings", handled, pings * workers);
    it.expect_actors(workers + 1);
    it.expect_messages(2 * pings * workers + 4 * workers + 1 + put_aside);
  });
}

constexpr Parameter kParameters[] = {{"n", 20'000, 50, 0}, {"w", 120, 30}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"big", "micro", "every actor asks others at random", kParameters, iterate};

}  // namespace rubato::apps::savina::big
