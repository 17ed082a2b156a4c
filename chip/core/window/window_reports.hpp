// Reports of a window core to the observers of instructions and of execution: each instruction once, when it
// commits, with the registers as they are then. The registers of the core itself are those of dispatch.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "chip/core/execution_observer.hpp"
#include "chip/core/instruction_observer.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/core/window/reorder_buffer.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WindowReports {
 public:
  /// `state` outlives this.
  explicit WindowReports(const PipelineState& state) : state_(state) {}

  /// Whether an observer is there: each instruction then needs an entry.
  bool any() const { return state_.ports.instructions != nullptr || state_.ports.observer != nullptr; }

  /// Another context begins, with nothing under way.
  void begin() {
    if (state_.ports.instructions != nullptr)
      std::copy_n(state_.hart.registers(), committed_.size(), committed_.begin());
  }
  /// To the observer of execution: an action of an instruction that goes alone, or commits.
  template <class... What>
  void execution(void (ExecutionObserver::*event)(CoreId, What...), What... what) const {
    if (state_.ports.observer != nullptr && !state_.task.is_doomed) [[unlikely]]
      (state_.ports.observer->*event)(state_.core, what...);
  }
  /// `e` commits.
  void commit(const WindowEntry& e) {
    if (state_.ports.instructions != nullptr) instruction(e);
    if (state_.ports.observer != nullptr && !e.is_alone) [[unlikely]]
      access(e);
  }

 private:
  void instruction(const WindowEntry& e) {
    committed_[e.insn.rd] = e.value;
    const bool has_access = e.insn.bytes != 0;
    state_.ports.instructions->on_instruction({.core = state_.core,
                                               .issued = Cycle{e.issued},
                                               .pc = e.pc,
                                               .insn = e.insn,
                                               .registers = committed_.data(),
                                               .address = has_access ? e.address : 0,
                                               .has_access = has_access});
  }
  void access(const WindowEntry& e) const {
    const unsigned bytes = e.insn.bytes;
    if (e.is_store()) execution(&ExecutionObserver::on_store, e.address, bytes);
    if (!e.is_load()) return;
    const std::uint64_t raw = bytes < 8 ? e.value & ((std::uint64_t{1} << bytes * 8) - 1) : e.value;
    execution(&ExecutionObserver::on_load, e.address, bytes, raw);
  }

  const PipelineState& state_;
  std::array<std::uint64_t, 65> committed_{};
};

}  // namespace rubato::chip
