// Small transactions, for bench/tm: the cost of begin, commit and a barrier alone, and structures of keys
// (T68).
//   bench_tm_structures ROW [--threads N] [--set NAME=VALUE] [--json]
// Every thread runs all `transactions`, so that seconds / transactions is the time of one, and should not
// grow.
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/stamp/common/program.hpp"
#include "apps/stamp/structure/hash_table.hpp"
#include "apps/stamp/structure/list.hpp"
#include "apps/stamp/structure/queue.hpp"
#include "apps/stamp/structure/red_black_tree.hpp"
#include "base/rng.hpp"

namespace rubato::apps::stamp {
namespace {

struct alignas(64) Line {
  std::uint64_t words[8];
};

std::string difference(const char* what, std::uint64_t found, std::uint64_t expected) {
  return found == expected
             ? ""
             : std::string(what) + ": " + std::to_string(found) + ", expected " + std::to_string(expected);
}

/// Each thread adds to a counter: its own, or with `is_shared` the same.
class Counters final : public Program {
 public:
  Counters(const Settings& settings, bool is_shared)
      : transactions_(settings["transactions"]), is_shared_(is_shared), lines_(settings.threads) {}
  void work(Worker& worker) override {
    std::uint64_t& counter = lines_[is_shared_ ? 0 : worker.index()].words[0];
    for (std::uint64_t i = 0; i < transactions_; ++i) {
      __transaction_atomic { ++counter; }
    }
  }
  std::string check() override {
    return difference("the counters' sum", digest(), transactions_ * lines_.size());
  }
  std::uint64_t digest() override {
    std::uint64_t sum = 0;
    for (const Line& line : lines_) sum += line.words[0];
    return sum;
  }

 private:
  std::uint64_t transactions_;
  bool is_shared_;
  std::vector<Line> lines_;
};

/// Eight loads of the thread's own line, no store.
class Loads final : public Program {
 public:
  explicit Loads(const Settings& settings)
      : transactions_(settings["transactions"]),
        lines_(settings.threads, Line{{1, 2, 3, 4, 5, 6, 7, 8}}),
        sums_(lines_) {}
  void work(Worker& worker) override {
    const std::uint64_t* const words = lines_[worker.index()].words;
    std::uint64_t all = 0;
    for (std::uint64_t i = 0; i < transactions_; ++i) {
      std::uint64_t sum = 0;
      __transaction_atomic {
        sum = words[0] + words[1] + words[2] + words[3] + words[4] + words[5] + words[6] + words[7];
      }
      all += sum;
    }
    sums_[worker.index()].words[0] = all;
  }
  std::string check() override {
    return difference("the loads' sum", digest(), 36 * transactions_ * lines_.size());
  }
  std::uint64_t digest() override {
    std::uint64_t sum = 0;
    for (const Line& line : sums_) sum += line.words[0];
    return sum;
  }

 private:
  std::uint64_t transactions_;
  std::vector<Line> lines_, sums_;
};

/// The first thread's short transactions beside the others' long ones, each `long` steps over their own
/// memory; with atomic=0 the others do the same outside of transactions.
class Beside final : public Program {
 public:
  explicit Beside(const Settings& settings)
      : transactions_(settings["transactions"]),
        steps_(settings["long"]),
        is_atomic_(settings["atomic"] != 0),
        lines_(settings.threads) {}
  void work(Worker& worker) override {
    Line& line = lines_[worker.index()];
    if (worker.is_first()) {
      for (std::uint64_t i = 0; i < transactions_; ++i) {
        __transaction_atomic { ++line.words[0]; }
      }
      is_over_.store(true, std::memory_order_relaxed);
      return;
    }
    while (!is_over_.load(std::memory_order_relaxed)) {
      if (is_atomic_) {
        __transaction_atomic { walk(line.words, steps_); }
      } else {
        walk(line.words, steps_);
      }
    }
  }
  std::string check() override { return difference("the counter", digest(), transactions_); }
  std::uint64_t digest() override { return lines_[0].words[0]; }

 private:
  [[gnu::transaction_safe]] static void walk(std::uint64_t* words, std::uint64_t steps) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < steps; ++i) sum = sum * 3 + words[1 + i % 6];
    words[7] = sum;
  }
  std::uint64_t transactions_, steps_;
  bool is_atomic_;
  std::atomic<bool> is_over_ = false;
  std::vector<Line> lines_;
};

struct MixHash {
  static std::uint64_t of(std::uint64_t key) { return mix64(key); }
};

