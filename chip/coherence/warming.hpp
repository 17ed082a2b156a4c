// Whether accesses take time. While a program fast-forwards, its accesses warm the caches (C4): they change
// the same states, without time, traffic or statistics. All parts of a hierarchy share one object, and leave
// the difference to it as far as they can.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/noc/calendar.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class Warming {
 public:
  /// Accesses warm as long as this lives.
  class Scope {
   public:
    explicit Scope(Warming& warming) : warming_(warming) { warming_.is_on_ = true; }
    ~Scope() { warming_.is_on_ = false; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Warming& warming_;
  };

  bool is_on() const { return is_on_; }
  /// Adds to a statistic.
  void count(std::uint64_t& counter, std::uint64_t more = 1) const { counter += is_on_ ? 0 : more; }
  /// Remembers the most of something.
  void count_most(std::uint64_t& most, std::uint64_t now) const {
    if (!is_on_ && now > most) most = now;
  }
  /// Takes the first free cycle of a port from `at` on; warming takes none.
  Cycle book(Calendars& ports, std::uint32_t port, Cycle at) const {
    return is_on_ ? at : ports.book(port, at);
  }

 private:
  bool is_on_ = false;
};

}  // namespace rubato::chip
