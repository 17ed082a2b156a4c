// create_all: many children from one task, as a tree of creators, since a speculative task tracks at most 8
// children (chip, section 1 "queues"). Written on top of create(), the same for every engine but for how many
// children need no tree.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "rubato/resource.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {

/// Children that one speculative task can have.
inline constexpr int kMaxTrackedChildren = 8;

namespace engine {

/// Children that one task creates without a tree. Cores track none: so few that workers can share them still.
#if defined(RUBATO_ENGINE_NATIVE)
inline constexpr int kChildrenWithoutTree = 64;

/// Stand-in for a resource and its header: the memory that is prefetched for a creator.
alignas(64) inline std::uint64_t no_resource[64] = {};

/// Locale of a creator task: excludes no other task. While it is pending, it keeps removed resources from
/// being freed, as the running task does. So do the tasks that it creates in turn (R7).
inline std::optional<Locale> held_by_running() {
  if ((current_thread->running->handle & handle::kResource) == 0) return std::nullopt;
  return Locale::of_resource(
      reinterpret_cast<std::uintptr_t>(&no_resource[32]), false,
      static_cast<std::uint16_t>(option_bits({.synchronization = Synchronization::none})));
}
#else
inline constexpr int kChildrenWithoutTree = kMaxTrackedChildren;
#endif

template <TaskType type, class Each, class Iterator, class... Args>
void split_range(Iterator first, Iterator last, Args... args);

/// Handles a short range in place: the fast case, inlined into the creator.
template <TaskType type, class Each, class Iterator, class... Args>
[[gnu::always_inline]] inline void create_range(Iterator first, Iterator last, Args... args) {
  if (first < last && last - first > kChildrenWithoutTree && is_in_task())
    return split_range<type, Each>(first, last, args...);
  for (; first < last; ++first) Each{}(first, args...);
}

template <TaskType type, class Each, class Iterator, class... Args>
[[gnu::noinline]] void split_range(Iterator first, Iterator last, Args... args) {
  const auto creator = [](Iterator f, Iterator l, Args... a) { create_range<type, Each>(f, l, a...); };
  const auto count = static_cast<std::uint64_t>(last - first);
  const auto offset = [count](unsigned part) {
    return count / kMaxTrackedChildren * part + count % kMaxTrackedChildren * part / kMaxTrackedChildren;
  };
  Annotations annotations;
  if (is_timestamped()) annotations.at = engine::timestamp();
#if defined(RUBATO_ENGINE_NATIVE)
  annotations.on = held_by_running();
#endif
  for (unsigned part = 0; part < kMaxTrackedChildren; ++part) {
    const Iterator from = static_cast<Iterator>(first + offset(part));
    const Iterator to = static_cast<Iterator>(first + offset(part + 1));
    engine::create<type>(creator, annotations, from, to, args...);
  }
}

}  // namespace engine

/// Calls each(i, args...) for every i of [first, last); `each` creates at most one child. Up to 8 elements
/// (native engine: 64) are handled in place. For more, tasks of `type` split the range in 8, again and again;
/// they inherit the running task's timestamp. A task that calls this has no room for other
/// children: create them through `each`, or before.
///   Iterator  an integer or a pointer
///   each      a callable without state
///   args      at most 3
template <TaskType type, class Iterator, class Each, class... Args>
[[gnu::always_inline]] inline void create_all(Iterator first, Iterator last, Each each, Args... args) {
  static_assert(engine::is_portable_function<Each> && std::is_empty_v<Each>,
                "create_all takes a callable without state, such as a lambda that captures nothing");
  static_assert(sizeof...(Args) <= 3, "create_all passes on at most 3 arguments");
  static_assert(
      std::is_pointer_v<Iterator> || (std::is_integral_v<Iterator> && !std::is_same_v<Iterator, bool>),
      "create_all takes integers or pointers as bounds");
  static_cast<void>(each);
  engine::create_range<type, Each>(first, last, args...);
}

/// Creation without a task type: refused with a sentence.
template <class Iterator, class Each, class... Args>
inline void create_all(Iterator, Iterator, Each, Args...) {
  engine::refuse_without_type<Each>();
}

}  // namespace rubato::inline v0
