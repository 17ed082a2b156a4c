// SPDX-License-Identifier: MIT
#include "chip/replay/replay_checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rubato::chip {

using Kind = TaskAction::Kind;

namespace {

/// The replay can stop behind it.
bool is_stop(Kind kind) {
  return kind == Kind::create || kind == Kind::on_abort || kind == Kind::task_read ||
         kind == Kind::kernel_exit;
}

bool is_mapping(Kind kind) { return kind == Kind::map || kind == Kind::unmap || kind == Kind::protect; }

}  // namespace

ReplayChecker::ReplayChecker(AddressSpace& memory, const Symbols& symbols, const Config& config,
                             std::function<void(const std::string&)> fail)
    : memory_(memory),
      symbols_(symbols),
      fail_(std::move(fail)),
      new_order_(config.task.mapper == "random", config.chip.cores_per_tile),
      running_(config.chip.cores),
      order_(new_order_) {}

void ReplayChecker::fail(const std::string& sentence) {
  is_active_ = false;
  fail_(sentence);
}

template <class Check>
void ReplayChecker::guarded(const Check& check) {
  if (!is_active_) return;
  try {
    check();
  } catch (const ReplayMismatch& mismatch) {
    fail(mismatch.what());
  }
}

// ---- Regions ----

void ReplayChecker::begin_region(std::vector<std::pair<Addr, Addr>> stacks,
                                 std::map<Addr, std::int32_t> heap_functions) {
  order_ = new_order_;
  created_.clear();
  finished_.clear();
  suspended_.clear();
  suspensions_ = 0;
  freeings_.clear();
  stacks_ = std::move(stacks);
  replay_ = std::make_unique<SerialReplay>(memory_, stacks_, symbols_, std::move(heap_functions), capsules_);
  is_active_ = true;
}

void ReplayChecker::end_region() {
  guarded([&] {
    if (const std::string missing = order_.end(); !missing.empty()) throw ReplayMismatch(missing);
    if (const std::string left = tasks_left(); !left.empty()) throw ReplayMismatch(left);
    replay_->compare(memory_);
  });
  is_active_ = false;
  replay_.reset();
}

std::string ReplayChecker::tasks_left() const {
  if (created_.empty()) return {};
  const auto by_id = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto first = std::min_element(created_.begin(), created_.end(), by_id);
  return fmt::format(
      "at the end of the region {} task{} neither committed nor were said to be discarded with their "
      "parents, "
      "the first is task {}, created by task {}",
      created_.size(), created_.size() == 1 ? "" : "s", first->first, first->second.parent);
}

// ---- Tasks ----

void ReplayChecker::on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor& descriptor,
                               CoreId core, Cycle) {
  if (!is_active_) return;
  created_[id] = {parent, descriptor};
  if (parent == 0) return order_.expect(id, 0);
  AttemptRecord* const creator = running_[core.value].get();
  if (creator == nullptr || creator->id != parent)
    return fail(
        fmt::format("task {} is created by task {}, which does not run on core {}", id, parent, core.value));
  creator->actions.push_back(
      {.kind = Kind::create, .index = static_cast<std::uint32_t>(creator->created.size()), .value = id});
  creator->created.push_back(descriptor);
}

void ReplayChecker::on_dispatched(CoreId core, const DispatchedTask& task, Cycle now) {
  if (!is_active_) return;
  running_[core.value].reset();  // an attempt that stopped with an exception
  if (task.kind != DispatchedTask::Kind::guest) return;
  for (Record& record : running_)
    if (record != nullptr && record->id == task.id) record = nullptr;  // the same, where it ran before
  const auto created = created_.find(task.id);
  if (created == created_.end())
    return fail(fmt::format("task {} is dispatched, but nobody created it", task.id));
  auto record = std::make_unique<AttemptRecord>();
  record->id = task.id;
  record->parent = created->second.parent;
  record->descriptor = created->second.descriptor;  // not what queues and spills made of it
  record->core = core;
  record->dispatched = now;
  record->is_speculative = record->may_abort = task.speculative;
  running_[core.value] = std::move(record);
}

void ReplayChecker::become_nonspeculative(CoreId core) {
  if (AttemptRecord* const record = running_[core.value].get()) become_nonspeculative(*record);
}

void ReplayChecker::become_nonspeculative_suspended(std::uint64_t id) {
  if (const auto found = suspended_.find(id); found != suspended_.end())
    become_nonspeculative(*found->second);
}

void ReplayChecker::become_nonspeculative(AttemptRecord& record) {
  record.may_abort = false;
  for (std::size_t i = 0; i < record.actions.size(); ++i)
    if (record.actions[i].kind == Kind::heap_call) note_freeing(record, i);
}

