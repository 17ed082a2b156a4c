// SPDX-License-Identifier: MIT
// Rounds. In each the threads look at a prefix of the vertices that are not decided yet. A vertex with an
// earlier neighbour in the set is out of it; if all earlier neighbours are out, it is in. All others wait for
// the next round. A decision is final, so a thread may see one of the same round or not.
#include "apps/mis/mis_threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "apps/common/frontier.hpp"

namespace rubato::apps {
namespace {

enum State : std::uint8_t { kOut, kIn, kUndecided };

class Decisions {
 public:
  Decisions(const Adjacency& graph, const PriorityOrder& priorities)
      : graph_(graph), turn_(priorities.turn), states_(graph.vertices(), kUndecided) {}

  /// @returns whether the vertex is decided now
  bool decide(std::uint32_t v) {
    std::uint8_t state = kIn;
    for (const std::uint32_t other : graph_.of(v)) {
      if (turn_[other] > turn_[v]) continue;
      const std::uint8_t earlier = std::atomic_ref(states_[other]).load(std::memory_order_relaxed);
      if (earlier == kIn) {
        state = kOut;
        break;
      }
      if (earlier == kUndecided) state = kUndecided;
    }
    if (state != kUndecided) std::atomic_ref(states_[v]).store(state, std::memory_order_relaxed);
    return state != kUndecided;
  }

  std::vector<std::uint8_t> take() { return std::move(states_); }

 private:
  const Adjacency& graph_;
  const std::vector<std::uint32_t>& turn_;
  std::vector<std::uint8_t> states_;
};

}  // namespace

std::vector<std::uint8_t> mis_threads(const Adjacency& graph, const PriorityOrder& priorities,
                                      std::uint32_t threads) {
  Decisions decisions(graph, priorities);
  const std::vector<std::uint32_t>& order = priorities.order;
  const std::size_t window = order.size() / 20 + 1;  // as PBBS does
  Frontier undecided(threads);
  ThreadTeam::run(threads, [&](ThreadTeam::Member& me) {
    Frontier::Part part(undecided, me);
    const auto look_at = [&](std::uint32_t v) {
      if (!decisions.decide(v)) part.found().push_back(v);
    };
    std::size_t taken = 0;  // of the order; the same for all members
    do {
      part.for_each(look_at);
      const std::size_t more = std::min(order.size() - taken, window - std::min(window, part.size()));
      for (std::size_t i = me.part_begin(more); i != me.part_end(more); ++i) look_at(order[taken + i]);
      taken += more;
    } while (part.advance() || taken != order.size());
  });
  return decisions.take();
}

}  // namespace rubato::apps
