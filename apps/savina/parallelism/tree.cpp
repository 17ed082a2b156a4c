// Unbalanced tree (the suite's uct): nodes ask the root whether they may have children; then the tree is
// traversed and ended.
// SPDX-License-Identifier: MIT
#include <atomic>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::tree {
namespace {

constexpr std::uint64_t kSeed = 2;
constexpr std::uint64_t kStepsBeforeAsking = 100;

struct Begin {};
struct Try {};
struct Traverse {};
struct Terminate {};
struct HasChildren {};
struct Generate;
using Node = actor<Try, Generate, HasChildren, Traverse, Terminate>;
struct Generate {
  std::uint64_t steps;   // of each child, when it is traversed
  std::uint32_t urgent;  // which child is traversed first
};
struct MayGenerate {
  actor<Generate> from;
};

struct Result {
  std::uint64_t counted = 1;  // by the root; it is one of them
  std::atomic<std::uint64_t> made{1}, traversed{0}, ended{0};
};

/// Data that all nodes share.
struct Common {
  Result& result;
  actor<MayGenerate> root;
  std::uint32_t children;
  std::uint64_t work;  // steps of PR for each step of the suite's busy loops
};

struct NodeActor : behavior<Try, Generate, HasChildren, Traverse, Terminate> {
  NodeActor(const Common& common, actor<HasChildren> parent, std::uint64_t steps)
      : common_(common), parent_(parent), steps_(steps), busy_(steps) {
    common.result.made.fetch_add(1, std::memory_order_relaxed);
  }
  void on(Try) {
    compute(kStepsBeforeAsking);
    common_.root.send(MayGenerate{self()});
  }
  void on(Generate generate) {
    parent_.send(HasChildren{});
    for (std::uint32_t i = 0; i < common_.children; ++i)
      children_.push_back(spawn<NodeActor>(common_, self(), generate.steps));
    urgent_ = generate.urgent;
    for (const Node child : children_) child.send(Try{});
  }
  void on(HasChildren) { ++grown_; }
  void on(Traverse) {
    compute(steps_);
    common_.result.traversed.fetch_add(1, std::memory_order_relaxed);
    if (urgent_ < children_.size()) children_[urgent_].send(Traverse{});
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (i != urgent_) children_[i].send(Traverse{});
    }
  }
  void on(Terminate) {
    for (const Node child : children_) child.send(Terminate{});
    common_.result.ended.fetch_add(1, std::memory_order_relaxed);
    stop();
  }
  void compute(std::uint64_t steps) { kept_ += work(busy_, steps * common_.work); }
  Common common_;
  actor<HasChildren> parent_;
  std::uint64_t steps_;
  SuiteRandom busy_;
  std::vector<Node> children_;
  std::uint32_t urgent_ = ~0u, grown_ = 0, kept_ = 0;
};

struct Root : behavior<Begin, MayGenerate, HasChildren> {
  Root(Result& result, const Iteration& it, std::uint64_t seed)
      : common_{result, self(), static_cast<std::uint32_t>(it["c"]), it["work"]},
        most_(it["n"]),
        average_(static_cast<double>(it["avg"])),
        deviation_(static_cast<double>(it["dev"])),
        urgent_percent_(static_cast<std::int32_t>(it["u"])),
        random_(seed) {}
  void on(Begin) {
    const std::uint64_t steps = normal();
    for (std::uint32_t i = 0; i < common_.children; ++i)
      children_.push_back(spawn<NodeActor>(common_, self(), steps));
    size_ += common_.children;
    for (const Node child : children_) child.send(Try{});
  }
  /// Each node asks once. When all have asked, none is about to have children.
  void on(MayGenerate request) {
    if (size_ + common_.children <= most_ && random_.boolean()) {
      const std::uint64_t steps = normal();
      const bool is_urgent = random_.below(100) <= urgent_percent_;
      const auto urgent =
          is_urgent ? static_cast<std::uint32_t>(random_.below(static_cast<std::int32_t>(common_.children)))
                    : ~0u;
      request.from.send(Generate{steps, urgent});
      size_ += common_.children;
    }
    if (++asked_ != size_ - 1) return;
    for (const Node child : children_) child.send(Traverse{});
    for (const Node child : children_) child.send(Terminate{});
    common_.result.counted = size_;
    stop();
  }
  void on(HasChildren) { ++grown_; }
  std::uint64_t normal() {
    for (;;) {
      const double drawn = std::round(random_.gaussian() * deviation_ + average_);
      if (drawn > 0) return static_cast<std::uint64_t>(drawn);
    }
  }
  Common common_;
  std::uint64_t most_, size_ = 1, asked_ = 0;
  double average_, deviation_;
  std::int32_t urgent_percent_;
  std::uint32_t grown_ = 0;
  JavaRandom random_;
  std::vector<Node> children_;
};

void iterate(Iteration& it) {
  if (it["n"] <= it["c"]) it.refuse("n is larger than c: the root has children");
  // A tree may die out: then the next seed.
  for (std::uint64_t seed = kSeed + it.seed();; ++seed) {
    Result result;
    it.measure([&] { spawn<Root>(result, it, seed).send(Begin{}); });
    if (result.counted + it["c"] <= it["n"]) continue;
    it.allow_dead_letters();  // a child of the root may say that it has children after the root has stopped
    return it.verify([&] {
      it.expect("nodes made", result.made.load(), result.counted);
      it.expect("nodes traversed, without the root", result.traversed.load(), result.counted - 1);
      it.expect("nodes ended, without the root", result.ended.load(), result.counted - 1);
      it.expect_actors(result.counted);
    });
  }
}

constexpr Parameter kParameters[] = {{"n", 200'000, 500, 2}, {"c", 10, 10, 2, 1'000},
                                     {"avg", 500, 500},      {"dev", 100, 100, 0, 1'000'000},
                                     {"u", 50, 50, 0, 100},  {"work", 1, 1, 0, 100'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"uct", "parallelism", "a tree that grows by chance, is traversed and ended",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::tree
