// Actions of a window core that wait for their cycle: loads and stores that are to reach the L1 or beyond. Of
// two in one cycle the older comes first. An action whose load or store is gone stays here; the core tells by
// the stamp that it is void.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <queue>

namespace rubato::chip {

struct WindowAction {
  std::uint64_t at;
  std::uint64_t stamp;     ///< of the load or store
  std::uint64_t position;  ///< of a load; of a store 0

  bool is_store() const { return position == 0; }
  bool operator<(const WindowAction& o) const {  // std::priority_queue is a max-heap
    return at != o.at ? at > o.at : stamp > o.stamp;
  }
};

class WindowActions {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void add(const WindowAction& action) { queue_.push(action); }
  /// The cycle of the first one, or kNone.
  std::uint64_t next() const { return queue_.empty() ? kNone : queue_.top().at; }
  /// Precondition: there is one.
  WindowAction take() {
    const WindowAction first = queue_.top();
    queue_.pop();
    return first;
  }
  void clear() {
    while (!queue_.empty()) queue_.pop();
  }

 private:
  std::priority_queue<WindowAction> queue_;
};

}  // namespace rubato::chip
