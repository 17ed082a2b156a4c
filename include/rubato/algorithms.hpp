// Algorithms on the task model, the same on every engine: parallel_for, parallel_for_each, parallel_reduce,
// parallel_scan, parallel_invoke, parallel_sort. Not part of rubato.hpp: include it where it is used.
//
// Outside tasks an algorithm runs to its end, as run() does, together with all tasks that were created
// before. Several threads may call algorithms at once (engine native): a later call joins the run that goes
// on, and its thread sleeps until its own tasks are done. If a body throws, no further part starts, and the
// call throws what the body has thrown; other tasks go on. In a task nothing may block: the continuation is
// the last argument,
//
//   parallel_for(0, n, body, then([=] { go_on(); }));
//   parallel_reduce(blocked_range(0, n), 0.0, sum, std::plus<>(), then([=](double total) { use(total); },
//   &group));
//
// and the call returns at once: body and continuation are copied, and what they refer to must outlive them.
// Given a group, the continuation belongs to it. All tasks are `nonspec` and have the running task's
// timestamp, if it has one.
//
// Bodies are called by several tasks at once, as constants. Ranges are divided into parts of the given grain.
// If none is given, they are divided into 16 parts for each worker; the native engine runs several brief
// parts in one task.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/engine/algorithm_work.hpp"
#include "rubato/task.hpp"
#if defined(__riscv)
#include <unistd.h>
#endif

namespace rubato::inline v0 {

/// Range from `begin` to `end`, in parts of at most `grain`; 0: as many as suit the engine. Bodies get such
/// ranges, too.
///   Index  an integer or a random-access iterator
template <class Index>
class blocked_range {
 public:
  /// `grain`: most elements of a part; 0: the engine chooses.
  constexpr blocked_range(Index begin, Index end, std::uint64_t grain = 0)
      : begin_(begin), end_(end), grain_(grain) {}
  /// The first element.
  constexpr Index begin() const { return begin_; }
  /// The end: behind the last element.
  constexpr Index end() const { return end_; }
  /// How many elements; 0 if the end precedes the beginning.
  constexpr std::uint64_t size() const {
    if (!(begin_ < end_)) return 0;
    // Unsigned: the difference of two signed integers may be too large for their type.
    if constexpr (std::is_integral_v<Index>) {
      return static_cast<std::uint64_t>(end_) - static_cast<std::uint64_t>(begin_);
    } else {
      return static_cast<std::uint64_t>(end_ - begin_);
    }
  }
  /// Most elements of a part; 0: the engine chooses.
  constexpr std::uint64_t grain() const { return grain_; }

 private:
  Index begin_, end_;
  std::uint64_t grain_;
};
/// Bounds of different types make a range of their common type.
template <class Begin, class End>
blocked_range(Begin, End, std::uint64_t = 0) -> blocked_range<std::common_type_t<Begin, End>>;

namespace engine {

/// How many tasks run at once, about.
inline unsigned parallelism() {
#if defined(RUBATO_ENGINE_NATIVE)
  return native::workers();
#elif defined(__riscv)
  static const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? static_cast<unsigned>(cores) : 1;
#else
  return 4;
#endif
}

#if defined(RUBATO_ENGINE_NATIVE)
/// Ticks of the time stamp counter where there is one, else nanoseconds.
inline std::uint64_t brief_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}
/// About 8 microseconds, as policy::kWorthMicroseconds (native/policy.hpp): less work is not worth
/// waking a worker. A row of brief parts takes no longer.
inline constexpr std::uint64_t kBriefTicks = 20'000;
#endif

/// How a range is divided: into parts of nearly the same size.
class Division {
 public:
  Division(std::uint64_t size, std::uint64_t grain) {
    constexpr std::uint64_t kPartsAWorker = 16;
    parts_ = grain != 0 ? size / grain + (size % grain != 0) : std::min(size, kPartsAWorker * parallelism());
    if (parts_ == 0) return;
    each_ = size / parts_;
    larger_ = size % parts_;
  }
  std::uint64_t parts() const { return parts_; }
  std::uint64_t begin_of(std::uint64_t part) const { return part * each_ + std::min(part, larger_); }

