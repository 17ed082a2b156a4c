// TaskGraph: functions and the order among them, built once and run again and again; the same on every
// engine. Not part of rubato.hpp: include it where it is used.
//
//   TaskGraph graph;
//   const auto read = graph.add([&] { parse(input); });
//   const auto left = graph.add([&] { solve(0); }), right = graph.add([&] { solve(1); });
//   graph.order(read, left);
//   graph.order(read, right);
//   for (int frame = 0; frame < 60; ++frame) graph.run();
//
// A graph that is run once needs none of this: tasks that create tasks, and groups, take less memory. Work
// that depends on data belongs into the functions: they create tasks, or call fork_join().
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "rubato/engine/algorithm_work.hpp"
#include "rubato/errors.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {

namespace engine {

namespace task_names {
struct task_graph {};
}  // namespace task_names

struct GraphNode {
  explicit GraphNode(std::function<void()> f) : function(std::move(f)) {}
  std::function<void()> function;
  std::vector<GraphNode*> successors;
  std::uint32_t predecessors = 0;
  std::atomic<std::uint32_t> waits{0};  ///< predecessors that have not returned; the check counts here, too
};

template <class Work>
struct RunGraphNode {
  using TaskName = typename Work::TaskName;
  void operator()(Work* work, GraphNode* node) const {
    work->failures.attempt([=] {
      node->function();
      for (GraphNode* const next : node->successors)
        if (next->waits.fetch_sub(1, std::memory_order_acq_rel) == 1)
          rubato::create<TaskType::nonspec>(RunGraphNode{}, work->annotations(), work, next);
    });
  }
};

template <class Work>
struct BeginGraph {
  using TaskName = typename Work::TaskName;
  void operator()(Work* work) const {
    work->failures.attempt([=] {
      for (GraphNode& node : *work->algorithm.nodes)
        if (node.predecessors == 0)
          rubato::create<TaskType::nonspec>(RunGraphNode<Work>{}, work->annotations(), work, &node);
    });
  }
};

struct RunGraph {
  using TaskName = task_names::task_graph;
  static constexpr const char* kName = "TaskGraph::run()";
  void start(auto& work) {
    if (nodes->empty()) return;
    for (GraphNode& node : *nodes) node.waits.store(node.predecessors, std::memory_order_relaxed);
    rubato::create<TaskType::nonspec>(BeginGraph<std::remove_reference_t<decltype(work)>>{},
                                      work.annotations(), &work);
  }
  void finish() {}

  std::deque<GraphNode>* nodes;
};

}  // namespace engine

/// Functions, each called in a task of its own when all that precede it have returned. It must outlive its
/// runs, which come one after the other: a graph is neither changed nor run while it runs.
class TaskGraph {
 public:
  /// A function of a graph.
  class Node {
    friend TaskGraph;
    explicit Node(engine::GraphNode* at) : at_(at) {}
    engine::GraphNode* at_;
  };

  TaskGraph() = default;
  TaskGraph(const TaskGraph&) = delete;
  TaskGraph& operator=(const TaskGraph&) = delete;

  /// Adds a function without order.
  Node add(std::function<void()> function) { return Node(&nodes_.emplace_back(std::move(function))); }
  /// Each run calls `second` when `first` has returned. Both are this graph's.
  void order(Node first, Node second) {
    first.at_->successors.push_back(second.at_);
    ++second.at_->predecessors;
    is_checked_ = false;
  }
  /// How many functions it has.
  std::size_t size() const { return nodes_.size(); }

  /// Calls all functions, and returns when they have returned; outside tasks. Throws what one has thrown:
  /// then no further one is called, and the next run begins anew. Errors: TaskError if functions wait for
  /// each other in a circle.
  void run() {
    check();
    engine::run_to_end(engine::RunGraph{&nodes_});
  }
  /// The same in a task, which does not wait: `then` comes afterwards.
  template <class F>
  void run(Then<F> then) {
    check();
    engine::run_before(engine::RunGraph{&nodes_}, std::move(then));
  }

 private:
  /// Goes through the graph in an order of its functions: those of a circle are not reached.
  void check() {
    if (is_checked_) return;
    std::vector<engine::GraphNode*> ready;
    for (engine::GraphNode& node : nodes_) {
      node.waits.store(node.predecessors, std::memory_order_relaxed);
      if (node.predecessors == 0) ready.push_back(&node);
    }
    std::size_t reached = 0;
    for (; !ready.empty(); ++reached) {
      const engine::GraphNode* const node = ready.back();
      ready.pop_back();
      for (engine::GraphNode* const next : node->successors)
        if (next->waits.fetch_sub(1, std::memory_order_relaxed) == 1) ready.push_back(next);
    }
    if (reached != nodes_.size())
      engine::misuse("TaskGraph::run(): functions of the graph wait for each other in a circle");
    is_checked_ = true;
  }

  std::deque<engine::GraphNode> nodes_;
  bool is_checked_ = true;
};

}  // namespace rubato::inline v0
