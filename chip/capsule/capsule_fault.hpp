// Bugs of what cores and task units do for capsules, and a plan of aborts inside them, for tests
// (chip/faults.hpp; P103, P105).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/faults.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

// clang-format off
#define RUBATO_CAPSULE_FAULTS(X) \
  X(untracked_hit_without_rights) /* L1 hits of untracked lines need no right */ \
  X(rights_kept_after_return)     /* a capsule's rights last until its task ends */ \
  X(unchecked_load_marks)         /* a doomed run's load counts as checked */ \
  X(sc_always_succeeds)           /* a speculative store-conditional, in untracked memory, too */ \
  X(doomed_store_performed)       /* to tracked memory */ \
  X(doomed_create_performed)      /* a doomed run's task is created */ \
  X(doom_frees_core)              /* the task unit takes a doomed core for one that waits for work */ \
  X(doom_keeps_locale)            /* a task that was doomed waits for the end of its doomed run */ \
  X(stack_unchecked)              /* a call's stack pointer may be anything */ \
  X(handler_lost)                 /* the latest one of an attempt */ \
  X(handler_twice) \
  X(handler_after_commit)         /* handlers run though the attempt commits */ \
  X(handlers_survive_in_place)    /* they run though the attempt becomes non-speculative */ \
  X(region_ends_before_handlers)  /* run() does not wait for doomed runs, nor for handlers that are queued */ \
  X(depth_survives_task)          /* the next task of the core begins in the capsule that a doomed run left */ \
  X(vector_unchecked)             /* a call may lead anywhere */ \
  X(suspended_not_aborted)        /* an attempt that waits in a call goes on, whatever it met in memory */ \
  X(resumed_marks_kept)           /* it relies on what its core's L1 has checked for a later one meanwhile */ \
  X(log_line_to_wrong_core)       /* lines of its undo log go to the core on which it ran last */
// clang-format on
RUBATO_DEFINE_FAULTS(CapsuleFault, kCapsuleFaultNames, RUBATO_CAPSULE_FAULTS)

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
