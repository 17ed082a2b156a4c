// SPDX-License-Identifier: MIT
#include "chip/replay/serial_replay.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "chip/core/core.hpp"
#include "chip/isa/task_instructions.hpp"

namespace rubato::chip {

namespace {

using Kind = TaskAction::Kind;

/// A task that does nothing it is recorded for during so many instructions does not end as it did.
constexpr std::uint64_t kPatience = std::uint64_t{1} << 26;

constexpr const char* name_of(Kind kind) {
  constexpr const char* names[] = {"load",
                                   "store",
                                   "atomic access",
                                   "store conditional",
                                   "read of a counter",
                                   "task.read",
                                   "create",
                                   "registration of an abort handler",
                                   "kernel read",
                                   "kernel write",
                                   "mapping of memory",
                                   "unmapping",
                                   "change of rights",
                                   "discarding of memory",
                                   "moving of memory",
                                   "return from the kernel",
                                   "call of a heap function"};
  return names[static_cast<unsigned>(kind)];
}

bool same(const TaskDescriptor& a, const TaskDescriptor& b) {
  return a.function == b.function && a.has_timestamp == b.has_timestamp && a.timestamp == b.timestamp &&
         a.has_locale == b.has_locale && a.has_place == b.has_place && a.locale == b.locale &&
         a.type == b.type && a.argument_count == b.argument_count && a.reads == b.reads &&
         a.arguments == b.arguments;
}

bool is_zero(const std::byte* page) {
  std::uint64_t word;
  for (unsigned i = 0; i < AddressSpace::kPageBytes; i += sizeof word) {
    std::memcpy(&word, page + i, sizeof word);
    if (word != 0) return false;
  }
  return true;
}

/// Pages that are reserved only. No code may touch them, and the host has no memory for them, so they are all
/// zero. A read would make the host map them, and an arena of capalloc has a million. The host is asked for
/// many at a time.
class ReservedPages {
 public:
  explicit ReservedPages(const AddressSpace& memory) : memory_(memory) {}

  bool has(Addr page) {
    if ((memory_.attributes(page) & (Page::kRead | Page::kWrite | Page::kExecute)) != 0) return false;
    if (page < begin_ || page >= end_) ask(page);
    return page < end_ && (resident_[(page - begin_) / AddressSpace::kPageBytes] & 1) == 0;
  }

 private:
  static constexpr std::uint64_t kPagesAsked = 4096;

  void ask(Addr page) {
    begin_ = end_ = page;
    const std::uint64_t bytes = std::min(kPagesAsked * AddressSpace::kPageBytes, memory_.size() - page);
    void* const host = const_cast<std::byte*>(memory_.host(page));
    if (mincore(host, bytes, resident_.data()) == 0) end_ = page + bytes;
  }

