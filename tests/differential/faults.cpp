// Choice of the bug that the engine has: RUBATO_FAULT names it. native/fault.hpp says what each is.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "native/fault.hpp"

namespace rubato::inline v0::native {
namespace {

/// In the order of Fault.
constexpr std::string_view kNames[] = {
    "none",
    "even_while_writing",
    "unvalidated_reads",
    "open_latch",
    "readers_pass_writer",
    "children_of_losers",
    "pool_claimed_twice",
    "pool_let_go_early",
    "freed_at_once",
    "no_birth_epochs",
    "no_local_epochs",
    "no_recheck",
    "wakes_without_epoch",
    "ends_when_idle",
    "silent_arrival",
    "inbox_forgotten",
    "inbox_loses_last",
    "early_timestamp",
    "company_for_spec",
    "group_ignored",
    "group_not_released",
    "actor_two_turns",
    "actor_half_linked",
    "actor_last_freed",
    "actor_any_generation",
    "actor_cell_at_once",
    "actor_reached_unseen",
    "actor_without_budget",
    "actor_muted_for_ever",
    "actor_stop_ignored",
    "actor_timer_unnoticed",
};
static_assert(std::size(kNames) == static_cast<std::size_t>(Fault::actor_timer_unnoticed) + 1);

Fault from_environment() {
  const char* const given = std::getenv("RUBATO_FAULT");
  const std::string_view name = given != nullptr ? given : "none";
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Fault>(i);
  }
  std::fprintf(stderr, "RUBATO_FAULT is none of:");
  for (const std::string_view one : kNames) std::fprintf(stderr, " %s", one.data());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

const Fault chosen = from_environment();

}  // namespace

bool has_fault(Fault fault) { return fault == chosen; }

}  // namespace rubato::inline v0::native