/// A map of which half the keys are there at first: lookups, and as many insertions as removals.
template <class Map>
class Keys final : public Program {
 public:
  template <class... Arguments>
  explicit Keys(const Settings& settings, Arguments... arguments)
      : transactions_(settings["transactions"]),
        keys_(settings["keys"]),
        lookups_(settings["lookups"]),
        seed_(settings.seed),
        map_(arguments...),
        balance_(settings.threads) {
    for (std::uint64_t key = 0; key < keys_; key += 2) map_.insert(key, key);
  }
  void work(Worker& worker) override {
    Rng rng(mix64(seed_) + worker.index());
    std::uint64_t found = 0, balance = 0;
    for (std::uint64_t i = 0; i < transactions_; ++i) {
      const std::uint64_t key = rng.below(keys_);
      const std::uint64_t action = rng.below(200);
      bool is_done = false;
      if (action < 2 * lookups_) {
        __transaction_atomic { is_done = map_.find(key) != nullptr; }
        found += is_done;
      } else if (action % 2 == 0) {
        __transaction_atomic { is_done = map_.insert(key, key); }
        balance += is_done;
      } else {
        __transaction_atomic { is_done = map_.remove(key); }
        balance -= is_done;
      }
    }
    balance_[worker.index()] = {{balance, found}};
  }
  std::string check() override {
    std::uint64_t expected = (keys_ + 1) / 2, there = 0;
    for (const Line& line : balance_) expected += line.words[0];
    for (std::uint64_t key = 0; key < keys_; ++key) there += map_.find(key) != nullptr;
    return difference("keys", there, expected);
  }
  std::uint64_t digest() override {
    std::uint64_t hash = 0;
    for (std::uint64_t key = 0; key < keys_; ++key) hash = mix64(hash ^ (map_.find(key) != nullptr));
    return hash;
  }

 private:
  std::uint64_t transactions_, keys_, lookups_, seed_;
  Map map_;
  std::vector<Line> balance_;
};

/// Money is moved between two accounts; each hundredth transaction adds up all of them.
class Bank final : public Program {
 public:
  explicit Bank(const Settings& settings)
      : transactions_(settings["transactions"]),
        seed_(settings.seed),
        accounts_(settings["keys"], kFirst),
        wrong_audits_(settings.threads) {}
  void work(Worker& worker) override {
    Rng rng(mix64(seed_) + worker.index());
    for (std::uint64_t i = 0; i < transactions_; ++i) {
      if (i % 100 == 99) {
        wrong_audits_[worker.index()].words[0] += audit() != kFirst * accounts_.size();
      } else {
        move(rng.below(accounts_.size()), rng.below(accounts_.size()), rng.below(10));
      }
    }
  }
  std::string check() override {
    std::uint64_t wrong = audit() != kFirst * accounts_.size();
    for (const Line& line : wrong_audits_) wrong += line.words[0];
    return difference("wrong audits", wrong, 0);
  }
  std::uint64_t digest() override {
    std::uint64_t hash = 0;
    for (const std::uint64_t account : accounts_) hash = mix64(hash ^ account);
    return hash;
  }

 private:
  static constexpr std::uint64_t kFirst = 1'000'000'000;
  std::uint64_t audit() const {
    const std::uint64_t* const accounts = accounts_.data();
    const std::uint64_t count = accounts_.size();
    std::uint64_t sum = 0;
    __transaction_atomic {
      sum = 0;
      for (std::uint64_t i = 0; i < count; ++i) sum += accounts[i];
    }
    return sum;
  }
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t amount) {
    std::uint64_t* const accounts = accounts_.data();
    __transaction_atomic {
      accounts[from] -= amount;
      accounts[to] += amount;
    }
  }

  std::uint64_t transactions_, seed_;
  std::vector<std::uint64_t> accounts_;
  std::vector<Line> wrong_audits_;
};

/// Records go through a queue: the thread that takes one reads it and frees it outside of transactions, since
/// it is private then.
class Privatizing final : public Program {
 public:
  explicit Privatizing(const Settings& settings)
      : transactions_(settings["transactions"]), sums_(settings.threads), queue_(1'024) {}
  void work(Worker& worker) override {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < transactions_; ++i) {
      auto* const mine = new Line{{i, i, i, i, i, i, i, i}};
      Line* taken = nullptr;
      __transaction_atomic {
        queue_.push(mine);
        queue_.pop(taken);
      }
      for (const std::uint64_t word : taken->words) sum += word;
      delete taken;
    }
    sums_[worker.index()].words[0] = sum;
  }
  std::string check() override {
    return difference("the records' sum", digest(), 4 * transactions_ * (transactions_ - 1) * sums_.size());
  }
  std::uint64_t digest() override {
    std::uint64_t sum = 0;
    for (const Line& line : sums_) sum += line.words[0];
    return sum;
  }

 private:
  std::uint64_t transactions_;
  std::vector<Line> sums_;
  alignas(64) Queue<Line*> queue_;
};

