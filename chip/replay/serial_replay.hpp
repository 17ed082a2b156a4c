// Replays committed tasks one after another, in commit order, on a copy of guest memory as it was when the
// region began. It compares each task's loads, creates and system calls with those on the chip (C19). Values
// that a serial execution cannot know (counters, the core's number, results of system calls, untracked
// memory) are taken from the record.
//
// A non-speculative task takes effect while it runs. If a child of it commits before it has ended, it is
// replayed as far as the creation of that child, and later goes on. Likewise it is replayed as far as it
// frees, or unmaps, memory that another task gets. The same holds for a system call in which it waits, if
// others use untracked memory then. Invariant: between calls the copy holds what all tasks replayed so far
// have written, stacks aside.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chip/capsule/vector.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/interpreter.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/symbols.hpp"
#include "chip/replay/attempt_record.hpp"

namespace rubato::chip {

/// The chip and the replay came to different results: the sentence says where.
class ReplayMismatch : public std::runtime_error {
 public:
  explicit ReplayMismatch(const std::string& sentence) : std::runtime_error(sentence) {}
};

class SerialReplay final : private isa::AccessObserver, private isa::CounterSource {
 public:
  /// Copies all of `memory`. @param stacks of all workers, [low, high).
  /// @param heap_functions entries of functions whose calls the simulator may serve.
  SerialReplay(const AddressSpace& memory, std::vector<std::pair<Addr, Addr>> stacks, const Symbols& symbols,
               std::map<Addr, std::int32_t> heap_functions, const CapsuleVector* capsules = nullptr);

  /// Replays to the end. @throws ReplayMismatch.
  void replay(AttemptRecord& record) { replay_until(record, kEnd); }
  /// Replays the actions before `end`; it stops only before one that calls the heap or enters the kernel, and
  /// behind one that does, that creates a task or reads of it.
  /// @throws ReplayMismatch.
  void replay_until(AttemptRecord& record, std::size_t end);
  /// A pool of the ideal allocator grew. No task is to blame for it: it stays if the task that asked aborts.
  void map(Addr a, std::uint64_t bytes, std::uint8_t attributes);
  /// The effects of a capsule's system call on mappings, and its writes, are permanent too (P49).
  void change(const TaskAction& mapping);
  void write(Addr a, std::span<const std::byte> data) {
    std::memcpy(copy_.host(a), data.data(), data.size());
  }
  /// Compares the copy with the chip's memory, stacks and untracked pages aside. @throws ReplayMismatch.
  void compare(const AddressSpace& memory) const;

  /// "task 7 (visit at timestamp 3, core 2)".
  std::string describe(const AttemptRecord& record) const;

 private:
  const CapsuleVector* capsules_;  // null: none
  void on_data(Addr address, unsigned bytes, bool is_store) override;
  void on_fetch(Addr) override {}
  std::uint64_t read_counter(unsigned number, std::uint64_t executed) override;

  void copy(const AddressSpace& memory);
  void begin(AttemptRecord& record) const;
  static constexpr std::size_t kEnd = ~std::size_t{0};
  bool step();
  bool react(const isa::RunResult& result, std::size_t before);
  bool task_instruction(const isa::Insn& insn);
  bool heap_call();
  void leave_kernel(const char* at);
  void apply_kernel(const TaskAction& action);
  const TaskAction& take(TaskAction::Kind kind, Addr address, unsigned bytes);
  void compare_load(const TaskAction& action, Addr address, unsigned bytes);
  void note_store(Addr address, std::uint64_t bytes);
  void swap_stack(bool restore);
  bool is_own_stack(Addr a) const { return a >= stack_.first && a < stack_.second; }
  bool is_any_stack(Addr a) const;
  void compare_page(const AddressSpace& memory, Addr page) const;
  std::string last_writer(Addr a) const;
  [[noreturn]] void fail(const std::string& what) const;

  AddressSpace copy_;
  isa::BlockCache blocks_{copy_};
  isa::Interpreter interpreter_{copy_, blocks_, *this};
  std::vector<std::pair<Addr, Addr>> stacks_;
  const Symbols& symbols_;

  std::map<Addr, std::int32_t> heap_functions_;

  AttemptRecord* current_ = nullptr;  // being replayed
  std::size_t end_ = kEnd;            // so many of its actions
  std::pair<Addr, Addr> stack_{};     // its worker's
  struct Writer {
    std::uint64_t id;
    Addr function;
  };
  std::unordered_map<Addr, Writer> writers_;  // of 8-byte words; looked up only
};

}  // namespace rubato::chip
