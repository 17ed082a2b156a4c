// Coherence by tokens with homes that order a line's transactions: a sparse directory, MOSAIC and FLASK (K1,
// K3, K4), which differ in HomePolicy only. The rules of a line are agent_rules and home_rules; this gives
// them caches, places, time and messages. The home hears that a transaction is over when a core has used what
// came.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chip/coherence/token/home_rules.hpp"
#include "chip/coherence/token/token_home.hpp"
#include "chip/coherence/token/token_tiles.hpp"

namespace rubato::chip {

class TokenProtocol final : public TokenTiles {
 public:
  /// @throws UsageError for what these protocols cannot do yet, in one sentence with its keys.
  TokenProtocol(const Config& config, TokenPolicy policy, Ports ports);

  std::uint64_t possible_holders(LineAddr line) const override;
  void register_stats(StatRegistry& registry) const override;
  const TokenHome& home(TileId tile) const { return homes_[tile.value]; }

  /// Moves the split of a home whose coherence.partition is adaptive, way by way, while it goes on (K57,
  /// K58): so many of its ways will be directory, at least 1 and at most all but one, and sub-tables 8 at
  /// most.
  void set_directory_ways(TileId home, std::uint32_t ways);

 private:
  // ---- Agents ----
  void request(const Request& r, AgentRecord& record, const Path& path) override;
  void release(TileId tile, LineAddr line, AgentRecord& record, Cycle at) override;
  void evict(TileId tile, LineAddr line, AgentRecord& record, Cycle at) override;
  void deliver(Flight& flight) override;
  void receive_at_agent(Flight& flight);

  // ---- Homes ----
  void receive_at_home(Flight& flight);
  void receive_at_memory(Flight& flight);
  void go_on(TileId home);
  void try_next(TileId home, LineAddr line, HomeRecord& record);
  /// A request waits that may begin now.
  bool has_next(const HomeRecord& record) {
    return record.first != FlightPool::kNone &&
           home_rules_.admits(record.line, transport_.flights[record.first].message);
  }
  bool make_room(TileId home, LineAddr line, HomeRecord& record, Cycle at);
  void flush(TileId home, Cycle at);
  Cycle tell_flush(TileId home, Cycle at);
  void recall(TileId home, LineAddr line, HomeRecord& record, bool to_memory, Cycle at);
  void begin(TokenHome& home);
  void apply(TileId home, const Flight& cause, HomeRecord& record, const HomeOutcome& out);
  void place_entry(TileId home, LineAddr line, HomeRecord& record);
  void place_in_llc(TileId home, LineAddr line, HomeRecord& record, Cycle at);
  void stall(TileId home, LineAddr line);
  void drop_entry(TokenHome& home, LineAddr line, HomeRecord& record);

  // ---- The split that moves ----
  void note_request(TileId home, LineAddr line, const HomeRecord& record, bool write);
  void note_outcome(TokenHome& home, LineAddr line, const HomeRecord& record, const HomeOutcome& out);
  void on_split_moves(TileId home, Cycle now) override;
  void resize_directory(TileId home, std::uint32_t ways);

  std::uint64_t as_groups(std::uint64_t sharers) const;
  bool is_at_rest(LineAddr line) const override;
  void drop_at_home(LineAddr line, bool is_out) override;
  std::uint64_t fewest_home_sets() const override {
    return std::min(homes_.front().llc.sets(), homes_.front().directory.sets());
  }
  void add_known_lines(std::vector<LineAddr>& lines) const override;
  std::string find_violation(LineAddr line) const override;
  const LlcCounters& llc_counters(std::uint32_t tile) const override { return homes_[tile].counters; }

  TokenPolicy policy_;
  bool counts_chip_;  ///< what the filter counts (K47)
  AgentRules agent_rules_;
  HomeRules home_rules_;
  std::vector<TokenHome> homes_;
};

}  // namespace rubato::chip
