// SPDX-License-Identifier: MIT
#include "chip/cache/left_reservations.hpp"

#include <algorithm>

#include "chip/cache/l1_cache.hpp"

namespace rubato::chip {

void LeftReservations::add(L1Cache& l1, LineAddr line) {
  std::erase_if(entries_, [&](const Entry& e) { return e.l1 == &l1; });
  entries_.push_back({&l1, line});
}

bool LeftReservations::has(LineAddr line, const L1Cache& self) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.l1->outer(e.line) == line && e.l1 != &self && e.l1->has_reservation(e.line);
  });
}

void LeftReservations::on_store(LineAddr line, const L1Cache& by) {
  std::erase_if(entries_, [&](const Entry& e) {
    if (e.l1->outer(e.line) == line && e.l1 != &by && e.l1->has_reservation(e.line))
      e.l1->clear_reservation();
    return !e.l1->has_reservation(e.line);
  });
}

}  // namespace rubato::chip
