// Concurrent dictionary: some actors read and write entries of a hash map, which is one actor.
// SPDX-License-Identifier: MIT
#include <unordered_map>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::dictionary {
namespace {

using Map = std::unordered_map<std::int32_t, std::int32_t>;

struct Operation {
  bool is_write;
  std::int32_t key, value;
};

/// Operations of one worker, in its order.
class Operations {
 public:
  Operations(std::uint64_t seed, std::uint64_t write_percent, std::uint64_t entries)
      : random_(seed), write_percent_(static_cast<std::int32_t>(write_percent)), entries_(entries) {}
  Operation next() {
    const bool is_write = random_.below(100) < write_percent_;
    const auto key = static_cast<std::int32_t>(
        static_cast<std::uint64_t>(std::abs(static_cast<std::int64_t>(random_.next()))) % entries_);
    return {is_write, key, is_write ? random_.next() : 0};
  }

 private:
  JavaRandom random_;
  std::int32_t write_percent_;
  std::uint64_t entries_;
};

struct Value {
  std::int32_t value;
};
struct Read {
  actor<Value> from;
  std::int32_t key;
};
struct Write {
  actor<Value> from;
  std::int32_t key, value;
};
struct Begin {};
struct End {};

struct Result {
  Map map{};
  std::uint64_t wrong_answers = 0;
};

struct Dictionary : behavior<Read, Write, End> {
  Dictionary(Result& result, std::uint64_t entries) : result_(result) {
    map_.reserve(entries);
    for (std::uint64_t i = 0; i < entries; ++i)
      map_.emplace(static_cast<std::int32_t>(i), static_cast<std::int32_t>(i));
  }
  void on(Read read) {
    const auto found = map_.find(read.key);
    read.from.send(Value{found == map_.end() ? -1 : found->second});
  }
  void on(Write write) {
    map_[write.key] = write.value;
    write.from.send(Value{write.value});
  }
  void on(End) {
    result_.map = std::move(map_);
    stop();
  }
  Result& result_;
  Map map_;
};

struct WorkerEnd {
  std::uint64_t wrong_answers;
};

struct Worker : behavior<Begin, Value> {
  Worker(actor<WorkerEnd> master, actor<Read, Write> dictionary, Operations operations, std::uint64_t count)
      : master_(master), dictionary_(dictionary), operations_(operations), left_(count) {}
  void on(Begin) { go_on(); }
  void on(Value value) {
    if (last_.is_write && value.value != last_.value) ++wrong_answers_;
    go_on();
  }
  void go_on() {
    if (left_ == 0) {
      master_.send(WorkerEnd{wrong_answers_});
      return stop();
    }
    --left_;
    last_ = operations_.next();
    if (last_.is_write) {
      dictionary_.send(Write{self(), last_.key, last_.value});
    } else {
      dictionary_.send(Read{self(), last_.key});
    }
  }
  actor<WorkerEnd> master_;
  actor<Read, Write> dictionary_;
  Operations operations_;
  std::uint64_t left_, wrong_answers_ = 0;
  Operation last_{};
};

struct Master : behavior<WorkerEnd> {
  Master(Result& result, const Iteration& it) : result_(result), left_(it["e"]) {
    dictionary_ = spawn<Dictionary>(result, it["d"]);
    for (std::uint64_t i = 0; i < left_; ++i) {
      spawn<Worker>(self(), dictionary_, Operations(i + it["m"] + it["w"] + it.seed(), it["w"], it["d"]),
                    it["m"])
          .send(Begin{});
    }
  }
  void on(WorkerEnd end) {
    result_.wrong_answers += end.wrong_answers;
    if (--left_ != 0) return;
    dictionary_.send(End{});
    stop();
  }
  Result& result_;
  std::uint64_t left_;
  actor<Read, Write, End> dictionary_;
};

/// A key has the last value that one of its writers wrote, or its first.
void check(Iteration& it, const Result& result) {
  std::unordered_map<std::int32_t, std::vector<std::int32_t>> last_writes;
  for (std::uint64_t worker = 0; worker < it["e"]; ++worker) {
    Operations operations(worker + it["m"] + it["w"] + it.seed(), it["w"], it["d"]);
    Map own;
    for (std::uint64_t i = 0; i < it["m"]; ++i) {
      const Operation operation = operations.next();
      if (operation.is_write) own[operation.key] = operation.value;
    }
    for (const auto& [key, value] : own) last_writes[key].push_back(value);
  }
  std::uint64_t wrong = 0;
  for (const auto& [key, value] : result.map) {
    const auto writes = last_writes.find(key);
    bool is_right = writes == last_writes.end() && value == key;
    if (writes != last_writes.end())
      for (const std::int32_t written : writes->second) is_right = is_right || written == value;
    wrong += is_right ? 0 : 1;
  }
  it.expect("entries with a value that was not the last one of any writer", wrong, 0);
  it.expect("entries", result.map.size(), it["d"]);
  it.expect("writes answered with another value", result.wrong_answers, 0);
}

void iterate(Iteration& it) {
  Result result;
  it.measure([&] { spawn<Master>(result, it); });
  it.verify([&] {
    check(it, result);
    it.expect_actors(it["e"] + 2);
    it.expect_messages(it["e"] * (2 * it["m"] + 2) + 1);
  });
}

constexpr Parameter kParameters[] = {
    {"e", 20, 5}, {"m", 10'000, 100, 0}, {"w", 10, 10, 0, 100}, {"d", 524'287, 1'023}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"concdict", "concurrency", "actors read and write a dictionary, which is one actor",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::dictionary
