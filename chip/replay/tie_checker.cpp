// SPDX-License-Identifier: MIT
#include "chip/replay/tie_checker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::chip {

namespace {

/// The object through which system calls synchronize.
constexpr std::uint64_t kKernel = 0;
/// The code of glibc's allocator, one object file: its first and its last function, and one between them. It
/// reads the sizes of blocks, limits and hints without its locks, on purpose, and keeps freed blocks for
/// their thread.
std::pair<Addr, Addr> allocator_code(const Symbols& symbols) {
  const auto first = symbols.find("malloc_printerr"), last = symbols.find("malloc_info");
  const auto between = symbols.find("_int_malloc");
  if (!first || !last || !between || *between < *first || *last < *between) return {0, 0};
  return {*first, *last + symbols.at(*last)->size};
}

bool is_reservation(isa::Op op) {
  return op == isa::Op::lr_w || op == isa::Op::lr_d || op == isa::Op::sc_w || op == isa::Op::sc_d;
}

}  // namespace

TieChecker::TieChecker(const AddressSpace& memory, const Symbols& symbols, std::uint32_t cores,
                       std::function<void(const std::string&)> fail)
    : memory_(memory),
      symbols_(symbols),
      fail_(std::move(fail)),
      allocator_(allocator_code(symbols)),
      running_(cores) {}

void TieChecker::begin_region(std::vector<std::pair<Addr, Addr>> stacks) {
  stacks_ = std::move(stacks);
  std::sort(stacks_.begin(), stacks_.end());
  std::fill(running_.begin(), running_.end(), Attempt{});
  waiting_.clear();
  tasks_.clear();
  handlers_.clear();
  ties_.clear();
  is_active_ = true;
}

// ---- Tasks ----

void TieChecker::on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor& descriptor,
                            CoreId core, Cycle) {
  if (!is_active_) return;
  tasks_[id] = descriptor;
  TaskTies::Task task{.reads = descriptor.reads, .is_atomic = descriptor.type == TaskType::spec};
  if (descriptor.has_timestamp) task.at = descriptor.timestamp;
  if (descriptor.has_locale) task.locale = descriptor.locale;
  ties_.create(id, task, parent, parent == 0 ? 0 : running_[core.value].position);
}

void TieChecker::on_dispatched(CoreId core, const DispatchedTask& task, Cycle) {
  Attempt& attempt = running_[core.value];
  attempt = {};
  if (task.kind != DispatchedTask::Kind::guest || handlers_.contains(task.id)) return;
  attempt.id = task.id;
  attempt.is_speculative = task.speculative;
  if (is_active_ && !task.speculative) ties_.turn(task.id, 0);
}

void TieChecker::on_suspended(std::uint64_t id, CoreId core, Cycle) {
  waiting_[id] = std::exchange(running_[core.value], {});
}

void TieChecker::on_resumed(CoreId core, const DispatchedTask& task, Cycle) {
  const auto found = waiting_.find(task.id);
  if (found == waiting_.end()) return;
  running_[core.value] = std::move(found->second);
  waiting_.erase(found);
}

void TieChecker::on_doomed_resumed(CoreId core, const DispatchedTask&, Cycle) { running_[core.value] = {}; }

void TieChecker::on_finished(std::uint64_t id, CoreId core, Cycle) {
  Attempt& attempt = running_[core.value];
  if (attempt.id != id) return;
  if (is_active_ && !attempt.is_speculative) ties_.turn(id, attempt.position);
  waiting_[id] = std::exchange(attempt, {});
}

void TieChecker::on_aborted(std::uint64_t id, CoreId core, const AbortReason&, bool, Cycle) {
  if (running_[core.value].id == id) running_[core.value] = {};
  waiting_.erase(id);
}

void TieChecker::on_committed(std::uint64_t id, CoreId, Cycle, bool) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  if (found->second.is_speculative) {
    release(found->second);
    ties_.turn(id, found->second.position);
  }
  waiting_.erase(id);
}

void TieChecker::become_nonspeculative(CoreId core) { become_nonspeculative(running_[core.value]); }

void TieChecker::become_nonspeculative_suspended(std::uint64_t id) {
  if (const auto found = waiting_.find(id); found != waiting_.end()) become_nonspeculative(found->second);
}

void TieChecker::become_nonspeculative(Attempt& attempt) {
  attempt.is_speculative = false;
  release(attempt);
}

// ---- What they do ----

