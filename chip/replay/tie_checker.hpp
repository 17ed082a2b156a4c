// Looks for ties between the tasks of a run (run.check_ties): see base/task_ties.hpp. A non-speculative task
// is seen while it runs, a speculative one when it commits; aborted attempts do not count. Stacks of workers
// are left out, and memory that cannot be written. Untracked memory, system calls and allocators synchronize.
// Tasks of one worker share its thread-local data, so a pair of them is no tie: it takes two cores to find
// any.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/task_ties.hpp"
#include "chip/core/instruction_observer.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/symbols.hpp"
#include "chip/speculation/task_observer.hpp"

namespace rubato::chip {

class TieChecker final : public TaskObserver, public InstructionObserver {
 public:
  /// @param fail receives the tasks and the word, once, as a sentence.
  TieChecker(const AddressSpace& memory, const Symbols& symbols, std::uint32_t cores,
             std::function<void(const std::string&)> fail);

  /// A task region begins, with these workers' stacks; before tasks of the region are announced.
  void begin_region(std::vector<std::pair<Addr, Addr>> stacks);
  /// The speculative task on `core` goes on as a non-speculative one: it has effect from now on.
  void become_nonspeculative(CoreId core);
  /// The same of task `id`, which is suspended.
  void become_nonspeculative_suspended(std::uint64_t id);
  /// The simulator has served a call of the allocator for what runs on `core`.
  void on_heap_call(CoreId core);

  void on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor&, CoreId, Cycle) override;
  void on_handler_queued(std::uint64_t id, CoreId, Cycle) override { handlers_.insert(id); }
  void on_dispatched(CoreId, const DispatchedTask&, Cycle) override;
  void on_suspended(std::uint64_t id, CoreId, Cycle) override;
  void on_resumed(CoreId, const DispatchedTask&, Cycle) override;
  void on_doomed_resumed(CoreId, const DispatchedTask&, Cycle) override;
  void on_finished(std::uint64_t id, CoreId, Cycle) override;
  void on_committed(std::uint64_t id, CoreId, Cycle, bool waits) override;
  void on_aborted(std::uint64_t id, CoreId, const AbortReason&, bool discarded, Cycle) override;

  void on_thread(CoreId, std::uint32_t) override {}
  void on_instruction(const ExecutedInstruction& executed) override;

 private:
  enum class Kind : std::uint8_t { load, store, atomic, allocator, kernel };
  struct Action {
    Kind kind;
    std::uint8_t bytes;
    TaskTies::Worker worker;
    Addr address;
  };
  struct Attempt {
    std::uint64_t id = 0;  ///< 0: none
    bool is_speculative = false;
    bool is_in_allocator = false;  ///< the last action was there
    TaskTies::Worker worker = TaskTies::kNoWorker;
    TaskTies::Position position = 0;  ///< of the last action
    std::vector<Action> held;         ///< those without effect so far: the last ones
  };

  void act(Attempt& attempt, Kind kind, Addr address, unsigned bytes);
  void become_nonspeculative(Attempt& attempt);
  void release(Attempt& attempt);
  void apply(std::uint64_t id, TaskTies::Position position, const Action& action);
  /// kNoWorker: it is no worker's stack.
  TaskTies::Worker worker_of(Addr a) const;
  void fail(const TaskTies::Tie& tie);
  std::string describe(std::uint64_t id) const;

  const AddressSpace& memory_;
  const Symbols& symbols_;
  std::function<void(const std::string&)> fail_;
  std::pair<Addr, Addr> allocator_;                          // code that is not looked at, [begin, end)
  bool is_active_ = false;                                   // in a region, and no tie was found yet
  std::vector<std::pair<Addr, Addr>> stacks_;                // of workers, [low, high), sorted
  std::vector<Attempt> running_;                             // by core
  std::unordered_map<std::uint64_t, Attempt> waiting_;       // suspended or finished, by id; looked up only
  std::unordered_map<std::uint64_t, TaskDescriptor> tasks_;  // all of the region; looked up only
  std::unordered_set<std::uint64_t> handlers_;               // abort handlers, which are left out; likewise
  TaskTies ties_;
};

}  // namespace rubato::chip
