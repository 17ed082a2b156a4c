// The memory system as the chip owns it: what cores see (MemorySystem) plus their L1s, statistics and checks.
// A protocol is one implementation, chosen by coherence.protocol (C20).
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "chip/cache/l1_cache.hpp"
#include "chip/config/config.hpp"
#include "chip/noc/network.hpp"
#include "chip/speculation/conflict_check.hpp"
#include "chip/vocabulary/memory_system.hpp"

namespace rubato::chip {

class MessageObserver;  // chip/coherence/message_observer.hpp
class StatRegistry;
class Timeline;

class MemoryHierarchy : public MemorySystem {
 public:
  /// The L1s that a core tests inline; they live as long as this object and do not move.
  virtual L1Cache& l1i(CoreId core) = 0;
  virtual L1Cache& l1d(CoreId core) = 0;
  /// The tile whose LLC slice orders `line`, and the tile at which its memory controller is attached.
  virtual TileId home_of(LineAddr line) const = 0;
  virtual TileId controller_tile_of(LineAddr line) const = 0;
  /// From `first` on, `lines` lines a tile are used by that tile only: its own slice orders them, so that
  /// they stay off the network. Before any access; at most once.
  virtual void set_private_lines(LineAddr first, std::uint64_t lines) = 0;
  /// The tile's cores run program `program` (K81): accesses and notifications of a core are of the
  /// program's own lines; all else here is of lines with its number. Before any access; 0 if never said.
  virtual void set_program(TileId tile, std::uint32_t program) = 0;
  /// The end of a program for its own statistics (program.P.*): later accesses do not count there.
  virtual void end_program(std::uint32_t program) = 0;
  /// From now on `core` runs program `program`: the lines in its L1s are left to the L2 of its tile, which
  /// takes no time.
  virtual void enter_program(CoreId core, std::uint32_t program) = 0;
  /// The smallest number of sets in an array of tags that tell programs' lines apart: only fewer programs
  /// than this fit into tags.
  virtual std::uint64_t fewest_sets() const = 0;
  /// The tiles that may hold copies of `line`, bits as SharerGroups' of the chip's tiles: a superset.
  virtual std::uint64_t possible_holders(LineAddr line) const = 0;
  /// Registers core.C.l1i|l1d.*, tile.T.l2.*, tile.T.llc.*, mem.M.* and, of several programs, program.P.*.
  virtual void register_stats(StatRegistry& registry) const = 0;
  /// Walks every cache and directory: inclusion, single writer or many readers, directory agreement and, if
  /// coherence.check is on, versions (C21). Empty, or the first violation as a sentence.
  virtual std::string check_invariants() const = 0;
  /// Before any access. Only protocols by messages have messages to show.
  virtual void observe_messages(MessageObserver&) {}
};

/// The memory system of a resolved configuration; what it is given must outlive it. Protocols that work by
/// messages need a timeline and a client; mesi resolves an access in its call and does not.
/// @throws UsageError if coherence.protocol is unknown, naming those that are.
std::unique_ptr<MemoryHierarchy> make_memory_system(const Config& config, Network& network,
                                                    ConflictCheck& conflicts, Timeline* timeline = nullptr,
                                                    AccessClient* client = nullptr);

}  // namespace rubato::chip