  const AddressSpace& memory_;
  Addr begin_ = 0, end_ = 0;
  std::vector<unsigned char> resident_ = std::vector<unsigned char>(kPagesAsked);
};

constexpr std::uint8_t kCopied = Page::kRead | Page::kWrite | Page::kExecute | Page::kUntracked;

}  // namespace

SerialReplay::SerialReplay(const AddressSpace& memory, std::vector<std::pair<Addr, Addr>> stacks,
                           const Symbols& symbols, std::map<Addr, std::int32_t> heap_functions,
                           const CapsuleVector* capsules)
    : capsules_(capsules),
      copy_(memory.size()),
      stacks_(std::move(stacks)),
      symbols_(symbols),
      heap_functions_(std::move(heap_functions)) {
  interpreter_.observe(this);
  blocks_.set_host_calls(heap_functions_);
  copy(memory);
}

// Pages that are all zero stay untouched on both sides.
void SerialReplay::copy(const AddressSpace& memory) {
  constexpr std::uint64_t kPage = AddressSpace::kPageBytes;
  ReservedPages reserved(memory);
  for (const auto& [begin, end] : memory.regions()) {
    for (Addr a = begin; a < end;) {
      const std::uint8_t rights = memory.attributes(a) & kCopied;
      Addr run_end = a + kPage;
      while (run_end < end && (memory.attributes(run_end) & kCopied) == rights) run_end += kPage;
      copy_.map(a, run_end - a, rights);
      for (; a < run_end; a += kPage)
        if (!reserved.has(a) && !is_zero(memory.host(a))) std::memcpy(copy_.host(a), memory.host(a), kPage);
    }
  }
}

std::string SerialReplay::describe(const AttemptRecord& record) const {
  const TaskDescriptor& d = record.descriptor;
  std::string text = fmt::format("task {} ({}", record.id, symbols_.describe(d.name()));
  if (d.has_timestamp) text += fmt::format(" at timestamp {}", d.timestamp);
  if (d.has_locale) text += fmt::format(", locale {:#x}", d.locale);
  return text + fmt::format(", {}speculative on core {} from cycle {})", record.is_speculative ? "" : "non-",
                            record.core.value, record.dispatched.value);
}

std::string SerialReplay::last_writer(Addr a) const {
  const auto found = writers_.find(a & ~Addr{7});
  if (found == writers_.end()) return "no task of the region has written there";
  return fmt::format("the last to write there is task {} ({})", found->second.id,
                     symbols_.describe(found->second.function));
}

void SerialReplay::fail(const std::string& what) const {
  throw ReplayMismatch(
      fmt::format("{} {} at {}", describe(*current_), what, symbols_.describe(current_->hart.pc)));
}

// ---- Running ----

// As Core::begin_task does; sp, gp, tp and ra are the core's business.
void SerialReplay::begin(AttemptRecord& record) const {
  record.has_begun = true;
  record.hart = HartState{};
  for (const unsigned r : {reg::sp, reg::ra}) record.hart.x[r] = record.first_registers.x[r];
  for (const unsigned r : reg::kept) record.hart.x[r] = record.first_registers.x[r];
  for (unsigned i = 0; i < record.descriptor.argument_count; ++i)
    record.hart.x[reg::a0 + i] = record.descriptor.arguments[i];
  record.hart.pc = record.descriptor.function;
}

void SerialReplay::replay_until(AttemptRecord& record, std::size_t end) {
  if (record.has_ended || record.next >= end) return;
  current_ = &record;
  end_ = end;
  stack_ = record.stack;
  if (!record.has_begun) {
    begin(record);
  } else {
    swap_stack(true);
  }
  while (step()) {
  }
  if (!record.has_ended) swap_stack(false);
}

// Several tasks of one worker may be under way in the replay: each finds its own stack.
void SerialReplay::swap_stack(bool restore) {
  const std::size_t bytes = current_->stack_written.size();
  std::byte* const low = copy_.host(stack_.second - bytes);
  current_->stack_saved.resize(bytes);
  if (bytes == 0) return;
  if (restore) {
    std::memcpy(low, current_->stack_saved.data(), bytes);
  } else {
    std::memcpy(current_->stack_saved.data(), low, bytes);
  }
}

/// False: the task has ended, or done what it was to do.
bool SerialReplay::step() {
  const std::size_t before = current_->next;
  return react(interpreter_.run(current_->hart, kPatience), before);
}

bool SerialReplay::react(const isa::RunResult& result, std::size_t before) {
  switch (result.reason) {
    case isa::StopReason::budget:
      if (current_->next == before) fail("does not end in the replay");
      return true;
    case isa::StopReason::ecall:
      if (current_->next >= end_) return false;
      leave_kernel("makes a system call");
      return current_->next < end_;
    case isa::StopReason::fault:
      leave_kernel("faults");
      return current_->next < end_;
    case isa::StopReason::fence_i:
      blocks_.flush();
      current_->hart.pc += result.insn.length;
      return true;
    case isa::StopReason::task:
      return task_instruction(result.insn);
    case isa::StopReason::host_call:
      return heap_call();
    case isa::StopReason::stop:
      break;
  }
  fail("stops for no reason");
}

bool SerialReplay::task_instruction(const isa::Insn& insn) {
  HartState& hart = current_->hart;
  switch (insn.op) {
    case isa::Op::task_create: {
      const TaskAction& action = take(Kind::create, 0, 0);
      if (!same(current_->created[action.index], descriptor_of(hart, static_cast<std::uint32_t>(insn.imm))))
        fail(fmt::format("created task {} with other operands than in the replay", action.value));
      break;
    }
    case isa::Op::task_read: {
      const TaskAction& action = take(Kind::task_read, 0, static_cast<unsigned>(insn.imm));
      std::uint64_t value = action.value;
      const auto selector = static_cast<isa::ReadSelector>(insn.imm);
      if (selector == isa::ReadSelector::timestamp) value = current_->descriptor.timestamp;
      if (selector == isa::ReadSelector::is_timestamped) value = current_->descriptor.has_timestamp ? 1 : 0;
      if (value != action.value) fail(fmt::format("read {} as its timestamp, not {}", action.value, value));
      hart.registers()[insn.rd] = value;
      break;
    }
    case isa::Op::capsule_on_abort: {
      const TaskAction& action = take(Kind::on_abort, 0, 0);
      if (!same(current_->handlers[action.index], handler_of(hart, static_cast<std::uint32_t>(insn.imm))))
        fail("registered an abort handler with other operands than in the replay");
      break;
    }
    case isa::Op::task_promote:
      break;
    case isa::Op::capsule_call:
      if (capsules_ == nullptr || !capsules_->refusal(hart).empty())
        fail("calls a capsule by what is no entry of the vector");
      capsules_->enter(hart, insn.rd == reg::ra);
      return current_->next < end_;
    case isa::Op::capsule_return:
      CapsuleVector::leave(hart);
      return current_->next < end_;
    case isa::Op::task_finish:
      if (current_->next != current_->actions.size())
        fail(fmt::format("finishes, but on the chip went on with a {} of {:#x}",
                         name_of(current_->actions[current_->next].kind),
                         current_->actions[current_->next].address));
      current_->has_ended = true;
      return false;
    default:
      fail("executes an instruction that no task may execute");
  }
  hart.pc += insn.length;
  return current_->next < end_;
}

bool SerialReplay::heap_call() {
  const auto& actions = current_->actions;
  HartState& hart = current_->hart;
  if (current_->next >= end_) return false;
  while (current_->next < actions.size() && (actions[current_->next].kind == Kind::kernel_read ||
                                             actions[current_->next].kind == Kind::kernel_write))
    apply_kernel(actions[current_->next++]);  // what the call stored for the task
  if (current_->next == actions.size() || actions[current_->next].kind != Kind::heap_call) {
    // The program's own function ran: there had been no memory.
    const std::size_t before = current_->next;
    blocks_.set_host_calls({});
    const isa::RunResult result = interpreter_.run(hart, 1);
    blocks_.set_host_calls(heap_functions_);
    return result.reason == isa::StopReason::budget || react(result, before);
  }
  const HeapCall& call = current_->heap_calls[take(Kind::heap_call, hart.pc, 0).index];
  for (unsigned i = 0; i < call.given.size(); ++i) {
    if (hart.x[reg::a0 + i] != call.given[i])
      fail(fmt::format("calls a heap function with argument {} {:#x}, on the chip it was {:#x},", i,
                       hart.x[reg::a0 + i], call.given[i]));
    hart.x[reg::a0 + i] = call.left[i];
  }
  hart.pc = call.next;
  return current_->next < end_;
}

void SerialReplay::map(Addr a, std::uint64_t bytes, std::uint8_t attributes) {
  copy_.map(a, bytes, attributes & kCopied);
}

const TaskAction& SerialReplay::take(Kind kind, Addr address, unsigned bytes) {
  if (current_->next == current_->actions.size())
    fail(
        fmt::format("goes on with a {} of {:#x}, which it did not make on the chip", name_of(kind), address));
  const TaskAction& action = current_->actions[current_->next];
  if (action.kind != kind || action.address != address || action.bytes != bytes)
    fail(fmt::format("makes a {} of {} bytes at {:#x}, on the chip it was a {} of {} bytes at {:#x}",
                     name_of(kind), bytes, address, name_of(action.kind), action.bytes, action.address));
  ++current_->next;
  return action;
}

// ---- Memory ----

// The interpreter is about to access: what it will load lies in the copy.
void SerialReplay::on_data(Addr address, unsigned bytes, bool is_store) {
  if (!is_store) {
    compare_load(take(Kind::load, address, bytes), address, bytes);
    return;
  }
  Kind kind = Kind::store;
  if (current_->next < current_->actions.size()) {
    const Kind recorded = current_->actions[current_->next].kind;
    if (recorded == Kind::atomic || recorded == Kind::store_conditional) kind = recorded;
  }
  const TaskAction& action = take(kind, address, bytes);
  // An atomic of a whole block (cbo.zero) gives its old contents to no register.
  if (kind == Kind::atomic && bytes <= sizeof action.value) compare_load(action, address, bytes);
  if (kind == Kind::store_conditional) {
    // Whether a reservation holds depends on caches: as it was on the chip.
    current_->hart.reservation = action.value != 0 ? address : HartState::kNoReservation;
    if (action.value == 0) return;
  }
  note_store(address, bytes);
}

void SerialReplay::compare_load(const TaskAction& action, Addr address, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) {
    // Old contents of a stack are left over from other attempts; untracked memory is not versioned.
    const Addr a = address + i;
    const std::size_t distance = stack_.second - 1 - a;
    const bool is_free =
        is_own_stack(a) ? distance >= current_->stack_written.size() || !current_->stack_written[distance]
                        : (copy_.attributes(a) & Page::kUntracked) != 0;
    if (is_free) copy_.store(a, static_cast<std::uint8_t>(action.value >> (8 * i)));
  }
  std::uint64_t value = 0;
  std::memcpy(&value, copy_.host(address), bytes);
  if (value == action.value) return;
  fail(
      fmt::format("loaded {:#x} ({} bytes at {:#x}, {}), where the serial order gives {:#x}; {}; the load is",
                  action.value, bytes, address, symbols_.describe(address), value, last_writer(address)));
}