void TieChecker::on_instruction(const ExecutedInstruction& executed) {
  Attempt& attempt = running_[executed.core.value];
  if (!is_active_ || attempt.id == 0) return;
  const isa::Insn& insn = executed.insn;
  if (attempt.worker == TaskTies::kNoWorker) attempt.worker = worker_of(executed.registers[reg::sp] - 1);
  if (insn.op == isa::Op::ecall) return act(attempt, Kind::kernel, 0, 0);
  if (!executed.has_access || worker_of(executed.address) != TaskTies::kNoWorker) return;
  const bool loads = (insn.flags & isa::Insn::kLoads) != 0, stores = (insn.flags & isa::Insn::kStores) != 0;
  const bool is_atomic = (loads && stores) || is_reservation(insn.op);
  const bool is_allocator = executed.pc >= allocator_.first && executed.pc < allocator_.second;
  act(attempt,
      is_atomic      ? Kind::atomic
      : is_allocator ? Kind::allocator
      : stores       ? Kind::store
                     : Kind::load,
      executed.address, insn.bytes);
}

void TieChecker::on_heap_call(CoreId core) {
  if (is_active_ && running_[core.value].id != 0) act(running_[core.value], Kind::kernel, 0, 0);
}

void TieChecker::act(Attempt& attempt, Kind kind, Addr address, unsigned bytes) {
  if (kind == Kind::allocator && attempt.is_in_allocator) return;
  attempt.is_in_allocator = kind == Kind::allocator;
  ++attempt.position;
  const Action action{kind, static_cast<std::uint8_t>(bytes), attempt.worker, address};
  if (attempt.is_speculative) {
    attempt.held.push_back(action);
  } else {
    apply(attempt.id, attempt.position, action);
  }
}

void TieChecker::release(Attempt& attempt) {
  if (!is_active_) return;
  ties_.turn(attempt.id, 0);
  TaskTies::Position position = attempt.position - static_cast<TaskTies::Position>(attempt.held.size());
  for (const Action& action : attempt.held) apply(attempt.id, ++position, action);
  attempt.held.clear();
}

void TieChecker::apply(std::uint64_t id, TaskTies::Position position, const Action& action) {
  if (!is_active_) return;
  if (action.kind == Kind::kernel) return ties_.synchronize(id, position, kKernel);
  // A block that a task has freed is given to the next that asks on the same thread.
  if (action.kind == Kind::allocator) return ties_.synchronize(id, position, kKernel + 1 + action.worker);
  const std::uint8_t attributes = memory_.attributes(action.address);
  if (action.kind == Kind::atomic || (attributes & Page::kUntracked) != 0)
    return ties_.synchronize_words(id, position, action.address, action.bytes);
  if ((attributes & Page::kWrite) == 0) return;
  const auto tie =
      ties_.access(id, position, action.address, action.bytes, action.kind == Kind::store, action.worker);
  if (tie) fail(*tie);
}

TaskTies::Worker TieChecker::worker_of(Addr a) const {
  const auto above = std::upper_bound(stacks_.begin(), stacks_.end(), a,
                                      [](Addr address, const auto& stack) { return address < stack.first; });
  if (above == stacks_.begin() || a >= std::prev(above)->second) return TaskTies::kNoWorker;
  return static_cast<TaskTies::Worker>(std::prev(above) - stacks_.begin());
}

// ---- The sentence ----

std::string TieChecker::describe(std::uint64_t id) const {
  const TaskDescriptor& d = tasks_.at(id);
  std::string text = fmt::format("task {} ({}, {}", id, symbols_.describe(d.name()), name_of(d.type));
  text += d.has_timestamp ? fmt::format(", timestamp {}", d.timestamp) : ", no timestamp";
  if (d.has_locale) text += fmt::format(", locale {:#x}", d.locale);
  return text + ")";
}

void TieChecker::fail(const TaskTies::Tie& tie) {
  is_active_ = false;
  const std::string what = tie.first_writes && tie.second_writes ? "both write"
                           : tie.first_writes                    ? "the first writes and the second reads"
                                                                 : "the first reads and the second writes";
  fail_(fmt::format(
      "{} and {} are not ordered, and {} address {:#x} ({}): the result depends on which runs first. Give "
      "them "
      "different timestamps, or one locale, or make both spec",
      describe(tie.first), describe(tie.second), what, tie.address, symbols_.describe(tie.address)));
}

}  // namespace rubato::chip
