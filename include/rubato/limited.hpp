// A limit per call: at most so many workers for one algorithm, as oneTBB's task_arena(n) and OpenMP's
// num_threads(n). Host engines only. Not part of rubato.hpp: include it where it is used.
//
//   rubato::parallel_for(rubato::at_most(2, rubato::blocked_range(0, n)), body);
//   rubato::parallel_sort(rubato::at_most(2, rubato::blocked_range(v.begin(), v.end())));
//
// The same for parallel_for_each, parallel_reduce and parallel_scan.
//
// The other workers are free for other tasks meanwhile. Only the calls of the body are limited, not what it
// creates or forks.
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/algorithms.hpp"

#if defined(__riscv)

namespace rubato::inline v0 {

/// Refused where a guest program uses it.
template <class Range>
Range at_most(unsigned, Range range) {
  static_assert(engine::is_never<Range>,
                "at_most() is for host engines: the chip's cores are those of its configuration "
                "(chip.cores); give the range a grain that makes fewer parts");
  return range;
}

}  // namespace rubato::inline v0

#else

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/errors.hpp"

namespace rubato::inline v0 {

/// A range for at most so many workers. See at_most().
template <class Index>
struct LimitedRange {
  blocked_range<Index> range;  ///< the whole
  unsigned workers;            ///< at once, 1 or more
};
/// Limits an algorithm over this range to so many workers. Errors: TaskError for 0.
template <class Index>
LimitedRange<Index> at_most(unsigned workers, const blocked_range<Index>& range) {
  if (workers == 0) engine::misuse(errors::limit_of_none());
  return {range, workers};
}

namespace engine {

/// Takes the next part, and lets another task go on after it. As many of these rows of tasks as workers may
/// take part.
template <class Work>
struct RunLimited {
  using TaskName = typename Work::TaskName;
  void operator()(Work* work) const {
    auto& algorithm = work->algorithm;
    const std::uint64_t number = algorithm.next->fetch_add(1, std::memory_order_relaxed);
    if (number >= algorithm.parts()) return;
    work->failures.attempt([=] { std::as_const(work->algorithm).run(number); });
    if (!work->failures.have_come() && algorithm.next->load(std::memory_order_relaxed) < algorithm.parts())
      rubato::create<TaskType::nonspec>(RunLimited{}, work->annotations(), work);
  }
};
template <class Work>
struct BeginLimited {
  using TaskName = typename Work::TaskName;
  void operator()(Work* work) const {
    const std::uint64_t rows = std::min<std::uint64_t>(work->algorithm.workers, work->algorithm.parts());
    for (std::uint64_t row = 1; row < rows; ++row)
      rubato::create<TaskType::nonspec>(RunLimited<Work>{}, work->annotations(), work);
    RunLimited<Work>{}(work);
  }
};

/// An algorithm of parts that know nothing of each other.
template <class Algorithm>
struct Limited : Algorithm {
  Limited(Algorithm algorithm, unsigned most)
      : Algorithm(std::move(algorithm)),
        workers(most),
        next(std::make_unique<std::atomic<std::uint64_t> >(0)) {}
  template <class Work>
  void start(Work& work) {
    if (this->parts() != 0)
      rubato::create<TaskType::nonspec>(BeginLimited<Work>{}, work.annotations(), &work);
  }

  unsigned workers;
  std::unique_ptr<std::atomic<std::uint64_t> > next;  // the number of the next part
};

/// A sort of which at most `workers` pieces are worked on at once. The others wait here.
template <class Iterator, class Less>
struct LimitedSort : Sort<Iterator, Less> {
  struct Piece {
    std::uint64_t first, last;
    unsigned divisions_left;
  };
  struct Pieces {
    std::mutex mutex;
    std::vector<Piece> waiting;
    unsigned tasks = 0;  // that have a piece, or are created with one
  };
  LimitedSort(Sort<Iterator, Less> sort, unsigned most)
      : Sort<Iterator, Less>(std::move(sort)), workers(most), pieces(std::make_unique<Pieces>()) {}
  void start(auto& work) {
    if (this->size > 1) add(work, {0, this->size, 2 * static_cast<unsigned>(std::bit_width(this->size) - 1)});
  }
  /// The piece gets a task, or waits until a task has done with another one.
  void add(auto& work, Piece piece);
  /// A task has done with its piece: a waiting one gets the next task.
  void take_next(auto& work);