/// Records of `keys` words are copied from one place to another, by the library's copies.
class Records final : public Program {
 public:
  explicit Records(const Settings& settings)
      : transactions_(settings["transactions"]),
        words_(settings["keys"]),
        seed_(settings.seed),
        records_(kRecords * words_) {
    for (std::uint64_t r = 0; r < kRecords; ++r) {
      for (std::uint64_t i = 0; i < words_; ++i) records_[r * words_ + i] = r;
    }
  }
  void work(Worker& worker) override {
    Rng rng(mix64(seed_) + worker.index());
    for (std::uint64_t i = 0; i < transactions_; ++i) {
      std::uint64_t* const from = &records_[rng.below(kRecords) * words_];
      std::uint64_t* const to = &records_[rng.below(kRecords) * words_];
      if (from == to) continue;
      const std::uint64_t bytes = words_ * sizeof(std::uint64_t);
      __transaction_atomic { std::memcpy(to, from, bytes); }
    }
  }
  /// A record that is part of one and part of another has been torn.
  std::string check() override {
    std::uint64_t torn = 0;
    for (std::uint64_t r = 0; r < kRecords; ++r) {
      for (std::uint64_t i = 1; i < words_; ++i) torn += records_[r * words_ + i] != records_[r * words_];
    }
    return difference("torn words", torn, 0);
  }
  std::uint64_t digest() override {
    std::uint64_t hash = 0;
    for (std::uint64_t r = 0; r < kRecords; ++r) hash = mix64(hash ^ records_[r * words_]);
    return hash;
  }

 private:
  static constexpr std::uint64_t kRecords = 256;
  std::uint64_t transactions_, words_, seed_;
  std::vector<std::uint64_t> records_;
};

template <class T, auto... arguments>
std::unique_ptr<Program> make(const Settings& settings) {
  return std::make_unique<T>(settings, arguments...);
}
using Tree = Keys<RedBlackTree<std::uint64_t, std::uint64_t>>;
using SortedList = Keys<List<std::uint64_t, std::uint64_t>>;
using Table = Keys<HashTable<std::uint64_t, std::uint64_t, MixHash>>;

Parameter transactions(std::uint64_t normal) {
  return {"transactions", normal, normal / 100, 1, 1'000'000'000'000, "transactions of each thread"};
}
Parameter keys(std::uint64_t normal, const char* summary) {
  return {"keys", normal, normal, 1, 100'000'000, summary};
}
Parameter lookups() {
  return {"lookups", 90, 90, 0, 100, "percentage of transactions that only look a key up"};
}

const std::array kRows{
    Description{
        "private", "Each thread adds to its own counter.", {transactions(10'000'000)}, make<Counters, false>},
    Description{"shared", "All threads add to one counter.", {transactions(2'000'000)}, make<Counters, true>},
    Description{"loads", "Eight loads.", {transactions(5'000'000)}, make<Loads>},
    Description{"beside",
                "Short transactions of the first thread beside long ones.",
                {transactions(50'000),
                 {"long", 20'000, 20'000, 1, 1'000'000'000, "loads of a long transaction"},
                 {"atomic", 1, 1, 0, 1, "0: the others run no transactions"}},
                make<Beside>},
    Description{"tree",
                "A red-black tree.",
                {transactions(1'000'000), keys(65'536, "keys, half of them there"), lookups()},
                make<Tree>},
    Description{"list",
                "A sorted list.",
                {transactions(500'000), keys(256, "keys, half of them there"), lookups()},
                make<SortedList>},
    Description{"hash",
                "A table of lists.",
                {transactions(2'000'000), keys(65'536, "keys, half of them there"), lookups()},
                make<Table, std::uint64_t{32'768}>},
    Description{
        "bank", "Transfers and audits.", {transactions(1'000'000), keys(1'024, "accounts")}, make<Bank>},
    Description{"queue", "Records that become private.", {transactions(2'000'000)}, make<Privatizing>},
    Description{"records",
                "Copies of records.",
                {transactions(1'000'000), keys(64, "words of a record")},
                make<Records>},
};

int run_row(std::string_view name, int argc, char** argv) {
  std::string known;
  for (const Description& row : kRows) {
    if (name == row.name) return run(row, argc, argv);
    known += std::string(known.empty() ? "" : ", ") + row.name;
  }
  std::fprintf(stderr, "bench_tm_structures: the first argument is one of %s\n", known.c_str());
  return 2;
}

}  // namespace
}  // namespace rubato::apps::stamp

int main(int argc, char** argv) {
  return rubato::apps::stamp::run_row(argc > 1 ? argv[1] : "", argc - 1, argv + 1);
}
