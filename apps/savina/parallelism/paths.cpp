// All-pairs shortest paths: blocks of the matrix of Floyd and Warshall, which send each other their contents
// after each vertex.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <memory>

#include "apps/savina/random.hpp"
#include "apps/savina/reference/reference.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::paths {
namespace {

using Lengths = std::vector<std::uint64_t>;  // row by row

struct Result;
struct Neighbors;
struct Begin {};
using Node = actor<Result, Neighbors, Begin>;
/// After `round` vertices.
struct Result {
  std::uint64_t round;
  std::size_t from;
  std::shared_ptr<const Lengths> lengths;
};
struct Neighbors {
  std::shared_ptr<const std::vector<Node>> nodes;  // of all blocks
};

struct Shape {
  std::size_t vertices, block;
  std::size_t blocks() const { return vertices / block; }
};

struct BlockActor : behavior<Result, Neighbors, Begin> {
  BlockActor(Lengths& graph, std::atomic<std::uint64_t>& put_aside, Shape shape, std::size_t number)
      : graph_(graph),
        put_aside_(put_aside),
        shape_(shape),
        number_(number),
        row_(number / shape.blocks()),
        column_(number % shape.blocks()) {
    Lengths own;
    for (std::size_t i = 0; i < shape.block; ++i) {
      for (std::size_t j = 0; j < shape.block; ++j) own.push_back(in_graph(i, j));
    }
    own_ = std::make_shared<const Lengths>(std::move(own));
    for (auto& set : received_) set.resize(shape.blocks() * shape.blocks());
  }
  void on(Neighbors neighbors) {
    nodes_ = std::move(neighbors.nodes);
    unstash_all();
  }
  void on(Begin) {
    is_begun_ = true;
    notify();
    go_on_while_complete();
  }
  /// A fast neighbour is one round ahead, never two: two sets hold the results in turn.
  void on(Result result) {
    if (!nodes_) {
      put_aside_.fetch_add(1, std::memory_order_relaxed);
      return stash(std::move(result));
    }
    received_[result.round % 2][result.from] = std::move(result.lengths);
    ++counts_[result.round % 2];
    go_on_while_complete();
  }
  void go_on_while_complete() {
    while (is_begun_ && counts_[round_ % 2] == 2 * (shape_.blocks() - 1)) go_on();
  }
  void go_on() {
    counts_[round_ % 2] = 0;
    if (round_ == shape_.vertices) {
      for (std::size_t i = 0; i < shape_.block; ++i) {
        for (std::size_t j = 0; j < shape_.block; ++j) in_graph(i, j) = (*own_)[i * shape_.block + j];
      }
      return stop();
    }
    relax();
    ++round_;
    notify();
  }
  void relax() {
    const std::size_t size = shape_.block, k = round_ / size, local = round_ % size;
    const auto& set = received_[round_ % 2];
    const Lengths& column = k == column_ ? *own_ : *set[row_ * shape_.blocks() + k];
    const Lengths& row = k == row_ ? *own_ : *set[k * shape_.blocks() + column_];
    Lengths next = *own_;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        std::uint64_t& length = next[i * size + j];
        length = std::min(length, column[i * size + local] + row[local * size + j]);
      }
    }
    own_ = std::make_shared<const Lengths>(std::move(next));
  }
  void notify() {
    for (std::size_t i = 0; i < shape_.blocks(); ++i) {
      if (i != row_) send_to(i * shape_.blocks() + column_);
      if (i != column_) send_to(row_ * shape_.blocks() + i);
    }
  }
  void send_to(std::size_t block) { (*nodes_)[block].send(Result{round_, number_, own_}); }
  std::uint64_t& in_graph(std::size_t i, std::size_t j) {
    return graph_[(row_ * shape_.block + i) * shape_.vertices + column_ * shape_.block + j];
  }
  Lengths& graph_;  // read at the beginning, written at the end; each block its own part
  std::atomic<std::uint64_t>& put_aside_;
  Shape shape_;
  std::size_t number_, row_, column_;
  std::shared_ptr<const Lengths> own_;
  std::shared_ptr<const std::vector<Node>> nodes_;
  bool is_begun_ = false;
  std::uint64_t round_ = 0;
  std::vector<std::shared_ptr<const Lengths>> received_[2];
  std::size_t counts_[2] = {0, 0};
};

Lengths make_graph(const Iteration& it) {
  const std::size_t vertices = it["n"];
  SuiteRandom random(vertices + it.seed());
  Lengths graph(vertices * vertices, 0);
  for (std::size_t i = 0; i < vertices; ++i) {
    for (std::size_t j = i + 1; j < vertices; ++j)
      graph[i * vertices + j] = graph[j * vertices + i] =
          random.below(static_cast<std::uint32_t>(it["w"])) + 1;
  }
  return graph;
}

void iterate(Iteration& it) {
  const Shape shape{it["n"], it["b"]};
  if (shape.vertices % shape.block != 0 || shape.blocks() < 2)
    it.refuse("n is a multiple of b, and not b itself");
  const Lengths graph = make_graph(it);
  Lengths result = graph;
  std::atomic<std::uint64_t> put_aside{0};
  const std::uint64_t blocks = shape.blocks() * shape.blocks();
  it.measure([&] {
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < blocks; ++i) nodes.push_back(spawn<BlockActor>(result, put_aside, shape, i));
    const auto all = std::make_shared<const std::vector<Node>>(nodes);
    for (const Node node : nodes) node.send(Neighbors{all});
    for (const Node node : nodes) node.send(Begin{});
  });
  it.verify([&] {
    it.expect_that("other lengths than Floyd and Warshall's",
                   result == reference::shortest_paths(graph, shape.vertices));
    it.expect_actors(blocks);
    it.expect_messages(blocks * (2 + 2 * (shape.blocks() - 1) * (shape.vertices + 1)) + put_aside.load());
  });
}

constexpr Parameter kParameters[] = {{"n", 300, 20, 2, 10'000}, {"b", 50, 5, 1, 10'000}, {"w", 100, 100}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"apsp", "parallelism", "all-pairs shortest paths, an actor a block", kParameters,
                          iterate};

}  // namespace rubato::apps::savina::paths
