// A limit per call: at most so many workers for one algorithm, as oneTBB's task_arena(n) and OpenMP's
// num_threads(n). Host engines only. Not part of rubato.hpp: include it where it is used.
//
//   rubato::parallel_for(rubato::at_most(2, rubato::blocked_range(0, n)), body);
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
#include <cstdint>
#include <memory>
#include <utility>

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

}  // namespace rubato::inline v0

#endif
