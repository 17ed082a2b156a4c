// State that the parts of a core's pipeline share: the point of execution, the running task, the registers
// and the reason of a stop. Each part has state of its own beside it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "chip/cache/l1_cache.hpp"
#include "chip/config/config.hpp"
#include "chip/conflict/access_recorder.hpp"
#include "chip/conflict/reservations.hpp"
#include "chip/core/departure.hpp"
#include "chip/core/execution_observer.hpp"
#include "chip/core/in_order_observer.hpp"
#include "chip/core/instruction_observer.hpp"
#include "chip/core/line_watch.hpp"
#include "chip/core/lookahead_window.hpp"
#include "chip/core/memory_rights.hpp"
#include "chip/core/order_fault.hpp"
#include "chip/core/running_task.hpp"
#include "chip/core/scoreboard.hpp"
#include "chip/core/stall_account.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/lock_tickets.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// The surroundings of a pipeline.
struct PipelinePorts {
  AddressSpace* memory;
  isa::BlockCache* blocks;
  MemorySystem& memory_system;
  L1Cache& l1i;
  L1Cache& l1d;
  // Speculative tasks need what follows.
  const Timeline* timeline = nullptr;  ///< where the tasks that an access aborts leave their next events
  AccessRecorder* recorder = nullptr;
  Reservations* reservations = nullptr;  ///< of non-speculative tasks; null: only the L1 knows them
  LineAddr log_base{};          ///< undo logs of this core, behind everything that is loaded or stored
  std::uint64_t log_lines = 0;  ///< from log_base on
  ExecutionObserver* observer = nullptr;
  const LineWatch* watch = nullptr;  ///< the observer wants no more than the accesses to its lines; null: all
  InstructionObserver* instructions = nullptr;
  LockTickets* lock_tickets = nullptr;  ///< of a program that has such locks
};

struct PipelineState {
  PipelineState(CoreId id, const Config& config, const PipelinePorts& around)
      : window(config.run.lookahead_cycles), core(id), l1_latency(config.l1d.latency), ports(around) {
    if (around.observer != nullptr) ports.observer = &in_order.emplace(*around.observer);
  }
  PipelineState(const PipelineState&) = delete;  // its parts know each other
  PipelineState& operator=(const PipelineState&) = delete;

  /// To the observer of instructions, if there is one; `address`: of its access, if it made one.
  void show(const isa::Insn& insn, Addr pc, Cycle issued, const Addr* address) const {
    if (ports.instructions == nullptr) return;
    ports.instructions->on_instruction({.core = core,
                                        .issued = issued,
                                        .pc = pc,
                                        .insn = insn,
                                        .registers = hart.registers(),
                                        .address = address != nullptr ? *address : 0,
                                        .has_access = address != nullptr});
  }

  /// Software prefetch of the host memory that the L1 will read for the access that the core left for.
  void prefetch_awaited() const { ports.l1d.prefetch(awaited_set); }

  // Members that a run reads first stand first, see EventHandler::kFirstUsed.
  Cycle cycle{};  ///< of the next instruction, or of the access being made
  LookaheadWindow window;
  RunningTask task;
  /// Every outstanding fill that a load could wait for is done from here on; Scoreboard::kUnknown while
  /// accesses are deferred.
  std::uint64_t fills_until = 0;
  std::uint32_t awaited_set = 0;  ///< of the access that the core left for: its first slot in the L1
  CoreId core;
  std::uint32_t l1_latency;  ///< of a hit
  bool is_refused = false;   ///< the L1 has refused that access, and will do so again
  bool has_floats = false;   ///< registers f need not be zero
  PipelinePorts ports;
  MemoryRights rights{*ports.memory, task, hart};
  Departure departure;
  HartState hart;
  StallAccount stalls;
  Scoreboard scoreboard{stalls};
  std::optional<InOrderObserver> in_order;  ///< what ports.observer is, if it is something
  OrderFault order_fault = OrderFault::none;
};

}  // namespace rubato::chip
