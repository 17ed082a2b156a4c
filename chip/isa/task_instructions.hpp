// Encodings of the task instructions (C6), shared by the decoder, the guest headers and docs/isa.md.
// All are I-type in the custom-0 opcode (0x0b): funct3 selects the instruction, imm[11:0] its variant. Values
// travel in fixed registers so that one instruction creates a task without touching memory.
// This header is plain C++ constants: it compiles for host and RISC-V.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip::isa {

inline constexpr std::uint32_t kCustom0 = 0x0b;

/// funct3 of each task instruction. Register fields that are not named here are x0.
enum class TaskOp : std::uint32_t {
  create = 0,          ///< a7 function, a5 timestamp, a6 locale or place, a0..a4 arguments; imm = CreateFlags
  finish = 1,          ///< ends the running task; imm = FinishFlags
  promote = 2,         ///< no-op in a non-speculative task, else an exception (C18); imm = 0
  read = 3,            ///< rd = the value that imm selects (ReadSelector)
  region = 4,          ///< imm = RegionOp: enters the task region as its owner or as a worker
  capsule_call = 5,    ///< imm = CapsuleOp: a7 vector entry, rd x0 or ra; or sets the vector, a0 and a1
  capsule_return = 6,  ///< depth - 1; goes on at ra; imm = 0
  capsule_on_abort = 7,  ///< a7 function, a0..a4 arguments; imm[6:4] = their number
};

/// imm of `capsule_call`.
enum class CapsuleOp : std::uint32_t { call = 0, vector = 1 };
/// Calls that may be nested (P21).
inline constexpr std::uint32_t kMaxCapsuleDepth = 64;

/// imm of `create`. Reserved bits set, type 3, more than 5 arguments, a locale and a place, or kNamed without
/// an argument: an illegal instruction.
struct CreateFlags {
  static constexpr std::uint32_t kTypeMask = 0x3;  ///< 0 spec, 1 nonspec, 2 mayspec
  static constexpr std::uint32_t kHasTimestamp = 1u << 2;
  static constexpr std::uint32_t kHasLocale = 1u << 3;
  static constexpr std::uint32_t kArgumentsShift = 4;   ///< 3 bits: 0 to 5 arguments
  static constexpr std::uint32_t kReads = 1u << 7;      ///< hint: the task only reads what its locale names
  static constexpr std::uint32_t kNamed = 1u << 8;      ///< a0 is the function that reports name the task by
  static constexpr std::uint32_t kAgain = 1u << 9;      ///< a task that ended as waiting, once more
  static constexpr std::uint32_t kHasPlace = 1u << 10;  ///< hint: a6 is a core near which it runs
  static constexpr std::uint32_t kReserved = 0x800;
};

/// imm of `finish`.
struct FinishFlags {
  static constexpr std::uint32_t kWaits = 1u << 0;  ///< the task found that it must wait: it is created again
};
inline constexpr unsigned kMaxArguments = 5;

/// imm of `read`. Outside a task: timestamp 0, not timestamped, not speculative.
enum class ReadSelector : std::uint32_t {
  timestamp = 0,
  is_timestamped = 1,
  is_task = 2,         ///< 1 inside a task
  is_speculative = 3,  ///< 1 if the running task may still be rolled back
  core = 4,
  tile = 5,
  cores = 6,
  workers = 7,         ///< threads that are to serve regions: one a core, and task.spare_workers a tile
  function = 8,        ///< of the running task, the function that reports name it by; outside a task 0
  is_doomed = 9,       ///< 1 in a capsule call whose attempt was aborted (P36)
  capsule_depth = 10,  ///< of nested capsule calls
  stack_low = 11,      ///< of the core's own stack: [stack_low, stack_high)
  stack_high = 12,
  has_capsules = 13,  ///< 1 unless task.capsules is false
  caller_stack = 14,  ///< sp at the outermost capsule call; 0 at depth 0
  own_core = 15,      ///< core + 1 in a task; negated if it may still be rolled back; 0 outside tasks
};

/// imm of `region`. Both forms take a0 = lowest address of the hart's own worker stack. The instruction that
/// follows must be `task.finish`: it is where every task returns to (ra). When the region ends, the hart goes
/// on behind that `finish` with all registers as they were at `region`.
enum class RegionOp : std::uint32_t {
  enter = 0,   ///< starts the region: all tasks run, then the hart goes on. Becomes the worker of one core
  worker = 1,  ///< serves regions as a worker, one after another; never goes on
};

}  // namespace rubato::chip::isa
