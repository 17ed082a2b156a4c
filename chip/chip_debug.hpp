// The chip as a debugger sees it: stops of threads and tasks, in fast-forward and in detail, are the
// debugger's first.
//
// A breakpoint in a speculative task stops it once it is certain to commit: until then `ebreak` is an
// exception (C18). Without a debugger nothing here exists; with one, a stop costs the thread what a signal
// handler would.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chip/core/core.hpp"
#include "chip/debug/debug_target.hpp"
#include "chip/debug/gdb_server.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/memory/fault.hpp"
#include "chip/os/process.hpp"
#include "chip/run.hpp"

namespace rubato::chip {

class ChipDebug final : public DebugTarget {
 public:
  /// Continuation of the thread after a stop.
  enum class After : std::uint8_t { resume, as_without, end };

  /// `on_code_change` is called after the debugger has written to memory; `core_of` gives the core that a
  /// thread is on in detail, or null.
  ChipDebug(GdbServer& server, Process& process, AddressSpace& memory, std::function<void()> on_code_change,
            std::function<const Core*(const Thread&)> core_of)
      : server_(server),
        process_(process),
        memory_(memory),
        on_code_change_(std::move(on_code_change)),
        core_of_(std::move(core_of)) {}

  /// Before the first instruction. False: the run is to end.
  bool begin();
  /// `thread`, whose registers are saved in it, has faulted.
  After stop(Thread& thread, const Fault& fault);
  /// Now and then. False: the run is to end.
  bool look();
  void end(const RunOutcome& outcome, std::optional<int> death_signal);

  std::vector<int> threads() const override;
  const HartState* registers(int tid) const override;
  bool set_registers(int tid, const HartState& registers) override;
  std::size_t read(Addr address, std::span<std::byte> bytes) const override;
  bool write(Addr address, std::span<const std::byte> bytes) override;

 private:
  GdbServer::Wish serve(Thread& thread, int signal);
  Thread* find(int tid) const;
  /// The core that has the thread's registers; null: they are saved in the thread.
  const Core* runs_on(const Thread& thread) const;

  GdbServer& server_;
  Process& process_;
  AddressSpace& memory_;
  std::function<void()> on_code_change_;
  std::function<const Core*(const Thread&)> core_of_;
  const Thread* faulted_ = nullptr;  // it has stopped, its registers saved
  bool is_detached_ = false;
};

}  // namespace rubato::chip