void ReplayChecker::on_suspended(std::uint64_t id, CoreId core, Cycle) {
  if (!is_active_) return;
  Record& record = running_[core.value];
  if (record == nullptr || record->id != id)
    return fail(fmt::format("task {} is suspended on core {}, where it does not run", id, core.value));
  record->waited = record->entered_kernel;
  ++suspensions_;
  suspended_[id] = std::move(record);
}

void ReplayChecker::on_resumed(CoreId core, const DispatchedTask& task, Cycle) {
  if (!is_active_) return;
  const auto found = suspended_.find(task.id);
  if (found == suspended_.end()) return fail(fmt::format("task {} goes on, but was not suspended", task.id));
  running_[core.value] = std::move(found->second);
  suspended_.erase(found);
}

void ReplayChecker::on_doomed_resumed(CoreId core, const DispatchedTask&, Cycle) {
  running_[core.value].reset();  // it is not recorded
}

void ReplayChecker::on_finished(std::uint64_t id, CoreId core, Cycle now) {
  if (!is_active_) return;
  Record& record = running_[core.value];
  if (record == nullptr || record->id != id)
    return fail(fmt::format("task {} finishes on core {}, where it does not run", id, core.value));
  record->finished = now;
  finished_[id] = std::move(record);
}

void ReplayChecker::on_aborted(std::uint64_t id, CoreId core, const AbortReason&, bool, Cycle) {
  if (!is_active_) return;
  if (running_[core.value] != nullptr && running_[core.value]->id == id) running_[core.value].reset();
  finished_.erase(id);
  suspended_.erase(id);
}

void ReplayChecker::on_committed(std::uint64_t id, CoreId, Cycle, bool) {
  guarded([&] {
    const auto found = finished_.find(id);
    if (found == finished_.end())
      throw ReplayMismatch(fmt::format("task {} commits, but it has not finished", id));
    const Record record = std::move(found->second);
    finished_.erase(found);
    replay_creation(*record);
    if (const std::string wrong = order_.commit(*record); !wrong.empty())
      throw ReplayMismatch(replay_->describe(*record) + " " + wrong);
    replay_until(*record, record->actions.size());
    replay_->replay(*record);  // to its very end
    created_.erase(id);
  });
}

// ---- Replay ----

AttemptRecord* ReplayChecker::running(std::uint64_t id) const {
  for (const Record& record : running_)
    if (record != nullptr && record->id == id) return record.get();
  const auto found = suspended_.find(id);
  return found == suspended_.end() ? nullptr : found->second.get();
}

void ReplayChecker::advance(AttemptRecord& record, std::size_t end) {
  const std::size_t from = record.next;
  replay_->replay_until(record, end);
  for (std::size_t i = from; i < record.next; ++i)
    if (record.actions[i].kind == Kind::create) order_.expect(record.actions[i].value, record.id);
}

void ReplayChecker::replay_until(AttemptRecord& record, std::size_t end) {
  for (std::size_t i = record.next; i < end; ++i) {
    replay_precedences(record, i);
    if (record.actions[i].kind != Kind::heap_call) continue;
    const HeapCall call = record.heap_calls[record.actions[i].index];
    if (call.freer == 0 || call.freer == record.id) continue;
    advance(record, i);
    replay_freeing(call);
  }
  advance(record, end);
}

void ReplayChecker::replay_precedences(AttemptRecord& record, std::size_t end) {
  while (record.next_precedence < record.precedences.size() &&
         record.precedences[record.next_precedence].action <= end) {
    const Precedence precedence = record.precedences[record.next_precedence++];
    AttemptRecord* const other = running(precedence.task);
    if (other == nullptr) continue;
    advance(record, precedence.action);
    replay_creation(*other);
    replay_until(*other, precedence.end);
  }
}

// The same as for a parent below: a non-speculative free takes effect while its task runs.
void ReplayChecker::replay_freeing(const HeapCall& call) {
  AttemptRecord* const freer = running(call.freer);
  if (freer == nullptr || call.freed_by < freer->next) return;
  const auto freeing = freer->actions.begin() + static_cast<std::ptrdiff_t>(call.freed_by);
  auto end = freeing + 1;
  if (freer->heap_calls[freeing->index].taken != 0)  // it was copied first
    end = std::find_if(end, freer->actions.end(),
                       [](const TaskAction& action) { return action.kind == Kind::heap_call; });
  replay_creation(*freer);
  replay_until(*freer, static_cast<std::size_t>(end - freer->actions.begin()));
}

// A pool grows where a task may have had a mapping.
void ReplayChecker::replay_mapping(Addr a, std::uint64_t bytes) {
  for (const Record& record : running_)
    if (record != nullptr) replay_mapping(*record, a, bytes);
  for (const auto& [id, record] : suspended_) replay_mapping(*record, a, bytes);
}

