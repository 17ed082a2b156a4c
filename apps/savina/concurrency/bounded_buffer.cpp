// Producers and consumers with a buffer of bounded size between them, which is an actor.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <deque>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::bounded_buffer {
namespace {

/// Cost of producing or consuming: logarithms, whose sum depends on the cost alone.
double process(double term, std::uint64_t cost) {
  JavaRandom random(cost);
  const std::uint64_t steps = cost == 0 ? 1 : 100 * cost;
  for (std::uint64_t i = 0; i < steps; ++i) term += std::log(random.fraction() + 0.01);
  return term;
}

struct Produce {};
struct Item {
  double data;
  actor<Produce> producer;
};
struct ConsumerExit {};
using Consumer = actor<Item, ConsumerExit>;
struct Available {
  Consumer consumer;
};
struct ProducerExit {};
using Buffer = actor<Item, Available, ProducerExit>;

struct Result {
  std::vector<double> sums{};  // of each consumer
  std::vector<std::uint64_t> items{};
  std::size_t most_pending = 0;
};

struct ProducerActor : behavior<Produce> {
  ProducerActor(Buffer buffer, std::uint64_t items, std::uint64_t cost)
      : buffer_(buffer), left_(items), cost_(cost) {}
  void on(Produce) {
    if (left_ == 0) {
      buffer_.send(ProducerExit{});
      return stop();
    }
    --left_;
    item_ = process(item_, cost_);
    buffer_.send(Item{item_, self()});
  }
  Buffer buffer_;
  std::uint64_t left_, cost_;
  double item_ = 0;
};

struct ConsumerActor : behavior<Item, ConsumerExit> {
  ConsumerActor(double& sum, std::uint64_t& items, Buffer buffer, std::uint64_t cost)
      : result_(sum), items_(items), buffer_(buffer), cost_(cost) {}
  void on(Item item) {
    sum_ = process(sum_ + item.data, cost_);
    ++consumed_;
    buffer_.send(Available{self()});
  }
  void on(ConsumerExit) {
    result_ = sum_;
    items_ = consumed_;
    stop();
  }
  double& result_;
  std::uint64_t& items_;
  Buffer buffer_;
  std::uint64_t cost_, consumed_ = 0;
  double sum_ = 0;
};

struct BufferActor : behavior<Item, Available, ProducerExit> {
  BufferActor(Result& result, const Iteration& it)
      : result_(result), size_(it["bb"] - it["np"]), producing_(it["np"]) {
    for (std::uint64_t i = 0; i < it["nc"]; ++i)
      consumers_.push_back(spawn<ConsumerActor>(result.sums[i], result.items[i], self(), it["cc"]));
    idle_.assign(consumers_.begin(), consumers_.end());
    for (std::uint64_t i = 0; i < it["np"]; ++i)
      spawn<ProducerActor>(self(), it["ipp"], it["pc"]).send(Produce{});
  }
  void on(Item item) {
    const actor<Produce> producer = item.producer;
    if (idle_.empty()) {
      pending_.push_back(item);
      most_pending_ = std::max(most_pending_, pending_.size());
    } else {
      idle_.front().send(item);
      idle_.pop_front();
    }
    if (pending_.size() >= size_) {
      waiting_.push_back(producer);
    } else {
      producer.send(Produce{});
    }
  }
  void on(Available available) {
    if (pending_.empty()) {
      idle_.push_back(available.consumer);
      return end_if_done();
    }
    available.consumer.send(pending_.front());
    pending_.pop_front();
    if (waiting_.empty()) return;
    waiting_.front().send(Produce{});
    waiting_.pop_front();
  }
  void on(ProducerExit) {
    --producing_;
    end_if_done();
  }
  void end_if_done() {
    if (producing_ != 0 || idle_.size() != consumers_.size()) return;
    for (const Consumer consumer : consumers_) consumer.send(ConsumerExit{});
    result_.most_pending = most_pending_;
    stop();
  }
  Result& result_;
  std::size_t size_, most_pending_ = 0;
  std::uint64_t producing_;
  std::vector<Consumer> consumers_;
  std::deque<Consumer> idle_;
  std::deque<Item> pending_;
  std::deque<actor<Produce>> waiting_;
};

void iterate(Iteration& it) {
  const std::uint64_t items = it["np"] * it["ipp"];
  if (it["bb"] <= it["np"]) it.refuse("bb is larger than np: each producer has one place at least");
  Result result{std::vector<double>(it["nc"]), std::vector<std::uint64_t>(it["nc"])};
  it.measure([&] { spawn<BufferActor>(result, it); });
  it.verify([&] {
    std::uint64_t consumed = 0;
    double sum = 0;
    for (const std::uint64_t n : result.items) consumed += n;
    for (const double s : result.sums) sum += s;
    double produced = 0, item = 0;
    for (std::uint64_t i = 0; i < it["ipp"]; ++i) produced += item = process(item, it["pc"]);
    const double expected =
        static_cast<double>(it["np"]) * produced + static_cast<double>(items) * process(0, it["cc"]);
    it.expect("items", consumed, items);
    it.expect_near("sum of the items and their costs", sum, expected, 1e-9);
    it.expect_that("the buffer held more than its size", result.most_pending <= it["bb"]);
    it.expect_actors(it["np"] + it["nc"] + 1);
    it.expect_messages(4 * items + 2 * it["np"] + it["nc"]);
  });
}

constexpr Parameter kParameters[] = {{"bb", 50, 12},   {"np", 40, 8},    {"nc", 40, 8},
                                     {"pc", 25, 1, 0}, {"cc", 25, 1, 0}, {"ipp", 1'000, 20, 0}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"bndbuffer", "concurrency", "producers and consumers with a buffer of bounded size",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::bounded_buffer
