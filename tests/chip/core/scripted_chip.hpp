// A chip of cores whose task units are scripted; each core has a flat memory of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chip/capsule/capsule_calls.hpp"
#include "chip/capsule/vector.hpp"
#include "chip/core/core.hpp"
#include "chip/isa/task_instructions.hpp"
#include "tests/chip/core/machine.hpp"

namespace rubato::chip::test {

constexpr Addr kBody = kCode + 1024;  // of tasks
constexpr std::uint32_t word(isa::TaskOp op, std::uint32_t imm = 0) {
  return isa::kCustom0 | static_cast<std::uint32_t>(op) << 12 | imm << 20;
}

class ScriptedChip : public CoreHost, public TaskSystem, public AccessRecorder, public EventHandler {
 public:
  struct Part {
    L1Cache l1i{{16384, 8}}, l1d{{16384, 8}};
    FlatMemory system;
    Thread worker;
    std::unique_ptr<Core> core;
    std::deque<DispatchedTask> next;
  };

  explicit ScriptedChip(
      std::uint32_t cores = 1, const std::function<void(Config&)>& change = [](Config&) {}) {
    config.chip.cores = 1;
    change(config);
    config = resolve(config);
    account = std::make_unique<CycleAccount>(cores);
    memory.map(kCode, 4 * AddressSpace::kPageBytes, Page::kRead | Page::kExecute);
    memory.map(kData, 16 * AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
    memory.store(kCode, word(isa::TaskOp::region));
    memory.store(kCode + 4, word(isa::TaskOp::finish));
    parts = std::vector<Part>(cores);
    for (std::uint32_t i = 0; i < cores; ++i) {
      Part& p = parts[i];
      p.system.l1i = &p.l1i;
      p.system.l1d = &p.l1d;
      for (Addr a = kCode; a < kCode + 4096; a += kLineBytes)
        FlatMemory::fill(p.l1i, line_of(a), LineState::shared);
      p.core = std::make_unique<Core>(CoreId{i}, config,
                                      Pipeline::Ports{.memory = &memory,
                                                      .blocks = &blocks,
                                                      .memory_system = p.system,
                                                      .l1i = p.l1i,
                                                      .l1d = p.l1d,
                                                      .timeline = &timeline,
                                                      .recorder = this,
                                                      .log_base = LineAddr{(1ULL << 34) + i * 1000},
                                                      .log_lines = 1000},
                                      timeline, *account, *this);
      p.worker.regs.pc = kCode;
      p.worker.regs.x[reg::sp] = kData + 15 * AddressSpace::kPageBytes + 48;
      p.core->enter_region({&p.worker, p.worker.regs}, Cycle{0});
    }
  }

  Core& core(std::uint32_t i = 0) { return *parts[i].core; }
  /// Appends an instruction to the task body at `end`.
  void emit(std::string_view name, Operands o = {}) { emit(encode(name, o)); }
  void emit(std::uint32_t instruction) {
    memory.store(end, instruction);
    end += 4;
  }
  /// A task of the body at `body`, given to `core` when it asks next.
  Attempt& give(std::uint32_t core, Addr body = kBody, bool speculative = true) {
    DispatchedTask task;
    task.descriptor.function = body;
    task.descriptor.argument_count = 1;
    task.descriptor.arguments[0] = kData;
    task.speculative = speculative;
    task.id = attempts.size() + 1;
    Attempt& attempt = attempts.emplace_back();
    if (speculative) task.attempt = &attempt;
    parts[core].next.push_back(task);
    return attempt;
  }
  /// Calls `action` when the clock is at `at`.
  void at(std::uint64_t at, std::function<void()> action) {
    timeline.schedule(Cycle{at}, this, 0, actions.size());
    actions.push_back(std::move(action));
  }
  /// Until nothing happens any more, then accounts for `until` cycles, all attempts aborted.
  void run(std::uint64_t until) {
    while (timeline.step()) ASSERT_LT(timeline.now(), Cycle{100000});
    for (Part& p : parts) {
      ASSERT_LE(p.core->reached(), Cycle{until});
      p.core->account_until(Cycle{until});
    }
    for (const Attempt& a : attempts) account->settle(a.cycles, CycleClass::aborted);
    EXPECT_EQ(account->first_wrong_core(until), parts.size());
  }
  std::uint64_t cycles(CycleClass c, std::uint32_t core = 0) const {
    return account->of_core(CoreId{core}).of_class(c);
  }
  static std::uint64_t cycles(const Attempt& a) {
    std::uint64_t sum = 0;
    for (const std::uint64_t part : a.cycles.parts) sum += part;
    return sum;
  }

  // CoreHost
  TaskSystem& tasks() override { return *this; }
  CapsuleVector& capsules(CoreId) override { return vector; }
  void capsule_ended(CoreId, const OpenCapsuleCall& call, Cycle now) override {
    capsule_calls.add(call, now);
  }
  void begin_speculation() override {
    if (std::exchange(speculates, true)) return;
    for (Part& p : parts) p.core->pipeline().begin_marks();
  }
  void find_thread(Core&, Cycle) override {}
  void thread_left(Core&, const Thread&, Cycle) override {}
  void slice_ended(Core&, Cycle) override {}
  SyscallOutcome syscall(Core&, Thread&, Cycle) override {
    ++syscalls;
    return on_syscall ? on_syscall() : SyscallOutcome::process_exited;
  }
  std::uint64_t suspend(const SuspendedTask& task) override {
    suspended.push_back(task);
    return suspended.back().task.run = ++last_run;
  }
  SuspendedTask resume(std::uint64_t run) override {
    EXPECT_EQ(suspended.front().task.run, run);
    const SuspendedTask task = suspended.front();
    suspended.pop_front();
    return task;
  }
  Worker take_worker(const Core&) override {
    ++workers_taken;
    return {&spare, spare.regs};
  }
  void give_back(const Core&, const Worker& worker) override { given_back.push_back(worker.thread); }
  HeapCalls::Outcome heap_call(Core& core, std::int32_t function, Attempt* attempt, Cycle now) override {
    heap_calls.push_back({function, attempt, now});
    HartState& hart = core.pipeline().hart();
    const HeapCalls::Outcome outcome = on_heap_call ? on_heap_call(attempt) : HeapCalls::Outcome::returned;
    if (outcome == HeapCalls::Outcome::returned) hart.pc = hart.x[reg::ra];
    return outcome;
  }
  const Fault& heap_fault(CoreId) const override { return wrong_free; }
  void create_outside_task(Core&, const TaskDescriptor&, Cycle) override {}
  void region_instruction(Core&, Thread&, bool, Cycle) override {}
  bool fault(Core&, Thread&, const Fault& fault, Cycle) override {
    faults.push_back(fault.kind);
    return false;
  }
  void region_returned(Core&, Cycle) override {}
  void drop_decoded_blocks(CoreId) override { ++flushes; }
  std::uint32_t core_count() const override { return static_cast<std::uint32_t>(parts.size()); }
  std::uint32_t worker_count() const override { return core_count() + 1; }
  TileId tile_of(CoreId) const override { return TileId{0}; }

  // TaskSystem
  void create_before_region(const TaskDescriptor&) override {}
  void begin_region(Cycle, std::uint32_t) override {}
  CreateOutcome create(CoreId core, const TaskDescriptor&, Cycle now, std::string& error) override {
    creates.push_back(now);
    return on_create ? on_create(core, now, error) : CreateOutcome::accepted;
  }
  bool dispatch(CoreId core, Cycle now, DispatchedTask& work) override {
    auto& next = parts[core.value].next;
    if (next.empty()) return false;
    work = next.front();
    next.pop_front();
    dispatched.emplace_back(work.id, now);
    return true;
  }
  Cycle step_internal(CoreId, Cycle) override { return kNever; }
  bool finish(CoreId core, Cycle now, bool) override {
    finishes.push_back(now);
    return !on_finish || on_finish(core, now);
  }
  bool exception(CoreId core, Cycle now, bool goes_on) override {
    (goes_on ? doomed_by_exception : exceptions).push_back(now);
    return !on_exception || on_exception(core, now);
  }
  void on_abort(CoreId, const Handler& handler) override {
    handlers.push_back(handler.task);
    records.push_back(handler.record);
  }
  void doom(CoreId core, AbortCause cause, Cycle now) override {
    dooms.push_back(cause);
    EXPECT_TRUE(this->core(core.value).abort_task(now));
  }
  void run_handler(CoreId, const Handler& handler, Cycle) override {
    late_handlers.push_back(handler.task);
    records.push_back(handler.record);
  }
  void end_doomed(CoreId, Cycle now) override { doomed_ends.push_back(now); }
  bool doom_task(TileId, std::uint64_t, Cycle) override { return false; }
  void suspend(CoreId, const DispatchedTask&, Cycle now) override { suspensions.push_back(now); }
  void resume(TileId, std::uint64_t, Cycle) override {}
  std::string describe_waiting() const override { return {}; }

  void record(CoreId, LineAddr, bool) override {}
  void on_event(Cycle, std::uint32_t, std::uint64_t action) override { actions[action](); }

  Config config;
  AddressSpace memory;
  CapsuleVector vector{memory};
  isa::BlockCache blocks{memory};
  Timeline timeline;
  std::unique_ptr<CycleAccount> account;
  std::vector<Part> parts;
  std::deque<Attempt> attempts;
  std::vector<std::function<void()>> actions;
  Addr end = kBody;
  bool speculates = false;
  std::uint64_t syscalls = 0, flushes = 0, workers_taken = 0;
  std::function<SyscallOutcome()> on_syscall;
  std::deque<SuspendedTask> suspended;
  std::uint64_t last_run = 0;
  std::vector<Cycle> suspensions;
  Thread spare;
  std::vector<Thread*> given_back;
  std::vector<FaultKind> faults;
  std::vector<Cycle> creates, finishes, exceptions, doomed_by_exception, doomed_ends;
  std::vector<AbortCause> dooms;
  std::vector<TaskDescriptor> handlers, late_handlers;
  std::vector<LineAddr> records;  // of both
  CapsuleCalls capsule_calls;
  std::vector<std::pair<std::uint64_t, Cycle>> dispatched;  ///< task id, when
  std::function<CreateOutcome(CoreId, Cycle, std::string&)> on_create;
  std::function<bool(CoreId, Cycle)> on_finish, on_exception;
  struct HeapCall {
    std::int32_t function;
    Attempt* attempt;
    Cycle at;
    bool operator==(const HeapCall&) const = default;
  };
  std::vector<HeapCall> heap_calls;
  std::function<HeapCalls::Outcome(Attempt*)> on_heap_call;
  Fault wrong_free{FaultKind::task_error, 0, 0, "a wrong free"};
};

}  // namespace rubato::chip::test
