// For tests: mesi, but that each access which leaves the L1 is performed some cycles after it was asked for.
// Cores are blocked and told as under the protocols by messages, before there are any messages.
// Invariant: an access that has waited is performed the next time it is asked for, so everybody gets on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chip/coherence/mesi.hpp"
#include "chip/time/timeline.hpp"

namespace rubato::chip {

class LateMesi final : public MemoryHierarchy, private EventHandler {
 public:
  LateMesi(const Config& config, Network& network, ConflictCheck& conflicts, Timeline& timeline,
           AccessClient& client)
      : mesi_(config, network, conflicts),
        timeline_(&timeline),
        client_(&client),
        asked_(config.chip.cores),
        waited_(config.chip.cores) {}

  [[gnu::cold]] AccessResult access(CoreId core, LineAddr line, AccessKind kind, Cycle now) override;
  [[gnu::cold]] AccessParts take_waited(CoreId core) override;
  void warm(CoreId core, LineAddr line, AccessKind kind) override { mesi_.warm(core, line, kind); }
  void forget(LineAddr first, LineAddr last) override { mesi_.forget(first, last); }
  L1Cache& l1i(CoreId core) override { return mesi_.l1i(core); }
  L1Cache& l1d(CoreId core) override { return mesi_.l1d(core); }
  [[gnu::cold]] TileId home_of(LineAddr line) const override { return mesi_.home_of(line); }
  TileId controller_tile_of(LineAddr line) const override { return mesi_.controller_tile_of(line); }
  void set_private_lines(LineAddr first, std::uint64_t lines) override {
    mesi_.set_private_lines(first, lines);
  }
  void set_program(TileId tile, std::uint32_t program) override { mesi_.set_program(tile, program); }
  void end_program(std::uint32_t program) override { mesi_.end_program(program); }
  void enter_program(CoreId core, std::uint32_t program) override { mesi_.enter_program(core, program); }
  std::uint64_t fewest_sets() const override { return mesi_.fewest_sets(); }
  std::uint64_t possible_holders(LineAddr line) const override { return mesi_.possible_holders(line); }
  void register_stats(StatRegistry& registry) const override { mesi_.register_stats(registry); }
  std::string check_invariants() const override { return mesi_.check_invariants(); }

 private:
  static constexpr Latency kMostLate = 64;
  struct Asked {
    LineAddr line;
    Cycle due;
    Latency late;
  };
  void on_event(Cycle now, std::uint32_t core, std::uint64_t line) override;

  Mesi mesi_;
  Timeline* timeline_;
  AccessClient* client_;
  std::vector<std::vector<Asked>> asked_;  // by core
  std::vector<AccessParts> waited_;        // by core
  std::uint64_t count_ = 0;
};

}  // namespace rubato::chip
