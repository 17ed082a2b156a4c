// Checks a run while it goes on (C19): records the actions of every attempt and forgets them when it is
// aborted. When it commits, SerialReplay replays it serially, and OrderCheck checks its place in the order.
// Memory is bounded by the attempts that have not committed. The run itself is not changed.
//
// Sound for programs whose non-speculative tasks touch only data that their locale owns, or that no other
// task touches at the same time. Other programs have no serial order to compare with, even if their own locks
// order them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/core/execution_observer.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/memory/kernel_observer.hpp"
#include "chip/os/symbols.hpp"
#include "chip/replay/attempt_record.hpp"
#include "chip/replay/order_check.hpp"
#include "chip/replay/serial_replay.hpp"
#include "chip/speculation/task_observer.hpp"

namespace rubato::chip {

class ReplayChecker final : public TaskObserver, public ExecutionObserver, private KernelObserver {
 public:
  /// @param fail receives the error, once, as a sentence; the checker does nothing more then.
  ReplayChecker(AddressSpace& memory, const Symbols& symbols, const Config& config,
                std::function<void(const std::string&)> fail);

  /// The targets of capsule calls. Outlives the checker.
  void set_capsules(const CapsuleVector* capsules) { capsules_ = capsules; }
  /// A task region begins, with these workers' stacks; before tasks of the region are announced.
  /// @param heap_functions entries of those that the simulator serves.
  void begin_region(std::vector<std::pair<Addr, Addr>> stacks,
                    std::map<Addr, std::int32_t> heap_functions = {});
  /// Every task has committed or was discarded.
  void end_region();
  /// The speculative task on `core` goes on as a non-speculative one: it has effect from now on.
  void become_nonspeculative(CoreId core);
  /// The same of task `id`, which is suspended.
  void become_nonspeculative_suspended(std::uint64_t id);
  /// Between these, the kernel's memory accesses are made for task `id`, which is in a system call; 0: for no
  /// checked task. They nest: one call may end others.
  /// @param at_once in a capsule: mappings, and what is written, stay whatever becomes of the task (P49).
  void enter_kernel(std::uint64_t id, bool at_once = false);
  void leave_kernel();
  /// Likewise, what the ideal allocator does for task `id`, whose registers are these before and after a
  /// call.
  /// @param served not if the program's own function is to run, or the task stops.
  void enter_heap(std::uint64_t id, const HartState& hart);
  void leave_heap(CoreId core, const HartState& hart, bool served, Addr taken, Addr freed);

  void on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor&, CoreId, Cycle) override;
  void on_dispatched(CoreId, const DispatchedTask&, Cycle) override;
  void on_suspended(std::uint64_t id, CoreId, Cycle) override;
  void on_resumed(CoreId, const DispatchedTask&, Cycle) override;
  void on_doomed_resumed(CoreId, const DispatchedTask&, Cycle) override;
  void on_finished(std::uint64_t id, CoreId, Cycle) override;
  void on_committed(std::uint64_t id, CoreId, Cycle, bool waits) override;
  void on_aborted(std::uint64_t id, CoreId, const AbortReason&, bool discarded, Cycle) override;

  void on_discarded(std::uint64_t id, Cycle) override { created_.erase(id); }

  void on_begin(CoreId, const HartState&) override;
  void on_load(CoreId, Addr, unsigned bytes, std::uint64_t value) override;
  void on_store(CoreId, Addr, unsigned bytes) override;
  void on_atomic(CoreId, Addr, unsigned bytes, std::uint64_t old_value) override;
  void on_store_conditional(CoreId, Addr, unsigned bytes, bool stored) override;
  void on_counter(CoreId, std::uint64_t value) override;
  void on_task_read(CoreId, unsigned selector, std::uint64_t value) override;
  void on_handler(CoreId core, const TaskDescriptor& handler) override;
  void on_kernel_exit(CoreId, const HartState&) override;

 private:
  using Record = std::unique_ptr<AttemptRecord>;