void SerialReplay::note_store(Addr address, std::uint64_t bytes) {
  for (Addr a = address; a < address + bytes; ++a) {
    if (!is_own_stack(a)) continue;
    const std::size_t distance = stack_.second - 1 - a;
    if (distance >= current_->stack_written.size()) current_->stack_written.resize(distance + 1);
    current_->stack_written[distance] = true;
  }
  for (Addr word = address & ~Addr{7}; word < address + bytes; word += 8)
    if (!is_own_stack(word)) writers_[word] = {current_->id, current_->descriptor.name()};
}

std::uint64_t SerialReplay::read_counter(unsigned, std::uint64_t) { return take(Kind::counter, 0, 0).value; }

// ---- The kernel ----

void SerialReplay::leave_kernel(const char* at) {
  while (current_->next < current_->actions.size()) {
    const TaskAction& action = current_->actions[current_->next++];
    if (action.kind == Kind::kernel_exit) {
      current_->hart = current_->harts[action.index];
      return;
    }
    apply_kernel(action);
  }
  fail(fmt::format("{}, which it did not do on the chip,", at));
}

void SerialReplay::apply_kernel(const TaskAction& action) {
  const Addr a = action.address;
  switch (action.kind) {
    case Kind::kernel_read: {
      const auto& data = current_->kernel_data[action.index];
      for (std::size_t i = 0; i < data.size(); ++i) {
        // The replay knows less of the task's stack and of untracked memory: see compare_load.
        if (is_own_stack(a + i) || (copy_.attributes(a + i) & Page::kUntracked) != 0) continue;
        if (*copy_.host(a + i) != data[i])
          fail(fmt::format(
              "passed {:#x} at {:#x} ({}) to a system call, where the serial order gives {:#x}; {}; "
              "the call is",
              static_cast<unsigned>(data[i]), a + i, symbols_.describe(a + i),
              static_cast<unsigned>(*copy_.host(a + i)), last_writer(a + i)));
      }
      return;
    }
    case Kind::kernel_write: {
      const auto& data = current_->kernel_data[action.index];
      std::memcpy(copy_.host(a), data.data(), data.size());
      note_store(a, data.size());
      return;
    }
    case Kind::map:
    case Kind::unmap:
    case Kind::protect:
    case Kind::discard:
    case Kind::move:
      return change(action);
    default:
      fail(fmt::format("enters the kernel, on the chip it was a {} of {:#x},", name_of(action.kind), a));
  }
}

