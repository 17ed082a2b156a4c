// The chip as its cores, its task units and its programs see it: three hosts, which ask the chip's parts and
// tell Chip::Impl what changes the run. They decide nothing themselves.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chip/chip.hpp"
#include "chip/core/core_host.hpp"
#include "chip/program/program.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/vocabulary/memory_system.hpp"

namespace rubato::chip {

struct Chip::CoreSide final : CoreHost, AccessClient {
  explicit CoreSide(Impl& c) : chip(c) {}

  TaskSystem& tasks() override;
  CapsuleVector& capsules(CoreId core) override;
  void capsule_ended(CoreId core, const OpenCapsuleCall& call, Cycle now) override;
  void begin_speculation() override;

  void find_thread(Core& core, Cycle now) override;
  void slice_ended(Core& core, Cycle now) override;
  void thread_left(Core& core, const Thread& thread, Cycle now) override;
  SyscallOutcome syscall(Core& core, Thread& thread, Cycle now) override;
  bool fault(Core& core, Thread& thread, const Fault& fault, Cycle now) override;
  void thread_moved(Core& core, Thread& thread, Cycle now) override;
  void region_returned(Core& core, Cycle now) override;
  void drop_decoded_blocks(CoreId core) override;

  void create_outside_task(Core& core, const TaskDescriptor& task, Cycle now) override;
  void region_instruction(Core& core, Thread& thread, bool worker, Cycle now) override;
  std::uint64_t suspend(const SuspendedTask& task) override;
  SuspendedTask resume(std::uint64_t run) override;
  Worker take_worker(const Core& core) override;
  void give_back(const Core& core, const Worker& worker) override;

  HeapCalls::Outcome heap_call(Core& core, std::int32_t function, Attempt* attempt, Cycle now) override;
  const Fault& heap_fault(CoreId core) const override;

  std::uint32_t core_count() const override;
  std::uint32_t worker_count() const override;
  TileId tile_of(CoreId core) const override;

  void on_access_ready(CoreId core, LineAddr line, Cycle now) override;

  Impl& chip;
  bool speculates = false;  // a task has, on whatever core
};

struct Chip::TaskSide final : TaskHost {
  explicit TaskSide(Impl& c) : chip(c) {}

  void wake(CoreId core, Cycle at) override;
  void end_region(Cycle at) override;
  bool abort_running(CoreId core, Cycle at) override;
  bool is_in_capsule(CoreId core) const override;
  void become_nonspeculative(CoreId core) override;
  void become_nonspeculative_suspended(std::uint64_t id) override;
  void retire(Attempt& attempt, bool is_committed) override;
  void free_record(LineAddr record) override;
  void no_progress(const std::string& sentence, const std::string& details) override;
  bool awaits_time() const override;

  void give_back_log(Attempt& attempt);

  Impl& chip;
};

struct Chip::ProgramSide final : Program::Host {
  explicit ProgramSide(Impl& c) : chip(c) {}

  void on_runnable(Program& program, Thread& thread) override;
  void on_retry(Program& program, const Thread* thread) override;
  void on_signal(Program& program, Thread& thread) override;
  void on_marker(Program& program, const Thread& thread, bool begins, const std::string& region) override;
  std::optional<Fault> host_call(Program& program, Thread& thread, std::int32_t function) override;
  Cycle time() const override;
  LockTickets::Runner runner_of(CoreId core) const override;
  void on_ended(Program& program, Thread& thread) override;
  std::string why_no_processes(const Program& program) const override;
  std::uint64_t most_numbers() const override;
  void on_unused(Program& program, GuestSpace& space) override;

  Impl& chip;
};

}  // namespace rubato::chip
