// A memory system whose caches are a Hierarchy: the part that is the same under every protocol. A protocol
// derives from it and serves the accesses that leave their L1.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "chip/coherence/conflict_gate.hpp"
#include "chip/coherence/hierarchy.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/coherence/private_path.hpp"

namespace rubato::chip {

class CacheProtocol : public MemoryHierarchy {
 public:
  L1Cache& l1i(CoreId core) final { return parts_.l1s[core.value * 2]; }
  L1Cache& l1d(CoreId core) final { return parts_.l1s[core.value * 2 + 1]; }
  TileId home_of(LineAddr line) const final { return parts_.homes.home_of(line); }
  TileId controller_tile_of(LineAddr line) const final { return parts_.homes.controller_tile_of(line); }
  void set_private_lines(LineAddr first, std::uint64_t lines) final {
    parts_.homes.set_private_lines(first, lines);
  }
  void set_program(TileId tile, std::uint32_t program) final {
    parts_.tiles[tile.value].set_program(program);
    parts_.uses.add(program);
  }
  void end_program(std::uint32_t program) final { parts_.uses.end(program); }
  const TileCaches& tile(TileId t) const { return parts_.tiles[t.value]; }
  const MemoryController& controller(std::uint32_t index) const { return parts_.controllers[index]; }

  /// Sets the report of violations that coherence.check finds; by default the program ends with a report.
  void on_violation(std::function<void(const std::string&)> report) { parts_.report = std::move(report); }

 protected:
  /// See Hierarchy.
  CacheProtocol(const Config& config, ConflictCheck& conflicts, std::size_t home_bytes)
      : parts_(config, home_bytes),
        gate_(conflicts, parts_.warming, parts_.homes),
        private_path_(parts_, gate_) {}

  std::uint32_t tiles() const { return static_cast<std::uint32_t>(parts_.tiles.size()); }
  void count(std::uint64_t& counter, std::uint64_t more = 1) { parts_.warming.count(counter, more); }
  bool is_warming() const { return parts_.warming.is_on(); }

  Hierarchy parts_;
  ConflictGate gate_;
  PrivatePath private_path_;
};

}  // namespace rubato::chip
