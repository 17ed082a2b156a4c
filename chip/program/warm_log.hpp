// The lines that a program has used in fast-forward, for checkpoints (run.warm): a chip that goes on from one
// warms its own caches by them. Of each line the log knows when each thread last read, wrote and fetched it.
// These uses in the order of their times lead to the contents of caches that replace the least recently used
// line, but for lines that others of the hierarchy have pushed out.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "chip/memory/checkpoint_file.hpp"
#include "chip/os/fast_forward.hpp"
#include "chip/program/program.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WarmLog final : public FastForward::Observer {
 public:
  struct Use {
    std::uint32_t thread = 0;  ///< in order of creation
    AccessKind kind = AccessKind::load;
    LineAddr line;
  };

  /// `first_tid`: of the program's main thread.
  explicit WarmLog(int first_tid) : first_tid_(first_tid) {}
  void on_turn(const Thread& thread) override;
  void on_data(Addr address, unsigned bytes, bool is_store) override;
  void on_fetch(Addr pc) override { note(kFetches, line_of(pc)); }

  /// The last uses, the oldest first.
  std::vector<Use> uses() const;

 private:
  enum Kind : std::size_t { kLoads, kStores, kFetches, kKinds };
  using Times = std::unordered_map<std::uint64_t, std::uint64_t>;  // by line

  void note(Kind kind, LineAddr line);

  /// The last use of a kind in this turn: most are of the same line again.
  struct Last {
    LineAddr line;
    std::uint64_t* time = nullptr;  // of the line; null: there was none
  };

  const int first_tid_;
  std::vector<std::array<Times, kKinds>> threads_;
  std::size_t thread_ = 0;
  std::array<Last, kKinds> last_{};
  std::uint64_t now_ = 0;
};

void save_uses(CheckpointWriter& file, const std::vector<WarmLog::Use>& uses);
/// @throws UsageError if the file is damaged. `threads`: that the program has had.
std::vector<WarmLog::Use> read_uses(CheckpointReader& file, std::size_t threads);
/// Warms the caches of the cores that the program's threads stand for.
void warm(MemorySystem& memory_system, const Program& program, const std::vector<WarmLog::Use>& uses);

}  // namespace rubato::chip
