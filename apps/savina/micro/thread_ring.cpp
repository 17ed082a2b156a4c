// Actors in a ring hand on one message: turns that follow each other, never two at a time.
// SPDX-License-Identifier: MIT
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::thread_ring {
namespace {

struct Ping {
  std::uint64_t left;
};
struct Exit {
  std::uint64_t left;
};
struct Next;
using Member = actor<Ping, Exit, Next>;
struct Next {
  actor<Ping, Exit> next;
};

struct Result {
  std::uint64_t pings = 0, last = 0, put_aside = 0;  // written by one turn after the other
};

struct Actor : behavior<Ping, Exit, Next> {
  Actor(Result& result, std::uint64_t number, std::uint64_t members)
      : result_(result), number_(number), members_(members) {}
  void on(Next next) {
    next_ = next.next;
    unstash_all();
  }
  void on(Ping ping) {
    if (!next_) {
      ++result_.put_aside;
      return stash(ping);
    }
    ++result_.pings;
    if (ping.left != 0) return next_.send(Ping{ping.left - 1});
    result_.last = number_;
    next_.send(Exit{members_});
  }
  /// Goes round once; the last one goes to an actor that has stopped.
  void on(Exit exit) {
    if (exit.left != 0) next_.send(Exit{exit.left - 1});
    stop();
  }
  Result& result_;
  std::uint64_t number_, members_;
  actor<Ping, Exit> next_;
};

void iterate(Iteration& it) {
  const std::uint64_t members = it["n"], rounds = it["r"];
  Result result;
  it.measure([&] {
    std::vector<Member> ring;
    for (std::uint64_t i = 0; i < members; ++i) ring.push_back(spawn<Actor>(result, i, members));
    for (std::uint64_t i = 0; i < members; ++i) ring[i].send(Next{ring[(i + 1) % members]});
    ring[0].send(Ping{rounds});
  });
  it.verify([&] {
    it.expect("pings", result.pings, rounds + 1);
    it.expect("the last one's actor", result.last, rounds % members);
    it.expect_actors(members);
    it.expect_messages(members + rounds + 1 + members + result.put_aside, 1);
  });
}

constexpr Parameter kParameters[] = {{"n", 100, 10}, {"r", 100'000, 1'000, 0}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"threadring", "micro", "a ring of actors hands on one message", kParameters,
                          iterate};

}  // namespace rubato::apps::savina::thread_ring
