// The parts of a core that its execution model works with (core_model.hpp): registers and the point of
// execution (PipelineState), the load-store unit, the predictor, and the place where execution left off. Each
// model uses all of them; what only one model needs is a member of that model.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/config/config.hpp"
#include "chip/core/branch_predictor.hpp"
#include "chip/core/latencies.hpp"
#include "chip/core/load_reservation.hpp"
#include "chip/core/load_store_unit.hpp"
#include "chip/core/pipeline_counters.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/insn.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// The place where a run left off. It holds while the pc is unchanged and decoded blocks are those of then.
struct ResumePoint {
  isa::Block* block = nullptr;  ///< null: found anew by the pc
  const isa::Insn* insn = nullptr;
  Addr pc = 0;
  std::uint64_t generation = 0;
  PipelineStop stop = PipelineStop::resume;  ///< a strict instruction waits there: it will stop the run so

  void forget() { block = nullptr, stop = PipelineStop::resume; }
};

struct PipelineParts {
  PipelineParts(CoreId core, const Config& config, const PipelinePorts& ports)
      : mispredict(config.core.mispredict),
        latency(latencies_of(config.core)),
        state(core, config, ports),
        reservation(core, ports.l1d, ports.reservations, state.task, state.rights, state.hart),
        lsu(state, config),
        predictor(config.core),
        frequency_mhz(config.chip.frequency_mhz) {}
  PipelineParts(const PipelineParts&) = delete;  // they know each other
  PipelineParts& operator=(const PipelineParts&) = delete;

  // Members that a run reads first stand first, see EventHandler::kFirstUsed; the same holds in the state.
  ResumePoint resume;
  std::uint32_t mispredict;
  LineAddr fetch_line = kNoLine;  ///< the last one that was fetched
  Latencies latency;
  PipelineCounters counters;
  PipelineState state;
  LoadReservation reservation;
  LoadStoreUnit lsu;
  BranchPredictor predictor;
  isa::Insn stopped_at{};  ///< the instruction that the last run stopped at
  Addr stopped_pc{};       ///< its pc, where instructions are observed
  Addr watch_pc = ~Addr{0}, watch_sp = 0;
  std::uint64_t frequency_mhz;
  std::uint64_t time_origin = 0;
};

}  // namespace rubato::chip