void SerialReplay::change(const TaskAction& mapping) {
  const Addr a = mapping.address;
  switch (mapping.kind) {
    case Kind::map:
      return copy_.map(a, mapping.value, mapping.bytes & kCopied);
    case Kind::unmap:
      return copy_.unmap(a, mapping.value);
    case Kind::protect:
      return copy_.protect(a, mapping.value, mapping.bytes & kCopied);
    case Kind::discard:
      return copy_.discard(a, mapping.value);
    case Kind::move:
      return copy_.move_contents(a, mapping.value, std::uint64_t{mapping.index} << AddressSpace::kPageBits);
    default:
      RUBATO_CHECK(false, "no change of mappings");
  }
}

// ---- The end ----

bool SerialReplay::is_any_stack(Addr a) const {
  return std::any_of(stacks_.begin(), stacks_.end(),
                     [a](const auto& stack) { return a >= stack.first && a < stack.second; });
}

void SerialReplay::compare(const AddressSpace& memory) const {
  if (memory.regions() != copy_.regions())
    throw ReplayMismatch("at the end of the region the chip has other mappings than the replay");
  ReservedPages reserved(memory), reserved_copy(copy_);
  for (const auto& [begin, end] : memory.regions()) {
    for (Addr page = begin; page < end; page += AddressSpace::kPageBytes) {
      if ((memory.attributes(page) & kCopied) != (copy_.attributes(page) & kCopied))
        throw ReplayMismatch(fmt::format(
            "at the end of the region the page at {:#x} has other rights than in the replay", page));
      if ((memory.attributes(page) & Page::kUntracked) != 0) continue;
      if (reserved.has(page) && reserved_copy.has(page)) continue;
      if (std::memcmp(memory.host(page), copy_.host(page), AddressSpace::kPageBytes) != 0)
        compare_page(memory, page);
    }
  }
}

void SerialReplay::compare_page(const AddressSpace& memory, Addr page) const {
  for (Addr a = page; a < page + AddressSpace::kPageBytes; ++a) {
    if (*memory.host(a) == *copy_.host(a) || is_any_stack(a)) continue;
    const Addr word = a & ~Addr{7};
    throw ReplayMismatch(fmt::format(
        "at the end of the region the word at {:#x} ({}) is {:#x}, where the serial order gives {:#x}; {}",
        word, symbols_.describe(a), memory.load<std::uint64_t>(word), copy_.load<std::uint64_t>(word),
        last_writer(a)));
  }
}

}  // namespace rubato::chip
