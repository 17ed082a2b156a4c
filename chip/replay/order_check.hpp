// Checks that the task model allows the order in which tasks commit (C19; M2):
// - Timestamps do not decrease.
// - Every task is created by one that committed or takes effect as it runs.
// - Each task commits exactly once, with the operands it was created with.
// - Tasks of one locale do not overlap in time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "chip/replay/attempt_record.hpp"

namespace rubato::chip {

class OrderCheck {
 public:
  /// @param spec_runs_anywhere task.mapper=random: the locale of a SPEC task keeps away only tasks of its
  /// tile.
  OrderCheck(bool spec_runs_anywhere, std::uint32_t cores_per_tile)
      : spec_runs_anywhere_(spec_runs_anywhere), cores_per_tile_(cores_per_tile) {}
  /// A task created outside tasks, or by one whose creation of it has been replayed.
  void expect(std::uint64_t id, std::uint64_t parent) { expected_.emplace(id, parent); }
  /// @returns what is wrong with the commit of the attempt, with the words of ReplayMismatch; empty: nothing.
  std::string commit(const AttemptRecord& record);
  /// At the end of the region: what is missing; empty: nothing.
  std::string end() const;

 private:
  struct Stay {
    Cycle end;
    std::uint64_t id;
    bool reads;
  };
  using Stays = std::map<Cycle, Stay>;  // by cycle of dispatch
  static std::string check_locale(const AttemptRecord& record, Stays& stays);

  bool spec_runs_anywhere_;
  std::uint32_t cores_per_tile_;
  std::unordered_map<std::uint64_t, std::uint64_t> expected_;  // child, parent; never iterated but to count
  std::optional<Timestamp> last_;
  std::unordered_map<Locale, Stays> stays_;                                    // looked up only
  std::unordered_map<Locale, std::map<std::uint32_t, Stays>> stays_of_tiles_;  // likewise
};

}  // namespace rubato::chip
