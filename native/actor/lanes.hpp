// An actor with an urgent lane (A35): what its turn takes from the mailbox is sorted into two lanes, and
// the urgent one goes first. The last node of the mailbox is in neither: it is kept until finish() releases
// it, as in every turn.
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/engine/actor_extras.hpp"

namespace rubato::inline v0::native {

/// The rules of a correct lane. Tests derive from it to build mutants, which they must catch.
struct LaneRules {
  static constexpr bool kKeepsReleasedUnhandled = true;
  static constexpr bool kFinishesOnlyForMore = true;
};

inline constexpr unsigned kUrgentInARow = 64;
/// Steps of one sort: senders that never pause must not keep an actor from its messages.
inline constexpr unsigned kMostSorted = 1 << 16;

/// Sorts all that is linked, or very many. `free` gets a node that was handled as the last, and may be freed
/// now.
template <class Rules = LaneRules, class Mailbox, class Node>
void sort_into_lanes(Mailbox& mailbox, engine::BasicLanes<Node>& lanes, auto free) {
  const auto lane_of = [&lanes](const Node* node) -> engine::BasicNodeList<Node>& {
    return node->is_high() ? lanes.high : lanes.normal;
  };
  for (unsigned looks = 0; looks < kMostSorted; ++looks) {
    const typename Mailbox::Taken taken = mailbox.take();
    if (taken.node != nullptr) {
      if (taken.is_last) {
        lanes.last = taken.node;
      } else {
        lane_of(taken.node).append(taken.node);
      }
      continue;
    }
    if (Rules::kFinishesOnlyForMore && !mailbox.has_more()) return;
    Node* const released = mailbox.finish().released;
    if (released == nullptr) return;
    if (lanes.last == nullptr) {
      free(released);  // handled already
    } else {
      lanes.last = nullptr;
      if (Rules::kKeepsReleasedUnhandled) lane_of(released).append(released);
    }
  }
}

template <class Node>
struct FromLanes {
  Node* node;    ///< null: there is none
  bool is_mine;  ///< not the last of the queue, which is kept until finish()
};

/// Urgent ones first, but one of the others after 64.
template <class Node>
FromLanes<Node> take_from_lanes(engine::BasicLanes<Node>& lanes) {
  Node* const last = lanes.last;
  const bool has_high = !lanes.high.is_empty() || (last != nullptr && last->is_high());
  const bool has_normal = !lanes.normal.is_empty() || (last != nullptr && !last->is_high());
  if (!has_high && !has_normal) return {nullptr, false};
  const bool takes_high = has_high && (!has_normal || lanes.passed < kUrgentInARow);
  lanes.passed = takes_high && has_normal ? lanes.passed + 1 : 0;
  engine::BasicNodeList<Node>& lane = takes_high ? lanes.high : lanes.normal;
  if (!lane.is_empty()) return {lane.take(), true};
  lanes.last = nullptr;
  return {last, false};
}

}  // namespace rubato::inline v0::native