 private:
  std::uint64_t parts_ = 0, each_ = 0, larger_ = 0;  // so many parts have one more
};

template <class Index>
Index advanced(Index from, std::uint64_t by) {
  if constexpr (std::is_integral_v<Index>) {
    return static_cast<Index>(static_cast<std::uint64_t>(from) + by);
  } else {
    return from + static_cast<typename std::iterator_traits<Index>::difference_type>(by);
  }
}

template <class Index>
class DividedRange {
 public:
  explicit DividedRange(const blocked_range<Index>& whole)
      : whole_(whole), division_(whole.size(), whole.grain()) {}
  std::uint64_t parts() const { return division_.parts(); }
  /// The engine has chosen the parts, and they are of several elements.
  bool is_automatic() const { return whole_.grain() == 0 && division_.parts() < whole_.size(); }
  blocked_range<Index> part(std::uint64_t number) const {
    return {advanced(whole_.begin(), division_.begin_of(number)),
            advanced(whole_.begin(), division_.begin_of(number + 1)), whole_.grain()};
  }

 private:
  blocked_range<Index> whole_;
  Division division_;
};

// ---- Parts that know nothing of each other ----

template <class Work>
struct RunPart {
  using TaskName = typename Work::TaskName;
  void operator()(Work* work, std::uint64_t number) const {
    work->failures.attempt([=] { std::as_const(work->algorithm).run(number); });
  }
};
template <class Work>
struct SplitParts;

template <class Work>
void create_parts(Work& work, std::uint64_t first, std::uint64_t last) {
  if (last - first == 1) {
    rubato::create<TaskType::nonspec>(RunPart<Work>{}, work.annotations(), &work, first);
  } else if (first < last) {
    rubato::create<TaskType::nonspec>(SplitParts<Work>{}, work.annotations(), &work, first, last);
  }
}
template <class Work>
struct SplitParts {
  using TaskName = typename Work::TaskName;
  void operator()(Work* work, std::uint64_t first, std::uint64_t last) const {
#if defined(RUBATO_ENGINE_NATIVE)
    if constexpr (requires { work->algorithm.is_automatic(); }) {
      if (work->algorithm.is_automatic()) return run_row(*work, first, last);
    }
#endif
    work->failures.attempt([=] {
      const std::uint64_t middle = first + (last - first) / 2;
      create_parts(*work, first, middle);
      create_parts(*work, middle, last);
    });
  }

#if defined(RUBATO_ENGINE_NATIVE)
 private:
  /// Parts one after the other, if the engine has chosen them and all parts together are not worth another
  /// worker: tasks of their own would take longer. While nothing is known of the parts, or they take long,
  /// all behind the next one are tasks before that begins: other workers may have them, however long it goes
  /// on.
  static void run_row(Work& work, std::uint64_t first, std::uint64_t last) {
    std::uint64_t begin = brief_ticks();
    const std::uint64_t row_begin = begin;
    bool is_brief = work.is_brief.load(std::memory_order_relaxed);
    for (; first != last; ++first) {
      if (!is_brief) {
        work.failures.attempt([&] {
          while (last - first > 1) {
            const std::uint64_t middle = first + (last - first) / 2;
            create_parts(work, middle, last);
            last = middle;
          }
        });
        begin = brief_ticks();
      }
      RunPart<Work>{}(&work, first);
      const std::uint64_t now = brief_ticks();
      if (is_brief ? now - row_begin < kBriefTicks : (now - begin) * work.algorithm.parts() >= kBriefTicks)
        continue;
      work.is_brief.store(!is_brief, std::memory_order_relaxed);
      is_brief = false;  // the row has lasted too long, or this part was its last
    }
  }
#endif
};

template <class Body>
struct EachOf;
template <class Body>
struct BodyOfFor {
  using type = Body;
};
template <class Body>
struct BodyOfFor<EachOf<Body>> {
  using type = Body;
};

template <class Index, class Body>
struct For {
  using TaskName = task_names::parallel_for<typename BodyOfFor<Body>::type>;
  static constexpr const char* kName = "parallel_for()";
  void start(auto& work) { create_parts(work, 0, parts()); }
  std::uint64_t parts() const { return range.parts(); }
  bool is_automatic() const { return range.is_automatic(); }
  void run(std::uint64_t number) const { body(range.part(number)); }
  void finish() {}