  void on_map(Addr a, std::uint64_t bytes, std::uint8_t attributes) override;
  void on_unmap(Addr a, std::uint64_t bytes) override;
  void on_protect(Addr a, std::uint64_t bytes, std::uint8_t attributes) override;
  void on_discard(Addr a, std::uint64_t bytes) override;
  void on_move(Addr from, Addr to, std::uint64_t bytes) override;
  void on_kernel_read(Addr a, std::uint64_t bytes) override;
  void on_kernel_write(Addr a, std::uint64_t bytes) override;

  void add(CoreId core, const TaskAction& action) {
    if (running_[core.value] != nullptr) running_[core.value]->actions.push_back(action);
  }
  /// Notes precedences of an access to untracked memory, which has just been added.
  void note_precedences(AttemptRecord& record);
  void note_untracked(CoreId core, Addr address) {
    if (suspensions_ == 0 || running_[core.value] == nullptr) return;
    AttemptRecord& record = *running_[core.value];
    if (record.suspensions_seen != suspensions_ && (memory_.attributes(address) & Page::kUntracked) != 0)
      note_precedences(record);
  }
  /// Adds a change of mappings.
  void add_kernel(const TaskAction& action) {
    if (at_once_) return change(action);
    if (kernel_for_.back() != nullptr) kernel_for_.back()->actions.push_back(action);
  }
  void change(const TaskAction& mapping);
  void add_kernel(TaskAction action, std::vector<std::byte> data);
  std::vector<std::byte> bytes_at(Addr a, std::uint64_t bytes) const;
  /// Replays the actions before `end`, and before each of them the actions of other tasks that it depends on.
  void replay_until(AttemptRecord& record, std::size_t end);
  void advance(AttemptRecord& record, std::size_t end);
  /// The creation of the task must have been replayed before the task is.
  void replay_creation(const AttemptRecord& child);
  /// The same for the precedences of `record` before its action `end`.
  void replay_precedences(AttemptRecord& record, std::size_t end);
  /// The same for the freeing of memory that a call got.
  void replay_freeing(const HeapCall& call);
  void become_nonspeculative(AttemptRecord& record);
  /// Other attempts may take the memory that heap call `action` freed from now on.
  void note_freeing(const AttemptRecord& record, std::size_t action);
  /// The mapping of this range changes, so other tasks' earlier changes to it are replayed too.
  void replay_mapping(Addr a, std::uint64_t bytes);
  void replay_mapping(AttemptRecord& record, Addr a, std::uint64_t bytes);
  AttemptRecord* running(std::uint64_t id) const;
  /// A sentence, if a task that was created has no end.
  std::string tasks_left() const;
  /// Does `check`, unless something is wrong already.
  template <class Check>
  void guarded(const Check& check);
  void fail(const std::string& sentence);

  AddressSpace& memory_;
  const Symbols& symbols_;
  std::function<void(const std::string&)> fail_;
  const CapsuleVector* capsules_ = nullptr;
  OrderCheck new_order_;    // of a region
  bool is_active_ = false;  // in a region, and nothing is wrong yet

  std::vector<AttemptRecord*> kernel_for_;  // tasks in the kernel, innermost last; null: not a checked one
  bool in_heap_ = false, at_once_ = false;
  HeapCall heap_call_;      // being served
  Addr heap_function_ = 0;  // its entry
  struct Freeing {
    std::uint64_t task;
    std::size_t action;
  };
  // The last non-speculative freeing of each block; looked up only. Other tasks may take the blocks that an
  // attempt frees when it has committed, and then all of it has been replayed.
  std::unordered_map<Addr, Freeing> freeings_;
  std::vector<std::pair<Addr, Addr>> stacks_;

  std::uint64_t suspensions_ = 0;                       // in the region
  std::vector<Record> running_;                         // by core
  std::map<std::uint64_t, Record> suspended_;           // by id
  std::unordered_map<std::uint64_t, Record> finished_;  // by id; looked up only
  struct Created {
    std::uint64_t parent;
    TaskDescriptor descriptor;
  };
  std::unordered_map<std::uint64_t, Created> created_;  // all that may still commit, by id; looked up only
  std::unique_ptr<SerialReplay> replay_;
  OrderCheck order_;
};

}  // namespace rubato::chip
