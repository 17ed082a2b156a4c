// Sleeping barber: a factory of customers, a waiting room of bounded size, a barber. A customer that finds
// the room full comes again at once.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <deque>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::barber {
namespace {

struct Start {};
struct Done {};
struct Full {};
struct Wait {};
struct Next {};
struct Exit {};
using Customer = actor<Full, Wait, Start, Done>;
struct Enter {
  Customer customer;
};
struct Returned {
  Customer customer;
};

struct Result {
  std::uint64_t haircuts = 0, served = 0;
  std::size_t most_waiting = 0;
};

struct ServeFor {
  Customer customer;
  actor<Next> room;
};

struct BarberActor : behavior<ServeFor, Wait, Exit> {
  BarberActor(Result& result, std::uint64_t rate, std::uint64_t seed)
      : result_(result), rate_(static_cast<std::uint32_t>(rate)), random_(seed), busy_(seed) {}
  void on(ServeFor serve) {
    serve.customer.send(Start{});
    kept_ += work(busy_, random_.below(rate_) + 10);
    ++served_;
    serve.customer.send(Done{});
    serve.room.send(Next{});
  }
  void on(Wait) {}
  void on(Exit) {
    result_.served = served_;
    stop();
  }
  Result& result_;
  std::uint32_t rate_;
  std::uint64_t served_ = 0;
  SuiteRandom random_, busy_;
  std::uint32_t kept_ = 0;
};

struct Room : behavior<Enter, Next, Exit> {
  Room(Result& result, actor<ServeFor, Wait, Exit> barber, std::uint64_t capacity)
      : result_(result), barber_(barber), capacity_(capacity) {}
  void on(Enter enter) {
    if (waiting_.size() == capacity_) return enter.customer.send(Full{});
    waiting_.push_back(enter.customer);
    most_ = std::max(most_, waiting_.size());
    if (!is_barber_asleep_) return enter.customer.send(Wait{});
    is_barber_asleep_ = false;
    self().send(Next{});
  }
  void on(Next) {
    if (waiting_.empty()) {
      barber_.send(Wait{});
      is_barber_asleep_ = true;
      return;
    }
    barber_.send(ServeFor{waiting_.front(), self()});
    waiting_.pop_front();
  }
  void on(Exit) {
    barber_.send(Exit{});
    result_.most_waiting = most_;
    stop();
  }
  Result& result_;
  actor<ServeFor, Wait, Exit> barber_;
  std::size_t capacity_, most_ = 0;
  bool is_barber_asleep_ = true;
  std::deque<Customer> waiting_;
};

struct CustomerActor : behavior<Full, Wait, Start, Done> {
  explicit CustomerActor(actor<Returned, Done> factory) : factory_(factory) {}
  void on(Full) { factory_.send(Returned{self()}); }
  void on(Wait) {}
  void on(Start) {}
  void on(Done) {
    factory_.send(Done{});
    stop();
  }
  actor<Returned, Done> factory_;
};

struct Factory : behavior<Start, Returned, Done> {
  Factory(Result& result, actor<Enter, Exit> room, std::uint64_t customers, std::uint64_t rate,
          std::uint64_t seed)
      : result_(result),
        room_(room),
        customers_(customers),
        rate_(static_cast<std::uint32_t>(rate)),
        random_(seed),
        busy_(seed) {}
  void on(Start) {
    for (std::uint64_t i = 0; i < customers_; ++i) {
      room_.send(Enter{spawn<CustomerActor>(self())});
      kept_ += work(busy_, random_.below(rate_) + 10);
    }
  }
  void on(Returned returned) { room_.send(Enter{returned.customer}); }
  void on(Done) {
    if (++haircuts_ != customers_) return;
    result_.haircuts = haircuts_;
    room_.send(Exit{});
    stop();
  }
  Result& result_;
  actor<Enter, Exit> room_;
  std::uint64_t customers_, haircuts_ = 0;
  std::uint32_t rate_, kept_ = 0;
  SuiteRandom random_, busy_;
};

constexpr std::uint64_t kSeed = 74'755;  // the suite's, where a program gives none

void iterate(Iteration& it) {
  const std::uint64_t seed = kSeed + it.seed();
  Result result;
  it.measure([&] {
    const auto barber = spawn<BarberActor>(result, it["ahr"], seed);
    const auto room = spawn<Room>(result, barber, it["w"]);
    spawn<Factory>(result, room, it["n"], it["apr"], seed).send(Start{});
  });
  // "Wait" of the room may arrive after "done" of the barber: different senders.
  it.allow_dead_letters();
  it.verify([&] {
    it.expect("haircuts", result.haircuts, it["n"]);
    it.expect("customers served", result.served, it["n"]);
    it.expect_that("more waited than the room holds", result.most_waiting <= it["w"]);
    it.expect_actors(it["n"] + 3);
  });
}

constexpr Parameter kParameters[] = {
    {"n", 5'000, 200}, {"w", 1'000, 20}, {"apr", 1'000, 50}, {"ahr", 1'000, 50}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"barber", "concurrency", "sleeping barber: customers, a waiting room, a barber",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::barber
