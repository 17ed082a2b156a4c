// Replays committed tasks one after another, in the order in which they committed, on a copy of guest memory
// as it was when the region began, and compares what each one loads, creates and hands to the kernel with
// what it did on the chip (C19). Values that a serial execution cannot know (counters, the core's number,
// results of system calls, untracked memory) are taken from the record.
//
// A non-speculative task takes effect while it runs. If a child of it commits before it has ended, it is
// replayed as far as the creation of that child, and later goes on.
// Invariant: between calls the copy holds what all tasks replayed so far have written, stacks aside.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chip/isa/block_cache.hpp"
#include "chip/isa/interpreter.hpp"
#include "chip/os/address_space.hpp"
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
  SerialReplay(const AddressSpace& memory, std::vector<std::pair<Addr, Addr>> stacks, const Symbols& symbols);

  /// Replays to the end. @throws ReplayMismatch.
  void replay(AttemptRecord& record) { advance(record, std::nullopt); }
  /// Replays until the task has created `child`. @throws ReplayMismatch.
  void replay_until_created(AttemptRecord& record, std::uint64_t child) { advance(record, child); }
  /// Compares the copy with the chip's memory, stacks and untracked pages aside. @throws ReplayMismatch.
  void compare(const AddressSpace& memory) const;

  /// "task 7 (visit at timestamp 3, core 2)".
  std::string describe(const AttemptRecord& record) const;

 private:
  void on_data(Addr address, unsigned bytes, bool is_store) override;
  void on_fetch(Addr) override {}
  std::uint64_t read_counter(unsigned number, std::uint64_t executed) override;

  void copy(const AddressSpace& memory);
  void begin(AttemptRecord& record) const;
  void advance(AttemptRecord& record, std::optional<std::uint64_t> child);
  bool step(std::optional<std::uint64_t> child);
  bool task_instruction(const isa::Insn& insn, std::optional<std::uint64_t> child);
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

  AttemptRecord* current_ = nullptr;  // being replayed
  std::pair<Addr, Addr> stack_{};     // its worker's
  struct Writer {
    std::uint64_t id;
    Addr function;
  };
  std::unordered_map<Addr, Writer> writers_;  // of 8-byte words; looked up only
};

}  // namespace rubato::chip
