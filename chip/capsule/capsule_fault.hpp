// Bugs of what cores and task units do for capsules, and a plan of aborts inside them, for tests
// (chip/faults.hpp; P103, P105).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <unordered_map>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

enum class CapsuleFault : std::uint8_t {
  none,
  untracked_hit_without_rights,  ///< L1 hits of untracked lines need no right
  rights_kept_after_return,      ///< a capsule's rights last until its task ends
  unchecked_load_marks,          ///< what a doomed run loads counts as checked
  sc_always_succeeds,            ///< a speculative store-conditional, in untracked memory, too
  doomed_store_performed,        ///< to tracked memory
  doomed_create_performed,       ///< a doomed run's task is created
  doom_frees_core,               ///< the task unit takes a doomed core for one that waits for work
  doom_keeps_locale,             ///< a task that was doomed waits for the end of its doomed run
  stack_unchecked,               ///< a call's stack pointer may be anything
  handler_lost,                  ///< the latest one of an attempt
  handler_twice,
  handler_after_commit,         ///< handlers run though the attempt commits
  handlers_survive_in_place,    ///< they run though the attempt becomes non-speculative
  region_ends_before_handlers,  ///< run() does not wait for doomed runs, nor for handlers that are queued
  depth_survives_task,          ///< the next task of the core begins in the capsule that a doomed run left
  vector_unchecked,             ///< a call may lead anywhere
  suspended_not_aborted,        ///< an attempt that waits in a call goes on, whatever it met in memory
  resumed_marks_kept,           ///< it relies on what its core's L1 has checked for a later one meanwhile
  log_line_to_wrong_core,       ///< lines of its undo log go to the core on which it ran last
};

/// The first `attempts` of each task are aborted `delay` cycles after their first capsule call, if that still
/// lasts, wherever it runs or waits then.
struct DoomPlan {
  Latency delay = 0;
  std::uint32_t attempts = 1;
  std::uint64_t dooms = 0;  ///< carried out
  std::unordered_map<std::uint64_t, std::uint32_t>
      begun{};                                              ///< of each task, by its id: attempts, as planned
  std::unordered_map<std::uint64_t, std::uint32_t> open{};  ///< the one whose call lasts
};

}  // namespace rubato::chip