void ReplayChecker::replay_mapping(AttemptRecord& record, Addr a, std::uint64_t bytes) {
  if (record.may_abort) return;
  std::size_t end = 0;
  for (std::size_t i = record.next; i < record.actions.size(); ++i) {
    const TaskAction& action = record.actions[i];
    if (is_mapping(action.kind) && action.address < a + bytes && a < action.address + action.value)
      end = i + 1;
  }
  if (end == 0) return;
  while (record.actions[end].kind != Kind::kernel_exit) ++end;
  replay_creation(record);
  replay_until(record, end + 1);
}

// A parent that is still running has effect already, if it is non-speculative; a speculative one commits
// first.
void ReplayChecker::replay_creation(const AttemptRecord& child) {
  if (child.parent == 0) return;
  AttemptRecord* const parent = running(child.parent);
  if (parent == nullptr) return;
  replay_creation(*parent);
  for (std::size_t i = parent->next; i < parent->actions.size(); ++i)
    if (parent->actions[i].kind == Kind::create && parent->actions[i].value == child.id)
      return replay_until(*parent, i + 1);
}

// ---- What attempts do ----

// A block of capalloc, say, changes hands there, and its new owner may commit while the old one still waits.
// So what those did before they waited is replayed first: not just before the access, but where the replay
// can stop, in allocators at the start of the call.
void ReplayChecker::note_precedences(AttemptRecord& record) {
  record.suspensions_seen = suspensions_;
  std::size_t action = record.actions.size() - 1;
  while (action != 0 && !is_stop(record.actions[action - 1].kind)) --action;
  const auto note = [&](const AttemptRecord& other) {
    if (other.id != record.id && !other.may_abort && other.waited != 0)
      record.precedences.push_back({action, other.id, other.waited});
  };
  for (const Record& other : running_)
    if (other != nullptr) note(*other);
  for (const auto& [id, other] : suspended_) note(*other);
}

void ReplayChecker::on_begin(CoreId core, const HartState& hart) {
  AttemptRecord* const record = running_[core.value].get();
  if (record == nullptr) return;
  record->first_registers = hart;
  const Addr top = hart.x[reg::sp] - 1;
  for (const auto& stack : stacks_)
    if (top >= stack.first && top < stack.second) record->stack = stack;
}

void ReplayChecker::on_load(CoreId core, Addr address, unsigned bytes, std::uint64_t value) {
  add(core,
      {.kind = Kind::load, .bytes = static_cast<std::uint8_t>(bytes), .address = address, .value = value});
  note_untracked(core, address);
}

void ReplayChecker::on_store(CoreId core, Addr address, unsigned bytes) {
  add(core, {.kind = Kind::store, .bytes = static_cast<std::uint8_t>(bytes), .address = address});
}

void ReplayChecker::on_atomic(CoreId core, Addr address, unsigned bytes, std::uint64_t old_value) {
  add(core, {.kind = Kind::atomic,
             .bytes = static_cast<std::uint8_t>(bytes),
             .address = address,
             .value = old_value});
  note_untracked(core, address);
}

void ReplayChecker::on_store_conditional(CoreId core, Addr address, unsigned bytes, bool stored) {
  add(core, {.kind = Kind::store_conditional,
             .bytes = static_cast<std::uint8_t>(bytes),
             .address = address,
             .value = stored ? 1u : 0u});
}

void ReplayChecker::on_counter(CoreId core, std::uint64_t value) {
  add(core, {.kind = Kind::counter, .value = value});
}

void ReplayChecker::on_task_read(CoreId core, unsigned selector, std::uint64_t value) {
  add(core, {.kind = Kind::task_read, .bytes = static_cast<std::uint8_t>(selector), .value = value});
}

void ReplayChecker::on_handler(CoreId core, const TaskDescriptor& handler) {
  AttemptRecord* const record = running_[core.value].get();
  if (record == nullptr) return;
  record->actions.push_back(
      {.kind = Kind::on_abort, .index = static_cast<std::uint32_t>(record->handlers.size())});
  record->handlers.push_back(handler);
}

void ReplayChecker::on_kernel_exit(CoreId core, const HartState& hart) {
  AttemptRecord* const record = running_[core.value].get();
  if (record == nullptr) return;
  record->actions.push_back(
      {.kind = Kind::kernel_exit, .index = static_cast<std::uint32_t>(record->harts.size())});
  record->harts.push_back(hart);
}

// ---- What the kernel does for them ----

void ReplayChecker::enter_kernel(std::uint64_t id, bool at_once) {
  at_once_ = at_once && is_active_;
  kernel_for_.push_back(is_active_ && id != 0 ? running(id) : nullptr);
  if (AttemptRecord* const record = kernel_for_.back()) record->entered_kernel = record->actions.size();
  memory_.watch_kernel(kernel_for_.back() != nullptr || at_once_ ? this : nullptr);
}
void ReplayChecker::leave_kernel() {
  at_once_ = false;
  kernel_for_.pop_back();
  memory_.watch_kernel(!kernel_for_.empty() && kernel_for_.back() != nullptr ? this : nullptr);
}

