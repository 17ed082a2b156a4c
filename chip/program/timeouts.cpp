// SPDX-License-Identifier: MIT
#include "chip/program/timeouts.hpp"

namespace rubato::chip {

void Timeouts::schedule(Program& program) {
  const auto at = program.process.next_timeout();
  if (!at) return;
  const std::uint64_t before = program.fast_forward.nanoseconds();
  const std::uint64_t ns = *at > before ? *at - before : 0;
  // Later cycles overflow GuestClock::nanoseconds(): such a wait never ends.
  constexpr std::uint64_t kLast = ~std::uint64_t{0} / 1000;
  const auto in = (static_cast<unsigned __int128>(ns) * frequency_mhz_ + 999) / 1000;
  if (in > kLast) return;
  const Cycle cycle = later(Cycle{static_cast<std::uint64_t>(in)}, timeline_.now());
  if (cycle >= program.timeout_scheduled) return;
  program.timeout_scheduled = cycle;
  ++pending_;
  timeline_.schedule(cycle, this, 0, program.number);
}

void Timeouts::on_event(Cycle now, std::uint32_t, std::uint64_t number) {
  --pending_;
  Program& program = programs_[number];
  program.timeout_scheduled = kNever;
  if (program.is_in_detail()) expire_(program, now);
}

}  // namespace rubato::chip
