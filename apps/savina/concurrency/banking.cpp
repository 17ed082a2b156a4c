// Bank transactions: an account that has sent money takes no other order until the receiver has confirmed.
// SPDX-License-Identifier: MIT
#include <deque>
#include <limits>
#include <variant>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::banking {
namespace {

struct Transfer {
  std::uint32_t from, to;
  std::uint64_t cents;
};

/// Transfers that the teller orders, one after the other. They go from lower to higher numbers only, so that
/// no accounts wait for each other in a circle.
class Transfers {
 public:
  Transfers(std::uint64_t accounts, std::uint64_t seed)
      : random_(123'456 + seed), accounts_(static_cast<std::uint32_t>(accounts)) {}
  Transfer next() {
    const std::uint32_t from = random_.below(accounts_ / 10 * 8);
    const std::uint32_t distance = std::max(1u, random_.below(accounts_ - from));
    return {from, from + distance, static_cast<std::uint64_t>(random_.fraction() * 1000 * 100)};
  }

 private:
  SuiteRandom random_;
  std::uint32_t accounts_;
};

/// Whole cents: the suite's balances are so large that amounts vanish in them.
struct Balance {
  std::uint64_t sent = 0, received = 0;
  bool operator==(const Balance&) const = default;
};

struct Start {};
struct Stop {};
struct Confirmed {};
struct Debit {
  actor<Confirmed> from;
  std::uint64_t cents;
};
struct Credit {
  actor<Confirmed> teller;
  actor<Debit> to;
  std::uint64_t cents;
};

struct Account : behavior<Credit, Debit, Confirmed, Stop> {
  explicit Account(Balance& result) : result_(result) {}
  void on(Credit credit) { take(credit); }
  void on(Debit debit) { take(debit); }
  void on(Confirmed) {
    is_waiting_ = false;
    teller_.send(Confirmed{});
    while (!is_waiting_ && !put_aside_.empty()) {
      std::visit([this](const auto& order) { execute(order); }, put_aside_.front());
      put_aside_.pop_front();
    }
  }
  void on(Stop) {
    result_ = balance_;
    stop();
  }
  template <class Order>
  void take(const Order& order) {
    if (is_waiting_) {
      put_aside_.emplace_back(order);
    } else {
      execute(order);
    }
  }
  void execute(const Credit& credit) {
    balance_.sent += credit.cents;
    teller_ = credit.teller;
    credit.to.send(Debit{self(), credit.cents});
    is_waiting_ = true;
  }
  void execute(const Debit& debit) {
    balance_.received += debit.cents;
    debit.from.send(Confirmed{});
  }
  Balance& result_;
  Balance balance_;
  actor<Confirmed> teller_;
  bool is_waiting_ = false;
  std::deque<std::variant<Credit, Debit>> put_aside_;
};

struct Teller : behavior<Start, Confirmed> {
  Teller(std::vector<Balance>& balances, std::uint64_t transfers, std::uint64_t seed)
      : transfers_(balances.size(), seed), count_(transfers), left_(transfers) {
    for (Balance& balance : balances) accounts_.push_back(spawn<Account>(balance));
  }
  void on(Start) {
    for (std::uint64_t i = 0; i < count_; ++i) {
      const Transfer transfer = transfers_.next();
      accounts_[transfer.from].send(Credit{self(), accounts_[transfer.to], transfer.cents});
    }
  }
  void on(Confirmed) {
    if (--left_ != 0) return;
    for (const auto account : accounts_) account.send(Stop{});
    stop();
  }
  Transfers transfers_;
  std::uint64_t count_, left_;
  std::vector<actor<Credit, Debit, Stop>> accounts_;
};

void iterate(Iteration& it) {
  const std::uint64_t accounts = it["a"], transfers = it["n"];
  std::vector<Balance> balances(accounts);
  it.measure([&] { spawn<Teller>(balances, transfers, it.seed()).send(Start{}); });
  it.verify([&] {
    std::vector<Balance> expected(accounts);
    Transfers generated(accounts, it.seed());
    for (std::uint64_t i = 0; i < transfers; ++i) {
      const Transfer transfer = generated.next();
      expected[transfer.from].sent += transfer.cents;
      expected[transfer.to].received += transfer.cents;
    }
    for (std::size_t i = 0; i < accounts; ++i) {
      it.expect("cents sent by an account", balances[i].sent, expected[i].sent);
      it.expect("cents received by an account", balances[i].received, expected[i].received);
    }
    it.expect_actors(accounts + 1);
    it.expect_messages(4 * transfers + accounts + 1);
  });
}

constexpr Parameter kParameters[] = {{"a", 1'000, 20, 10}, {"n", 50'000, 500}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"banking", "concurrency",
                          "transfers between accounts, which wait for confirmations", kParameters, iterate};

}  // namespace rubato::apps::savina::banking