  DividedRange<Index> range;
  Body body;
};

template <class Body>
struct EachOf {
  template <class Range>
  void operator()(const Range& range) const {
    for (auto i = range.begin(); i != range.end(); ++i) body(i);
  }
  Body body;
};

/// For iterators that cannot jump: the begin of each part is stored.
template <class Iterator, class Body>
struct ForEach {
  static_assert(
      std::forward_iterator<Iterator> ||
          std::derived_from<typename std::iterator_traits<Iterator>::iterator_category,
                            std::forward_iterator_tag>,
      "parallel_for_each() goes to the same elements more than once: it takes forward iterators; copy "
      "what an input iterator reads into a container");
  using TaskName = task_names::parallel_for_each<Body>;
  static constexpr const char* kName = "parallel_for_each()";
  ForEach(Iterator begin, Iterator end, Body each) : body(std::move(each)) {
    size = static_cast<std::uint64_t>(std::distance(begin, end));
    const Division division(size, 0);
    for (std::uint64_t part = 0; part < division.parts(); ++part) {
      begins.push_back(begin);
      std::advance(begin, static_cast<std::ptrdiff_t>(division.begin_of(part + 1) - division.begin_of(part)));
    }
    begins.push_back(end);
  }
  void start(auto& work) { create_parts(work, 0, parts()); }
  std::uint64_t parts() const { return begins.size() - 1; }
  bool is_automatic() const { return parts() < size; }
  void run(std::uint64_t number) const {
    for (Iterator i = begins[number]; i != begins[number + 1]; ++i) body(*i);
  }
  void finish() {}

  std::vector<Iterator> begins;
  std::uint64_t size = 0;
  Body body;
};

/// A result of a part, in a line of its own.
template <class T>
struct alignas(64) PartResult {
  T value;
};

template <class Index, class T, class Body, class Combine>
struct Reduce {
  using TaskName = task_names::parallel_reduce<Body>;
  static constexpr const char* kName = "parallel_reduce()";
  Reduce(const blocked_range<Index>& whole, T none, Body b, Combine c)
      : range(whole),
        identity(std::move(none)),
        results(range.parts(), PartResult<T>{identity}),
        body(std::move(b)),
        combine(std::move(c)) {}
  void start(auto& work) { create_parts(work, 0, parts()); }
  std::uint64_t parts() const { return range.parts(); }
  bool is_automatic() const { return range.is_automatic(); }
  void run(std::uint64_t number) const { results[number].value = body(range.part(number), identity); }
  T finish() {
    T total = std::move(identity);
    for (PartResult<T>& result : results) total = combine(std::move(total), std::move(result.value));
    return total;
  }

  DividedRange<Index> range;
  T identity;
  mutable std::vector<PartResult<T>> results;  // each part writes its own
  Body body;
  Combine combine;
};

template <class... Functions>
struct Invoke {
  using TaskName = task_names::parallel_invoke<Functions...>;
  static constexpr const char* kName = "parallel_invoke()";
  void start(auto& work) { create_parts(work, 0, sizeof...(Functions)); }
  void run(std::uint64_t number) const { call(number, std::index_sequence_for<Functions...>{}); }
  void finish() {}
  template <std::size_t... I>
  void call(std::uint64_t number, std::index_sequence<I...>) const {
    ((number == I ? std::get<I>(functions)() : void()), ...);
  }

