// SPDX-License-Identifier: MIT
#include "chip/os/lock_tickets.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::chip {

std::uint32_t LockTickets::served(Addr lock) const {
  const Addr at = LockMarks::served_of(lock);
  return memory_.allows(at, sizeof(std::uint32_t), Page::kRead) ? memory_.load<std::uint32_t>(at) : 0;
}

void LockTickets::on_atomic(CoreId core, const isa::Insn& insn, Addr pc, Addr address, std::uint64_t old,
                            Cycle cycle) {
  if (!marks_.is_draw(insn, pc)) return;
  const auto ticket = static_cast<std::uint32_t>(old);
  std::vector<Draw>& draws = draws_[address];
  // Cores with tickets before the served one have left. With speculation on locks, a ticket that an aborted
  // task drew is drawn again. Numbers wrap around.
  const std::uint32_t first = served(address), waiting = ticket - first;
  std::erase_if(draws, [&](const Draw& draw) { return draw.ticket - first >= waiting; });
  draws.push_back({ticket, core, runner_(core), pc, cycle});
}

const LockTickets::Draw* LockTickets::holder(Addr lock) const {
  const auto found = draws_.find(lock);
  if (found == draws_.end()) return nullptr;
  const std::vector<Draw>& draws = found->second;
  const auto at = std::find_if(draws.begin(), draws.end(),
                               [now = served(lock)](const Draw& draw) { return draw.ticket == now; });
  return at == draws.end() ? nullptr : &*at;
}

bool LockTickets::has_turn(CoreId core, Addr lock) const {
  const auto found = draws_.find(lock);
  if (found == draws_.end()) return false;
  const std::vector<Draw>& draws = found->second;
  const auto last =
      std::find_if(draws.rbegin(), draws.rend(), [core](const Draw& draw) { return draw.core == core; });
  return last != draws.rend() && last->ticket == served(lock);
}

std::string LockTickets::describe(const Draw& draw, const Symbols& symbols) {
  const auto& [task, thread] = draw.runner;
  const std::string at = symbols.describe(draw.pc);
  if (task == 0) return fmt::format("thread {} (in {} since cycle {})", thread, at, draw.cycle.value);
  return fmt::format("core {} (task {}, in {} since cycle {})", draw.core.value, task, at, draw.cycle.value);
}

}  // namespace rubato::chip
