// Hardware transactions first (begin.cpp), and beside them software ones by value (T45): those that can
// be cancelled or have no uninstrumented code, and those that hardware gave up. This is the software side: it
// counts itself, so that hardware transactions know whether to notify any.
// SPDX-License-Identifier: MIT
#include "tm/algorithm/rtm.hpp"

#include "tm/algorithm/by_value.hpp"
#include "tm/hardware/presence.hpp"

namespace rubato::tm {

constinit Hybrid<Atomics> hybrid{shared.gate, by_value::sequence};

namespace {

void begin(Thread& thread) {
  hybrid.begin_software();
  by_value::begin(thread);
}
bool commit(Thread& thread) {
  if (!by_value::commit(thread)) return false;
  hybrid.end_software();
  return true;
}
void roll_back(Thread& thread, const Savepoint* savepoint) {
  by_value::roll_back(thread, savepoint);
  if (savepoint == nullptr) hybrid.end_software();
}
bool become_exclusive(Thread& thread) {
  if (!by_value::become_exclusive(thread)) return false;
  hybrid.end_software();
  return true;
}
bool prepare() { return why_absent() == nullptr; }
void reset_after_fork() {  // the sequence is norec's, too, which resets it
  const Thread* const self = rubato_tm_current;
  hybrid.reset_after_fork(self != nullptr && self->mode == Mode::concurrent &&
                          Regime::tries_hardware(shared.gate.regime()));
}

}  // namespace

constinit const Algorithm kRtm = {.barriers = barriers_of<by_value::Access>(),
                                  .begin = begin,
                                  .commit = commit,
                                  .roll_back = roll_back,
                                  .become_exclusive = become_exclusive,
                                  .is_valid = by_value::is_valid,
                                  .quiesce = by_value::wait_for_others,
                                  .prepare = prepare,
                                  .reset_after_fork = reset_after_fork,
                                  .close_savepoint = settle_private};
static_assert(static_cast<std::uint32_t>(AlgorithmId::serial) == Regime::kSerial &&
              static_cast<std::uint32_t>(AlgorithmId::rtm) == Regime::kHardware);

}  // namespace rubato::tm