  std::tuple<Functions...> functions;
};

// ---- Scan: the sums of all parts but the last, one after the other, then all parts with the sum before them
// ----

template <class Index, class T, class Body, class Combine>
struct ScanSums {
  using TaskName = task_names::parallel_scan<Body>;
  static constexpr const char* kName = "parallel_scan()";
  ScanSums(const blocked_range<Index>& whole, T none, Body b, Combine c)
      : range(whole),
        sums(range.parts(), PartResult<T>{none}),
        identity(std::move(none)),
        body(std::move(b)),
        combine(std::move(c)) {}
  void start(auto& work) { create_parts(work, 0, parts()); }
  std::uint64_t parts() const { return sums.empty() ? 0 : sums.size() - 1; }
  void run(std::uint64_t number) const { sums[number].value = body(range.part(number), identity, false); }
  /// Replaces the sum of each part by the sum of all parts before it.
  ScanSums finish() {
    T before = identity;
    for (PartResult<T>& sum : sums) {
      T next = combine(before, sum.value);
      sum.value = std::exchange(before, std::move(next));
    }
    return std::move(*this);
  }

  DividedRange<Index> range;
  mutable std::vector<PartResult<T>> sums;
  T identity;
  Body body;
  Combine combine;
};
template <class Sums>
struct ScanFinal {
  using TaskName = typename Sums::TaskName;
  static constexpr const char* kName = Sums::kName;
  void start(auto& work) { create_parts(work, 0, parts()); }
  std::uint64_t parts() const { return sums.sums.size(); }
  void run(std::uint64_t number) const {
    auto& sum = sums.sums[number].value;
    sum = sums.body(sums.range.part(number), std::move(sum), true);
  }
  auto finish() { return sums.sums.empty() ? std::move(sums.identity) : std::move(sums.sums.back().value); }

  Sums sums;
};

// ---- Sort: quicksort, the parts as tasks ----

template <class Iterator, class Less>
struct Sort {
  using TaskName = task_names::parallel_sort<Iterator, Less>;
  static constexpr const char* kName = "parallel_sort()";
  using Offset = typename std::iterator_traits<Iterator>::difference_type;
  static constexpr std::uint64_t kSmall = 2048;

  void start(auto& work);
  void finish() {}
  Iterator at(std::uint64_t offset) const { return begin + static_cast<Offset>(offset); }
  /// Three-way partition. @returns the bounds of both ends, which are not sorted yet: [first, returned.first)
  /// and [returned.second, last). The middle is in its place.
  std::pair<std::uint64_t, std::uint64_t> divide(std::uint64_t first, std::uint64_t last) const;
  Iterator median(Iterator a, Iterator b, Iterator c) const {
    if (less(*b, *a)) std::swap(a, b);
    if (!less(*c, *b)) return b;
    return less(*c, *a) ? a : c;
  }

