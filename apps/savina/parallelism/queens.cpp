// N-queens: workers place queens, down to a depth by messages through the master, below it on their own.
// SPDX-License-Identifier: MIT
#include <array>

#include "apps/savina/reference/reference.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::queens {
namespace {

/// The columns of the queens placed so far, a byte each: a message without memory of its own.
struct Work {
  std::array<std::uint8_t, reference::kMostQueens> columns{};
  std::uint32_t depth = 0;
};
struct Solution {};
struct Done {};
struct Stop {};
struct Stopped {};
using Boss = actor<Work, Solution, Done, Stopped>;

bool is_free(const Work& work, std::uint32_t depth, std::uint32_t column) {
  for (std::uint32_t row = 0; row < depth; ++row) {
    const auto taken = static_cast<std::int32_t>(work.columns[row]);
    const auto distance = static_cast<std::int32_t>(depth - row);
    const std::int32_t difference = taken - static_cast<std::int32_t>(column);
    if (difference == 0 || difference == distance || difference == -distance) return false;
  }
  return true;
}

struct Worker : behavior<Work, Stop> {
  Worker(Boss master, const Iteration& it)
      : master_(master), size_(static_cast<std::uint32_t>(it["n"])), threshold_(it["t"]) {}
  void on(Work work) {
    if (work.depth == size_) {
      master_.send(Solution{});
    } else if (work.depth >= threshold_) {
      place(work, work.depth);
    } else {
      for (std::uint32_t column = 0; column < size_; ++column) {
        if (!is_free(work, work.depth, column)) continue;
        Work next = work;
        next.columns[next.depth++] = static_cast<std::uint8_t>(column);
        master_.send(next);
      }
    }
    master_.send(Done{});
  }
  void on(Stop) {
    master_.send(Stopped{});
    stop();
  }
  void place(Work& work, std::uint32_t depth) {
    if (depth == size_) return master_.send(Solution{});
    for (std::uint32_t column = 0; column < size_; ++column) {
      if (!is_free(work, depth, column)) continue;
      work.columns[depth] = static_cast<std::uint8_t>(column);
      place(work, depth + 1);
    }
  }
  Boss master_;
  std::uint32_t size_;
  std::uint64_t threshold_;
};

struct Result {
  std::uint64_t solutions = 0, works = 0;
};

struct Master : behavior<Work, Solution, Done, Stopped> {
  Master(Result& result, const Iteration& it) : result_(result) {
    for (std::uint64_t i = 0; i < it["w"]; ++i) workers_.push_back(spawn<Worker>(self(), it));
    on(Work{});
  }
  void on(Work work) { workers_[sent_++ % workers_.size()].send(work); }
  void on(Solution) { ++solutions_; }
  void on(Done) {
    if (++done_ != sent_) return;
    for (const auto worker : workers_) worker.send(Stop{});
  }
  void on(Stopped) {
    if (++stopped_ != workers_.size()) return;
    result_ = {solutions_, sent_};
    stop();
  }
  Result& result_;
  std::vector<actor<Work, Stop>> workers_;
  std::uint64_t sent_ = 0, done_ = 0, stopped_ = 0, solutions_ = 0;
};

void iterate(Iteration& it) {
  Result result;
  it.measure([&] { spawn<Master>(result, it); });
  it.verify([&] {
    const auto size = static_cast<unsigned>(it["n"]);
    const std::vector<std::uint64_t> placements = reference::queen_placements(size);
    std::uint64_t works = 0;
    for (std::uint64_t depth = 0; depth <= std::min<std::uint64_t>(it["t"], size); ++depth)
      works += placements[depth];
    it.expect("solutions", result.solutions, placements[size]);
    it.expect("pieces of work", result.works, works);
    it.expect_actors(it["w"] + 1);
    it.expect_messages(3 * works - 1 + result.solutions + 2 * it["w"]);
  });
}

constexpr Parameter kParameters[] = {
    {"n", 12, 7, 1, reference::kMostQueens}, {"t", 4, 2, 0}, {"w", 20, 5, 1, 100'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"nqueenk", "parallelism", "queens on a board, placed by workers", kParameters,
                          iterate};

}  // namespace rubato::apps::savina::queens
