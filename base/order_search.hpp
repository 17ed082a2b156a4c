// Is there an order of some requests, within the times that each took, in which every answer is right? By
// search: all orders, with the configurations that failed remembered (Wing and Gong 1993, Lowe 2017).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/rng.hpp"

namespace rubato {

enum class OrderFound : std::uint8_t {
  yes,
  no,
  too_many_orders,    ///< the budget of configurations was used up
  too_many_at_a_time  ///< more than `kWindow` requests from the first that is not done
};

/// @tparam kWindow     requests that may begin while one of them is under way
/// @param events       each with `invoked` and `responded`, moments of one clock, in any order
/// @param state_after  (state, event): the state after the event, or nothing if its answer is wrong in
/// `state`
/// @param hash         of a state
/// @param budget       configurations to visit before giving up
template <std::size_t kWindow = 64, class Event, class State, class StateAfter, class Hash>
OrderFound find_order(std::span<const Event> events, State initial, StateAfter&& state_after, Hash&& hash,
                      std::uint64_t budget) {
  /// Events before `first` are done, and those whose bits are set in `done` from there on.
  struct Configuration {
    std::uint64_t first;
    std::bitset<kWindow> done;
    State state;
    bool operator==(const Configuration&) const = default;
  };
  const auto hash_of = [&](const Configuration& c) {
    return static_cast<std::size_t>(
        mix64(mix64(mix64(c.first) ^ std::hash<std::bitset<kWindow>>()(c.done)) ^ hash(c.state)));
  };
  std::vector<Event> sorted(events.begin(), events.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Event& a, const Event& b) { return a.invoked < b.invoked; });
  std::unordered_set<Configuration, decltype(hash_of)> seen(64, hash_of);
  std::vector<Configuration> open{{0, {}, std::move(initial)}};
  while (!open.empty()) {
    const Configuration c = open.back();
    open.pop_back();
    if (c.first == sorted.size()) return OrderFound::yes;
    if (!seen.insert(c).second) continue;
    if (seen.size() > budget) return OrderFound::too_many_orders;
    // The first response among operations that are not done: one that is invoked later cannot be next.
    std::uint64_t first_response = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t i = c.first; i < sorted.size() && sorted[i].invoked <= first_response; ++i) {
      if (i - c.first >= kWindow) return OrderFound::too_many_at_a_time;
      if (!c.done[i - c.first]) first_response = std::min(first_response, sorted[i].responded);
    }
    for (std::uint64_t i = c.first; i < sorted.size() && sorted[i].invoked <= first_response; ++i) {
      if (c.done[i - c.first]) continue;
      std::optional<State> state = state_after(c.state, sorted[i]);
      if (!state) continue;
      Configuration next{c.first, c.done, std::move(*state)};
      next.done.set(i - c.first);
      while (next.done[0]) {
        next.done >>= 1;
        ++next.first;
      }
      open.push_back(std::move(next));
    }
  }
  return OrderFound::no;
}

}  // namespace rubato
