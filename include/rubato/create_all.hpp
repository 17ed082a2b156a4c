// create_all: many children from one task, as a tree of creators, since a speculative task tracks at most 8
// children (chip, section 1 "queues"). Written on top of create(), the same for every engine.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>

#include "rubato/task.hpp"

namespace rubato::inline v0 {

/// Children that one task creates without a tree.
inline constexpr std::int64_t kMaxTrackedChildren = 8;

namespace engine {

template <TaskType type, class Each, class Iterator, class... Args>
void create_range(Iterator first, Iterator last, Args... args) {
  const std::int64_t count = std::distance(first, last);
  if (count <= kMaxTrackedChildren || !is_in_task()) {
    for (; first != last; ++first) Each{}(first, args...);
    return;
  }
  Annotations same_timestamp;
  if (is_timestamped()) same_timestamp.at = engine::timestamp();
  for (std::int64_t part = 0; part < kMaxTrackedChildren; ++part) {
    const Iterator from = first + count * part / kMaxTrackedChildren;
    const Iterator to = first + count * (part + 1) / kMaxTrackedChildren;
    engine::create<type>([](Iterator f, Iterator l, Args... a) { create_range<type, Each>(f, l, a...); },
                         same_timestamp, from, to, args...);
  }
}

}  // namespace engine

/// Calls each(i, args...) for every i of [first, last); `each` creates at most one child. Up to 8 elements
/// are handled in place, more by tasks of `type` that inherit the running task's timestamp and split the
/// range in 8, again and again. Such a task has no other room for children: create them through `each`, or
/// before.
///   Iterator  an index or pointer (at most a word)
///   each      a callable without state
///   args      at most 3
template <TaskType type, class Iterator, class Each, class... Args>
inline void create_all(Iterator first, Iterator last, Each each, Args... args) {
  static_assert(engine::is_portable_function<Each> && std::is_empty_v<Each>,
                "create_all takes a callable without state, such as a lambda that captures nothing");
  static_assert(sizeof...(Args) <= 3, "create_all passes on at most 3 arguments");
  static_assert(engine::is_task_argument<Iterator>,
                "create_all takes indices or iterators of at most 8 bytes");
  static_cast<void>(each);
  engine::create_range<type, Each>(first, last, args...);
}

}  // namespace rubato::inline v0
