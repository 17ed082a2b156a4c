// See window_squash.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_squash.hpp"

#include <algorithm>
#include <utility>

namespace rubato::chip {

void WindowSquash::from(std::uint64_t position, Addr pc, std::uint64_t at) {
  HartState& hart = w_.state.hart;
  bool has_flags = false;
  std::uint32_t flags = 0;
  bool keeps = w_.fault == WindowFault::squash_keeps_register;
  while (w_.buffer.tail() > position) {
    const WindowEntry& e = w_.buffer[w_.buffer.tail() - 1];
    if (e.insn.rd != isa::Insn::kSink && !std::exchange(keeps, false))
      hart.registers()[e.insn.rd] = e.old_value;
    w_.issue.undo(e, w_.now);
    if (e.has_flags) has_flags = true, flags = e.float_flags;
    if (e.is_load()) {
      w_.commits.drop_load();
      w_.pending.drop_load(e);
      if (e.state == WindowEntry::State::waiting)
        w_.stats.end_waiting_miss(e.asked, std::max(e.asked, w_.now));
    }
    w_.pipeline.predictor.set_path(e.path);
    ++w_.stats.squashed;
    w_.buffer.drop();
  }
  if (w_.fault != WindowFault::squash_keeps_store) w_.stores.remove_from(position);
  w_.pending.drop_from(position);
  if (has_flags && w_.fault != WindowFault::squash_keeps_flags) hart.fcsr = (hart.fcsr & ~31U) | flags;
  hart.pc = pc;
  w_.pipeline.resume.block = nullptr;
  w_.pipeline.fetch_line = kNoLine;
  w_.point.restart(std::max(at, w_.now));
}

}  // namespace rubato::chip
