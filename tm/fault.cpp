// SPDX-License-Identifier: MIT
#include "tm/fault.hpp"

#if defined(RUBATO_TM_FAULTY)
#include <sched.h>

#include <cstdlib>
#include <cstring>

#include "tm/failure.hpp"

namespace rubato::tm {
namespace {

constexpr const char* kNames[] = {
    "none",
    "gate_not_rechecked",
    "no_second_look",
    "no_incarnation",
    "no_commit_validation",
    "extends_blindly",
    "undo_in_order",
    "no_undo",
    "unlogged_after_write",
    "unlogged_read_for_write",
    "savepoint_keeps_actions",
    "savepoint_keeps_frees",
    "frees_at_once",
    "quiescence_skipped",
    "irrevocable_not_alone",
    "unlocks_before_undo",
    "savepoint_keeps_stores",
    "regime_changed_unclosed",
    "elision_not_subscribed",
    "regime_not_rechecked",
    "bias_not_revoked",
    "clock_moved_late",
    "frees_past_limbo",
    "bias_not_waited_for",
    "era_begun_unclosed",
    "watch_not_rechecked",
    "own_stack_kept",
    "hardware_unseen",
};

Fault read_fault() {
  const char* const value = std::getenv("RUBATO_TM_FAULT");
  if (value == nullptr) return Fault::none;
  for (std::size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    if (std::strcmp(kNames[i], value) == 0) return static_cast<Fault>(i);
  }
  fatal("RUBATO_TM_FAULT is '%s', which is no fault", value);
}

}  // namespace

void let_others_in() {
  static const bool is_wanted = std::getenv("RUBATO_TM_YIELDS") == nullptr;
  if (!is_wanted) return;
  static __thread unsigned calls;
  if (++calls % 64 < 16) ::sched_yield();
}

std::uint64_t end_of_era(std::uint64_t first, std::uint64_t last) {
  static const char* const value = std::getenv("RUBATO_TM_TIMES");
  return value != nullptr ? first + std::strtoull(value, nullptr, 10) : last;
}

bool has_fault(Fault fault) {
  static const Fault chosen = read_fault();
  return chosen == fault;
}

}  // namespace rubato::tm
#endif