  Iterator begin;
  std::uint64_t size;
  std::uint64_t grain;
  Less less;
};

template <class Iterator, class Less>
std::pair<std::uint64_t, std::uint64_t> Sort<Iterator, Less>::divide(std::uint64_t first,
                                                                     std::uint64_t last) const {
  const std::uint64_t eighth = (last - first) / 8;
  const auto some = [&](unsigned i) { return at(first + i * eighth); };
  const Iterator pivot = at(first);
  std::iter_swap(pivot, median(median(some(0), some(1), some(2)), median(some(3), some(4), some(5)),
                               median(some(6), some(7), at(last - 1))));
  const Iterator right = std::partition(pivot + 1, at(last), [&](const auto& x) { return less(x, *pivot); });
  const Iterator middle = right - 1;
  std::iter_swap(pivot, middle);
  // With few smaller ones many may be equal to it.
  const auto left = static_cast<std::uint64_t>(middle - begin);
  const bool is_lopsided = left - first < eighth;
  const Iterator larger =
      is_lopsided ? std::partition(right, at(last), [&](const auto& x) { return !less(*middle, x); }) : right;
  return {left, static_cast<std::uint64_t>(larger - begin)};
}

template <class Work>
struct SortPart {
  using TaskName = typename Work::TaskName;
  void operator()(Work* work, std::uint64_t first, std::uint64_t last, unsigned divisions_left) const {
    work->failures.attempt([=] { sort_part(work, first, last, divisions_left); });
  }
  static void sort_part(Work* work, std::uint64_t first, std::uint64_t last, unsigned divisions_left) {
    const auto& sort = work->algorithm;
    if (last - first <= sort.grain || divisions_left == 0)
      return std::sort(sort.at(first), sort.at(last), sort.less);
    const auto [left, right] = sort.divide(first, last);
    const Annotations annotations = work->annotations();
    if (left - first > 1)
      rubato::create<TaskType::nonspec>(SortPart{}, annotations, work, first, left, divisions_left - 1);
    if (last - right > 1)
      rubato::create<TaskType::nonspec>(SortPart{}, annotations, work, right, last, divisions_left - 1);
  }
};

template <class Iterator, class Less>
void Sort<Iterator, Less>::start(auto& work) {
  if (size < 2) return;
  unsigned divisions = 0;  // beyond which pivots were bad all the time
  for (std::uint64_t n = size; n > 1; n /= 2) divisions += 2;
  rubato::create<TaskType::nonspec>(SortPart<std::remove_reference_t<decltype(work)>>{}, work.annotations(),
                                    &work, std::uint64_t{0}, size, divisions);
}

template <class Iterator, class Less>
Sort<Iterator, Less> sort_of(Iterator begin, Iterator end, Less less) {
  const auto size = begin < end ? static_cast<std::uint64_t>(end - begin) : 0;
  return {begin, size, std::max(Sort<Iterator, Less>::kSmall, size / (8 * parallelism())), std::move(less)};
}

template <class T>
inline constexpr bool is_then = false;
template <class F>
inline constexpr bool is_then<Then<F>> = true;

}  // namespace engine

