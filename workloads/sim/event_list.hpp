// Events in the order of time. Two kinds, for the same simulation: a heap, and a plain one to check with.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <set>
#include <vector>

namespace rubato::workloads::sim {

using Time = std::uint64_t;  // nanoseconds

enum class Happening : std::uint32_t {
  packet_is_made,  ///< at node `at`, which draws its destination
  packet_arrives,  ///< at node `at`
  link_is_free,    ///< `link` of node `at`
};

/// Events at the same time are in the order in which they were announced: `number` is different for each.
struct Event {
  Time time;
  std::uint64_t number;
  Happening happening;
  std::uint32_t at, link, packet;
  std::strong_ordering operator<=>(const Event& other) const {
    if (const auto order = time <=> other.time; order != 0) return order;
    return number <=> other.number;
  }
};

/// A heap of four children a node.
class EventHeap {
 public:
  void push(const Event& event) {
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0 && event < heap_[(hole - 1) / kChildren]) {
      heap_[hole] = heap_[(hole - 1) / kChildren];
      hole = (hole - 1) / kChildren;
    }
    heap_[hole] = event;
  }
  /// Removes the first event; there is one.
  Event pop_first() {
    const Event first = heap_.front(), last = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size == 0) return first;
    std::size_t hole = 0;
    for (;;) {
      const std::size_t begin = hole * kChildren + 1, end = std::min(begin + kChildren, size);
      if (begin >= size) break;
      std::size_t least = begin;
      for (std::size_t child = begin + 1; child < end; ++child)
        if (heap_[child] < heap_[least]) least = child;
      if (!(heap_[least] < last)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = last;
    return first;
  }
  std::size_t size() const { return heap_.size(); }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Event& event : heap_) visit(event);
  }

 private:
  static constexpr std::size_t kChildren = 4;
  std::vector<Event> heap_;
};

/// Always sorted.
class PlainEvents {
 public:
  void push(const Event& event) { events_.insert(event); }
  Event pop_first() { return events_.extract(events_.begin()).value(); }
  std::size_t size() const { return events_.size(); }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Event& event : events_) visit(event);
  }

 private:
  std::set<Event> events_;
};

}  // namespace rubato::workloads::sim