void ReplayChecker::enter_heap(std::uint64_t id, const HartState& hart) {
  enter_kernel(id);
  memory_.watch_kernel(this);  // for any task: pools grow for all
  in_heap_ = true;
  heap_function_ = hart.pc;
  heap_call_ = {};
  for (unsigned i = 0; i < heap_call_.given.size(); ++i) heap_call_.given[i] = hart.x[reg::a0 + i];
}

void ReplayChecker::leave_heap(CoreId core, const HartState& hart, bool served, Addr taken, Addr freed) {
  in_heap_ = false;
  leave_kernel();
  AttemptRecord* const record = running_[core.value].get();
  if (record == nullptr || !served) return;
  for (unsigned i = 0; i < heap_call_.left.size(); ++i) heap_call_.left[i] = hart.x[reg::a0 + i];
  heap_call_.next = hart.pc;
  heap_call_.taken = taken;
  heap_call_.freed = freed;
  if (const auto freeing = freeings_.find(taken); taken != 0 && freeing != freeings_.end()) {
    heap_call_.freer = freeing->second.task;
    heap_call_.freed_by = freeing->second.action;
  }
  record->actions.push_back({.kind = Kind::heap_call,
                             .index = static_cast<std::uint32_t>(record->heap_calls.size()),
                             .address = heap_function_});
  record->heap_calls.push_back(heap_call_);
  if (!record->may_abort) note_freeing(*record, record->actions.size() - 1);
}

void ReplayChecker::note_freeing(const AttemptRecord& record, std::size_t action) {
  const Addr freed = record.heap_calls[record.actions[action].index].freed;
  if (freed != 0) freeings_[freed] = {record.id, action};
}

void ReplayChecker::add_kernel(TaskAction action, std::vector<std::byte> data) {
  if (kernel_for_.back() == nullptr) return;
  AttemptRecord& record = *kernel_for_.back();
  action.index = static_cast<std::uint32_t>(record.kernel_data.size());
  record.actions.push_back(action);
  record.kernel_data.push_back(std::move(data));
}

void ReplayChecker::change(const TaskAction& mapping) {
  guarded([&] {
    const std::uint64_t bytes =
        mapping.kind == Kind::move ? std::uint64_t{mapping.index} << AddressSpace::kPageBits : mapping.value;
    replay_mapping(mapping.address, bytes);
    replay_->change(mapping);
  });
}

std::vector<std::byte> ReplayChecker::bytes_at(Addr a, std::uint64_t bytes) const {
  return {memory_.host(a), memory_.host(a) + bytes};
}

void ReplayChecker::on_map(Addr a, std::uint64_t bytes, std::uint8_t attributes) {
  if (in_heap_) {
    guarded([&] {
      replay_mapping(a, bytes);
      replay_->map(a, bytes, attributes);
    });
    return;
  }
  add_kernel({.kind = Kind::map, .bytes = attributes, .address = a, .value = bytes});
}
void ReplayChecker::on_unmap(Addr a, std::uint64_t bytes) {
  if (in_heap_) return;  // of nothing: where a pool grows
  add_kernel({.kind = Kind::unmap, .address = a, .value = bytes});
}
void ReplayChecker::on_protect(Addr a, std::uint64_t bytes, std::uint8_t attributes) {
  add_kernel({.kind = Kind::protect, .bytes = attributes, .address = a, .value = bytes});
}
void ReplayChecker::on_discard(Addr a, std::uint64_t bytes) {
  add_kernel({.kind = Kind::discard, .address = a, .value = bytes});
}
void ReplayChecker::on_move(Addr from, Addr to, std::uint64_t bytes) {
  add_kernel({.kind = Kind::move,
              .index = static_cast<std::uint32_t>(bytes >> AddressSpace::kPageBits),
              .address = from,
              .value = to});
}
void ReplayChecker::on_kernel_read(Addr a, std::uint64_t bytes) {
  add_kernel({.kind = Kind::kernel_read, .address = a}, bytes_at(a, bytes));
}
void ReplayChecker::on_kernel_write(Addr a, std::uint64_t bytes) {
  // The stack of a capsule belongs to its attempt; that of a doomed run to no checked attempt.
  const bool is_on_stack = std::any_of(stacks_.begin(), stacks_.end(), [a](const auto& stack) {
    return a >= stack.first && a < stack.second;
  });
  if (at_once_ && !is_on_stack) return replay_->write(a, bytes_at(a, bytes));
  add_kernel({.kind = Kind::kernel_write, .address = a}, bytes_at(a, bytes));
}

}  // namespace rubato::chip
