// The instructions that stop every timed core model, and for which reason (PipelineStop): one list for all of
// them, EVENT and TASK of semantics_macros.hpp. The core executes these instructions itself.
//
// Include it in the source of a model, beside semantics_macros.hpp. The model defines:
//   STOP_AT(reason)  ends the run at INSN with PipelineStop::reason
//   STOP_UNSEEN      ends the run as if its time were over
//   RUNNING_TASK     the RunningTask
//   READ_TIMESTAMP   WRITE_RD of its timestamp, at the time that the model gives register work
// SPDX-License-Identifier: MIT
#pragma once

#define EVENT(kind) EVENT_##kind
#define EVENT_ecall STOP_AT(ecall)
#define EVENT_fence_i STOP_AT(fence_i)
#define EVENT_stop STOP_UNSEEN  // stop addresses are fast-forward's: cleared before detailed simulation
#define EVENT_host_call STOP_AT(host_call)

#define TASK(name) TASK_##name
#define TASK_create STOP_AT(task)
#define TASK_finish STOP_AT(task)
#define TASK_promote STOP_AT(task)
#define TASK_region STOP_AT(task)
#define TASK_capsule_call STOP_AT(task)
#define TASK_capsule_vector STOP_AT(task)
#define TASK_capsule_return STOP_AT(task)
#define TASK_capsule_on_abort STOP_AT(task)
// A task's timestamp never changes: reading it does not stop the core.
#define TASK_read                                                                                \
  do {                                                                                           \
    if (!RUNNING_TASK.is_task || static_cast<ReadSelector>(INSN.imm) != ReadSelector::timestamp) \
      STOP_AT(task);                                                                             \
    READ_TIMESTAMP;                                                                              \
    NEXT_BLOCK();                                                                                \
  } while (false)