  unsigned workers;
  std::unique_ptr<Pieces> pieces;
};
template <class Work>
struct SortPiece {
  using TaskName = typename Work::TaskName;
  void operator()(Work* work, std::uint64_t first, std::uint64_t last, unsigned divisions_left) const {
    work->failures.attempt([=] {
      auto& sort = work->algorithm;
      if (last - first <= sort.grain || divisions_left == 0)
        return std::sort(sort.at(first), sort.at(last), sort.less);
      const auto [left, right] = sort.divide(first, last);
      sort.add(*work, {first, left, divisions_left - 1});
      sort.add(*work, {right, last, divisions_left - 1});
    });
    if (!work->failures.have_come()) work->algorithm.take_next(*work);
  }
};
template <class Iterator, class Less>
void LimitedSort<Iterator, Less>::add(auto& work, Piece piece) {
  if (piece.last - piece.first < 2) return;
  {
    const std::lock_guard lock(pieces->mutex);
    if (pieces->tasks == workers) return pieces->waiting.push_back(piece);
    ++pieces->tasks;
  }
  rubato::create<TaskType::nonspec>(SortPiece<std::remove_reference_t<decltype(work)> >{}, work.annotations(),
                                    &work, piece.first, piece.last, piece.divisions_left);
}
template <class Iterator, class Less>
void LimitedSort<Iterator, Less>::take_next(auto& work) {
  Piece piece;
  {
    const std::lock_guard lock(pieces->mutex);
    --pieces->tasks;
    if (pieces->waiting.empty()) return;
    piece = pieces->waiting.back();
    pieces->waiting.pop_back();
  }
  add(work, piece);
}

template <class Index, class Body>
auto limited_for(const LimitedRange<Index>& limited, Body body) {
  return Limited(For<Index, Body>{DividedRange<Index>(limited.range), std::move(body)}, limited.workers);
}
template <class Index, class T, class Body, class Combine>
auto limited_reduce(const LimitedRange<Index>& limited, T identity, Body body, Combine combine) {
  using Whole = Reduce<Index, T, Body, Combine>;
  return Limited(Whole(limited.range, std::move(identity), std::move(body), std::move(combine)),
                 limited.workers);
}

template <class Iterator, class Body>
auto limited_for_each(const LimitedRange<Iterator>& limited, Body body) {
  const blocked_range<Iterator>& range = limited.range;
  return Limited(ForEach<Iterator, Body>(range.begin(), range.end(), std::move(body)), limited.workers);
}
template <class Index, class T, class Body, class Combine>
auto limited_sums(const LimitedRange<Index>& limited, T identity, Body body, Combine combine) {
  using Sums = ScanSums<Index, T, Body, Combine>;
  return Limited(Sums(limited.range, std::move(identity), std::move(body), std::move(combine)),
                 limited.workers);
}
template <class Sums>
auto limited_final(Sums sums, unsigned workers) {
  return Limited(ScanFinal<Sums>{std::move(sums)}, workers);
}
template <class Iterator, class Less>
auto limited_sort(const LimitedRange<Iterator>& limited, Less less) {
  return LimitedSort<Iterator, Less>(sort_of(limited.range.begin(), limited.range.end(), std::move(less)),
                                     limited.workers);
}

}  // namespace engine

/// As parallel_for() of a range. Bodies get parts of the range, as there.
template <class Index, class Body>
void parallel_for(const LimitedRange<Index>& limited, Body body) {
  engine::run_to_end(engine::limited_for(limited, std::move(body)));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Index, class Body, class F>
void parallel_for(const LimitedRange<Index>& limited, Body body, Then<F> then) {
  engine::run_before(engine::limited_for(limited, std::move(body)), std::move(then));
}
/// As parallel_reduce() of a range.
template <class Index, class T, class Body, class Combine>
T parallel_reduce(const LimitedRange<Index>& limited, T identity, Body body, Combine combine) {
  return engine::run_to_end(
      engine::limited_reduce(limited, std::move(identity), std::move(body), std::move(combine)));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Index, class T, class Body, class Combine, class F>
void parallel_reduce(const LimitedRange<Index>& limited, T identity, Body body, Combine combine,
                     Then<F> then) {
  engine::run_before(
      engine::limited_reduce(limited, std::move(identity), std::move(body), std::move(combine)),
      std::move(then));
}
/// As parallel_for_each() of two iterators. Forward iterators are enough; the range's grain does not count.
template <class Iterator, class Body>
void parallel_for_each(LimitedRange<Iterator> limited, Body body) {
  engine::run_to_end(engine::limited_for_each(limited, std::move(body)));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Iterator, class Body, class F>
void parallel_for_each(LimitedRange<Iterator> limited, Body body, Then<F> then) {
  engine::run_before(engine::limited_for_each(limited, std::move(body)), std::move(then));
}
/// As parallel_scan() of a range.
template <class Index, class T, class Body, class Combine>
T parallel_scan(const LimitedRange<Index>& limited, T identity, Body body, Combine combine) {
  auto sums = engine::run_to_end(
      engine::limited_sums(limited, std::move(identity), std::move(body), std::move(combine)));
  return engine::run_to_end(engine::limited_final(std::move(sums), limited.workers));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Index, class T, class Body, class Combine, class F>
void parallel_scan(const LimitedRange<Index>& limited, T identity, Body body, Combine combine, Then<F> then) {
  TaskGroup* const group = then.group;
  engine::run_before(engine::limited_sums(limited, std::move(identity), std::move(body), std::move(combine)),
                     rubato::then(
                         [then = std::move(then), workers = limited.workers](auto sums) {
                           engine::run_before(engine::limited_final(std::move(sums), workers), then);
                         },
                         group));
}
/// As parallel_sort() of a range of iterators, whose grain does not count.
template <class Iterator, class Less = std::less<> >
  requires(!engine::is_then<Less>)
void parallel_sort(const LimitedRange<Iterator>& limited, Less less = {}) {
  engine::run_to_end(engine::limited_sort(limited, std::move(less)));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Iterator, class Less, class F>
void parallel_sort(const LimitedRange<Iterator>& limited, Less less, Then<F> then) {
  engine::run_before(engine::limited_sort(limited, std::move(less)), std::move(then));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Iterator, class F>
void parallel_sort(const LimitedRange<Iterator>& limited, Then<F> then) {
  parallel_sort(limited, std::less<>(), std::move(then));
}

}  // namespace rubato::inline v0

#endif
