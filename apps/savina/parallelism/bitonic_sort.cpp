// Bitonic sort: a sorting network of which every comparator, splitter and joiner is an actor.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::bitonic_sort {
namespace {

/// `order`: which of a joiner's inputs it comes from.
struct Key {
  std::uint64_t value;
  std::uint32_t order;
};
struct Exit {};
using Node = actor<Key, Exit>;

/// Hands on its messages; the suite has such actors at the borders of its steps.
struct Forwarder : behavior<Key, Exit> {
  Forwarder(std::uint32_t order, Node next) : order_(order), next_(next) {}
  void on(Key key) { next_.send(Key{key.value, order_}); }
  void on(Exit) {
    next_.send(Exit{});
    stop();
  }
  std::uint32_t order_;
  Node next_;
};

/// `run` keys to each receiver in turn.
struct Splitter : behavior<Key, Exit> {
  Splitter(std::uint32_t run, std::vector<Node> receivers) : run_(run), receivers_(std::move(receivers)) {}
  void on(Key key) {
    receivers_[receiver_].send(key);
    if (++in_run_ != run_) return;
    in_run_ = 0;
    receiver_ = (receiver_ + 1) % receivers_.size();
  }
  void on(Exit) {
    for (const Node receiver : receivers_) receiver.send(Exit{});
    stop();
  }
  std::uint32_t run_, in_run_ = 0;
  std::size_t receiver_ = 0;
  std::vector<Node> receivers_;
};

/// `run` keys from each sender in turn, whenever they come.
struct Joiner : behavior<Key, Exit> {
  Joiner(std::uint32_t run, std::uint32_t senders, Node next) : run_(run), received_(senders), next_(next) {}
  void on(Key key) {
    received_[key.order].push_back(key.value);
    while (!received_[sender_].empty()) {
      next_.send(Key{received_[sender_].front(), 0});
      received_[sender_].erase(received_[sender_].begin());
      if (++in_run_ != run_) continue;
      in_run_ = 0;
      sender_ = (sender_ + 1) % received_.size();
    }
  }
  void on(Exit) {
    if (++exits_ != received_.size()) return;
    next_.send(Exit{});
    stop();
  }
  std::uint32_t run_, in_run_ = 0;
  std::size_t sender_ = 0, exits_ = 0;
  std::vector<std::vector<std::uint64_t>> received_;
  Node next_;
};

struct Comparator : behavior<Key, Exit> {
  Comparator(std::uint32_t order, bool is_up, Node next) : order_(order), is_up_(is_up), next_(next) {}
  void on(Key key) {
    if (!has_first_) {
      has_first_ = true;
      first_ = key.value;
      return;
    }
    has_first_ = false;
    const std::uint64_t low = std::min(first_, key.value), high = std::max(first_, key.value);
    next_.send(Key{is_up_ ? low : high, order_});
    next_.send(Key{is_up_ ? high : low, order_});
  }
  void on(Exit) {
    next_.send(Exit{});
    stop();
  }
  std::uint64_t first_ = 0;
  std::uint32_t order_;
  bool is_up_, has_first_ = false;
  Node next_;
};

/// Makes of a bitonic sequence of `length` keys two, of which the first has the smaller keys.
Node partition(std::uint32_t order, std::uint32_t length, bool is_up, Node next) {
  if (length == 2) return spawn<Comparator>(order, is_up, next);
  const Node joiner = spawn<Joiner>(1u, length / 2, spawn<Forwarder>(order, next));
  std::vector<Node> comparators;
  for (std::uint32_t i = 0; i < length / 2; ++i) comparators.push_back(spawn<Comparator>(i, is_up, joiner));
  return spawn<Forwarder>(0u, spawn<Splitter>(1u, std::move(comparators)));
}

/// `count` partitions side by side, of which `same` after each other have the same direction; 0: all up.
Node step(std::uint32_t length, std::uint32_t count, std::uint32_t same, Node next) {
  const Node joiner = spawn<Joiner>(length, count, next);
  std::vector<Node> partitions;
  for (std::uint32_t i = 0; i < count; ++i)
    partitions.push_back(partition(i, length, same == 0 || i / same % 2 == 0, joiner));
  return spawn<Forwarder>(0u, spawn<Splitter>(length, std::move(partitions)));
}

/// Sorts every `order` keys, up and down in turn.
Node merge_stage(std::uint32_t order, std::uint32_t keys, Node next) {
  for (std::uint32_t i = order / 2; i >= 1; i /= 2)
    next = step(order / i, keys / order * i, i, spawn<Forwarder>(0u, next));
  return spawn<Forwarder>(0u, next);
}
Node last_stage(std::uint32_t keys, Node next) {
  for (std::uint32_t i = keys / 2; i >= 1; i /= 2) next = step(keys / i, i, 0, next);
  return spawn<Forwarder>(0u, next);
}
Node network(std::uint32_t keys, Node next) {
  next = last_stage(keys, next);
  for (std::uint32_t order = keys / 2; order >= 2; order /= 2) next = merge_stage(order, keys, next);
  return spawn<Forwarder>(0u, next);
}

struct Begin {};
struct Source : behavior<Begin> {
  Source(Node first, std::uint64_t count, std::uint64_t seed) : first_(first), count_(count), random_(seed) {}
  void on(Begin) {
    for (std::uint64_t i = 0; i < count_; ++i) first_.send(Key{random_.next(), 0});
    first_.send(Exit{});
    stop();
  }
  Node first_;
  std::uint64_t count_;
  SuiteRandom random_;
};

struct Sink : behavior<Key, Exit> {
  explicit Sink(std::vector<std::uint64_t>& result) : result_(result) {}
  void on(Key key) { result_.push_back(key.value); }
  void on(Exit) { stop(); }
  std::vector<std::uint64_t>& result_;
};

/// How many actors the network has.
std::uint64_t actors_of_step(std::uint64_t length, std::uint64_t count, std::uint64_t borders) {
  return borders + count * (length == 2 ? 1 : length / 2 + 4);
}
std::uint64_t actors_of_network(std::uint64_t keys) {
  std::uint64_t actors = 4;  // the network, its last stage, source and sink
  actors += 1;               // between network and sink
  for (std::uint64_t i = keys / 2; i >= 1; i /= 2) actors += actors_of_step(keys / i, i, 3);
  for (std::uint64_t order = keys / 2; order >= 2; order /= 2) {
    actors += 1;
    for (std::uint64_t i = order / 2; i >= 1; i /= 2)
      actors += actors_of_step(order / i, keys / order * i, 4);
  }
  return actors;
}

void iterate(Iteration& it) {
  const std::uint64_t count = it["n"], seed = it["s"] + it.seed();
  if (!std::has_single_bit(count)) it.refuse("n is a power of two: the network has no other width");
  std::vector<std::uint64_t> sorted;
  it.measure([&] {
    const Node sink = spawn<Sink>(sorted);
    const Node first = network(static_cast<std::uint32_t>(count), spawn<Forwarder>(0u, sink));
    spawn<Source>(first, count, seed).send(Begin{});
  });
  it.verify([&] {
    SuiteRandom random(seed);
    std::vector<std::uint64_t> expected(count);
    for (std::uint64_t& value : expected) value = random.next();
    std::sort(expected.begin(), expected.end());
    it.expect_that("the numbers are not those that were sent, in order", sorted == expected);
    it.expect_actors(actors_of_network(count));
  });
}

constexpr Parameter kParameters[] = {{"n", 4'096, 32, 4, 1u << 20}, {"s", 2'048, 2'048, 0}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"bitonicsort", "parallelism", "a sorting network of actors", kParameters, iterate};

}  // namespace rubato::apps::savina::bitonic_sort
