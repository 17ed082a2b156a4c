// No ownership records: one sequence lock, reads validated by value, stores kept until commit (T43).
// SPDX-License-Identifier: MIT
#include "tm/algorithm/by_value.hpp"

namespace rubato::tm {

constinit SequenceLock<Atomics> by_value::sequence;
constinit std::atomic<std::uint64_t> by_value::quiesced{0};

namespace {

bool prepare() { return true; }
void reset_after_fork() {
  const Thread* const self = rubato_tm_current;
  by_value::sequence.reset_after_fork(self != nullptr && self->holds_sequence);
}

}  // namespace

constinit const Algorithm kNorec = {.barriers = barriers_of<by_value::Access>(),
                                    .begin = by_value::begin,
                                    .commit = by_value::commit,
                                    .roll_back = by_value::roll_back,
                                    .become_exclusive = by_value::become_exclusive,
                                    .is_valid = by_value::is_valid,
                                    .quiesce = by_value::wait_for_others,
                                    .prepare = prepare,
                                    .reset_after_fork = reset_after_fork,
                                    .close_savepoint = settle_private};

}  // namespace rubato::tm