/// Calls body(part) for parts of the range, each a blocked_range.
template <class Index, class Body>
void parallel_for(const blocked_range<Index>& range, Body body) {
  engine::run_to_end(engine::For<Index, Body>{engine::DividedRange<Index>(range), std::move(body)});
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Index, class Body, class F>
void parallel_for(const blocked_range<Index>& range, Body body, Then<F> then) {
  engine::run_before(engine::For<Index, Body>{engine::DividedRange<Index>(range), std::move(body)},
                     std::move(then));
}
/// Calls body(i) for each i from `begin` to `end`.
template <class Begin, class End, class Body, class Index = std::common_type_t<Begin, End>>
void parallel_for(Begin begin, End end, Body body) {
  parallel_for(blocked_range<Index>(begin, end), engine::EachOf<Body>{std::move(body)});
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Begin, class End, class Body, class F, class Index = std::common_type_t<Begin, End>>
void parallel_for(Begin begin, End end, Body body, Then<F> then) {
  parallel_for(blocked_range<Index>(begin, end), engine::EachOf<Body>{std::move(body)}, std::move(then));
}

/// Calls body(*i) for each i from `begin` to `end`. Forward iterators are enough.
template <class Iterator, class Body>
void parallel_for_each(Iterator begin, std::type_identity_t<Iterator> end, Body body) {
  engine::run_to_end(engine::ForEach<Iterator, Body>(begin, end, std::move(body)));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Iterator, class Body, class F>
void parallel_for_each(Iterator begin, std::type_identity_t<Iterator> end, Body body, Then<F> then) {
  engine::run_before(engine::ForEach<Iterator, Body>(begin, end, std::move(body)), std::move(then));
}

/// body(part, identity) gives a part's result, combine(left, right) that of two neighbours; combine need not
/// be commutative. @returns the range's, `identity` if it is empty. Which parts there are depends on the
/// number of workers if no grain is given: so may the last bits of a sum of floating-point numbers.
template <class Index, class T, class Body, class Combine>
T parallel_reduce(const blocked_range<Index>& range, T identity, Body body, Combine combine) {
  return engine::run_to_end(engine::Reduce<Index, T, Body, Combine>(range, std::move(identity),
                                                                    std::move(body), std::move(combine)));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Index, class T, class Body, class Combine, class F>
void parallel_reduce(const blocked_range<Index>& range, T identity, Body body, Combine combine,
                     Then<F> then) {
  engine::run_before(engine::Reduce<Index, T, Body, Combine>(range, std::move(identity), std::move(body),
                                                             std::move(combine)),
                     std::move(then));
}

/// Prefix sums, for any associative operation. body(part, before, is_final) goes through a part, starting
/// from the sum of all that precede it, and returns the sum that includes the part. Only if `is_final` it
/// writes results. Each part is gone through up to twice. combine() as for parallel_reduce(). @returns the
/// sum of the whole range
template <class Index, class T, class Body, class Combine>
T parallel_scan(const blocked_range<Index>& range, T identity, Body body, Combine combine) {
  using Sums = engine::ScanSums<Index, T, Body, Combine>;
  return engine::run_to_end(engine::ScanFinal<Sums>{
      engine::run_to_end(Sums(range, std::move(identity), std::move(body), std::move(combine)))});
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Index, class T, class Body, class Combine, class F>
void parallel_scan(const blocked_range<Index>& range, T identity, Body body, Combine combine, Then<F> then) {
  using Sums = engine::ScanSums<Index, T, Body, Combine>;
  TaskGroup* const group = then.group;
  engine::run_before(
      Sums(range, std::move(identity), std::move(body), std::move(combine)),
      rubato::then([then = std::move(then)](
                       Sums sums) { engine::run_before(engine::ScanFinal<Sums>{std::move(sums)}, then); },
                   group));
}

/// Calls all functions, at once if there are workers. The last argument may be a then().
template <class... Functions>
  requires(sizeof...(Functions) != 0)
void parallel_invoke(Functions... functions) {
  constexpr std::size_t kLast = sizeof...(Functions) - 1;
  std::tuple<Functions...> all(std::move(functions)...);
  if constexpr (engine::is_then<std::tuple_element_t<kLast, std::tuple<Functions...>>>) {
    [&all]<std::size_t... I>(std::index_sequence<I...>) {
      using Algorithm = engine::Invoke<std::tuple_element_t<I, std::tuple<Functions...>>...>;
      engine::run_before(Algorithm{{std::move(std::get<I>(all))...}}, std::move(std::get<kLast>(all)));
    }(std::make_index_sequence<kLast>{});
  } else {
    engine::run_to_end(engine::Invoke<Functions...>{std::move(all)});
  }
}

/// Sorts; equal elements may change places. Random-access iterators; no memory.
template <class Iterator, class Less = std::less<>>
  requires(!engine::is_then<Less>)
void parallel_sort(Iterator begin, std::type_identity_t<Iterator> end, Less less = {}) {
  engine::run_to_end(engine::sort_of(begin, end, std::move(less)));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Iterator, class Less, class F>
void parallel_sort(Iterator begin, std::type_identity_t<Iterator> end, Less less, Then<F> then) {
  engine::run_before(engine::sort_of(begin, end, std::move(less)), std::move(then));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Iterator, class F>
void parallel_sort(Iterator begin, std::type_identity_t<Iterator> end, Then<F> then) {
  parallel_sort(begin, end, std::less<>(), std::move(then));
}

}  // namespace rubato::inline v0
