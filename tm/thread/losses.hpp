// Losses of a transaction, in a row, to the same owner of a record (T48). If there are more threads than
// cores, the owner may not run. Fighting for the record then keeps the owner from running.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tm/thread/line.hpp"
#include "tm/thread/waiting.hpp"

namespace rubato::tm {

template <class A>
class Losses {
 public:
  /// The record's owner, when its lock was seen.
  void meet(Line<A>& owner) {
    met_ = &owner;
    met_slot_ = owner.slot.load(std::memory_order_relaxed);
  }

  /// After the rollback. `is_first`: of this transaction. A loss to an unknown owner ends the row.
  void count(bool is_first) {
    in_a_row_ = met_ == nullptr ? 0 : is_first || met_ != winner_ ? 1 : in_a_row_ + 1;
    winner_ = met_;
    slot_ = met_slot_;
    met_ = nullptr;
  }

  /// Outside: at the third loss to one owner lets others run, from the fourth on waits until it has ended.
  void give_way() {
    if (in_a_row_ < kLossesBeforeYield) return;
    if (in_a_row_ == kLossesBeforeYield) {
      A::yield();
    } else if (slot_ % 2 != 0) {
      wait_for_change<A>(winner_->slot, slot_, winner_->waited);
    }
  }

 private:
  static constexpr std::uint32_t kLossesBeforeYield = 3;

  Line<A>* met_ = nullptr;
  Line<A>* winner_ = nullptr;
  std::uint32_t met_slot_ = 0, slot_ = 0, in_a_row_ = 0;
};

}  // namespace rubato::tm
