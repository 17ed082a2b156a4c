// The vertices that a team of threads visits at once: those that its members found, in equal parts. While
// they visit these, they find the vertices of the next frontier.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/common/thread_team.hpp"

namespace rubato::apps {

class Frontier {
 public:
  explicit Frontier(std::uint32_t threads) : lists_{std::vector<List>(threads), std::vector<List>(threads)} {}

  class Part;

 private:
  /// A member's vertices, and how many there are of the members before it.
  struct List {
    std::size_t begin = 0;
    const std::uint32_t* vertices = nullptr;
  };
  /// Frontiers take turns: members write the lists of one while others still read those of the one before.
  std::array<std::vector<List>, 2> lists_;
  std::size_t size_ = 0;
};

/// A member's part of the frontier.
class Frontier::Part {
 public:
  Part(Frontier& frontier, ThreadTeam::Member& me) : frontier_(frontier), me_(me) {}

  /// The vertices that the member found for the next frontier.
  std::vector<std::uint32_t>& found() { return found_[turn_]; }

  /// Vertices of the frontier, all members' together.
  std::size_t size() const { return size_; }

  /// All members call it: found() of all is the frontier, and empty again. @returns whether it has a vertex
  bool advance() {
    const std::size_t before = me_.sum_before(found().size());
    frontier_.lists_[turn_][me_.index()] = {before, found().data()};
    // All others have called sum_before(): none reads the size of the frontier before any more.
    if (me_.index() + 1 == me_.threads()) frontier_.size_ = before + found().size();
    me_.barrier();
    size_ = frontier_.size_;
    turn_ ^= 1;
    found().clear();
    return size_ != 0;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    const std::size_t end = me_.part_end(size_);
    std::size_t i = me_.part_begin(size_);
    if (i == end) return;
    const std::vector<List>& lists = frontier_.lists_[turn_ ^ 1];
    auto next = std::upper_bound(lists.begin(), lists.end(), i,
                                 [](std::size_t index, const List& list) { return index < list.begin; });
    for (; i != end; ++next) {  // the list before `next` has number i
      const List& list = next[-1];
      const std::size_t list_end = std::min(end, next == lists.end() ? size_ : next->begin);
      for (; i != list_end; ++i) visit(list.vertices[i - list.begin]);
    }
  }

 private:
  Frontier& frontier_;
  ThreadTeam::Member& me_;
  std::size_t size_ = 0;
  std::uint32_t turn_ = 0;
  std::array<std::vector<std::uint32_t>, 2> found_;
};

}  // namespace rubato::apps
