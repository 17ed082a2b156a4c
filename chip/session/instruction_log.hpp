// Common base of files of instructions. Lines are in the order of execution, tab-separated, and compressed
// while they are written. Each names the task or thread that the core executes for.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "chip/core/instruction_observer.hpp"
#include "chip/session/compressed_file.hpp"
#include "chip/session/core_occupants.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class InstructionLog : public InstructionObserver {
 public:
  struct Options {
    std::filesystem::path file;
    std::uint32_t cores = 1;
    std::function<std::string(Addr)> symbol;
  };

  void on_thread(CoreId core, std::uint32_t id) final { occupants_.on_thread(core, id); }
  /// To be told of tasks as well.
  TaskObserver& tasks() { return occupants_; }

  std::uint64_t lines() const { return lines_; }
  /// Completes the file. @throws UsageError if the disk did not take all of it.
  void close() { file_.close(); }

 protected:
  /// @param what the file is, for error sentences. @param head its first line.
  /// @throws UsageError if the file cannot be made.
  InstructionLog(Options options, std::string what, std::string_view head);

  std::string occupant(CoreId core) const { return occupants_.name(core); }
  /// The symbol at an address, which is looked for once.
  const std::string& name_of(Addr address);
  /// @throws UsageError if the disk is full.
  void append(std::string_view line) {
    file_.append(line);
    ++lines_;
  }

 private:
  CompressedFile file_;
  CoreOccupants occupants_;
  std::function<std::string(Addr)> symbol_;
  std::unordered_map<Addr, std::string> names_;  // looked up only
  std::uint64_t lines_ = 0;
};

}  // namespace rubato::chip
