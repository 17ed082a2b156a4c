// TokenB (K2, K42 to K45): a miss asks every tile, the line's LLC slice and its memory controller at once,
// and no home orders anything. Requests that meet may each get a part. An agent that gets nothing in time
// asks again, and in the end persistently; the line's home arbitrates persistent requests. The rules for a
// line are in broadcast_rules.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/rng.hpp"
#include "chip/cache/set_array.hpp"
#include "chip/coherence/token/broadcast_rules.hpp"
#include "chip/coherence/token/framed_array.hpp"
#include "chip/coherence/token/persistent_arbiter.hpp"
#include "chip/coherence/token/token_tiles.hpp"

namespace rubato::chip {

class TokenBroadcast final : public TokenTiles {
 public:
  struct Counters {
    std::uint64_t retries = 0, persistent = 0;
  };
  TokenBroadcast(const Config& config, Ports ports);

  std::uint64_t possible_holders(LineAddr line) const override;
  void register_stats(StatRegistry& registry) const override;
  const Counters& counters(TileId tile) const { return nodes_[tile.value].counters; }

 private:
  /// A tile's slice, its part in arbitration, and what its agent has learnt of waiting.
  struct Node {
    Node(const Config& config, std::pmr::memory_resource* memory)
        : places(LineFrame(config), config.llc.size, config.llc.ways, memory),
          arbiters(config.llc.banks, PersistentArbiter(config.tiles() + 2)) {}
    FramedArray<TokenPlace> places;
    LineRecords<StoreLine> lines;
    std::vector<PersistentArbiter> arbiters;  ///< by bank
    LlcCounters llc;
    Counters counters;
    Latency mean_miss = 0;  ///< of its agent, moving
  };
  struct InFlight {
    std::uint32_t tokens = 0, owners = 0;
  };

  // ---- Agents ----
  void request(const Request& r, AgentRecord& record, const Path& path) override;
  void release(TileId tile, LineAddr line, AgentRecord& record, Cycle at) override;
  void evict(TileId tile, LineAddr line, AgentRecord& record, Cycle at) override;
  void on_retry(TileId tile, LineAddr line, AgentRecord& record, Cycle now) override;
  void ask_all(TileId tile, Flight& flight);
  void wait_for_answers(TileId tile, const AgentRecord& record, LineAddr line, Cycle at);
  void receive_at_agent(Flight& flight);
  /// Gives the caches the right to write, if they have the line and an unexpected gift completed its tokens.
  void add_to_caches(TileId tile, LineAddr line, const AgentRecord& record);

  // ---- Slices, memory, arbiters ----
  void deliver(Flight& flight) override;
  void receive_at_slice(Flight& flight);
  void receive_at_memory(Flight& flight);
  void arbitrate(const Flight& flight);
  void make_place(TileId home, LineAddr line, Cycle at);
  void pass_on(const AgentOutcome& out, Flight& cause, TileId from, ServedBy served);
  void count_in_flight(LineAddr line, const Tokens& tokens, bool leaves);

  bool is_at_rest(LineAddr line) const override;
  void drop_at_home(LineAddr line, bool is_out) override;
  std::uint64_t fewest_home_sets() const override { return nodes_.front().places.sets(); }
  void add_known_lines(std::vector<LineAddr>& lines) const override;
  std::string find_violation(LineAddr line) const override;
  const LlcCounters& llc_counters(std::uint32_t tile) const override { return nodes_[tile].llc; }
  const StoreLine* slice_line(LineAddr line) const;
  StoreLine memory_line(LineAddr line) const;
  void keep_memory_line(LineAddr line, const StoreLine& state);

  BroadcastRules rules_;
  StoreRules slice_rules_, memory_rules_;
  std::uint32_t retries_;
  bool delivers_all_;
  Latency longest_miss_;  ///< that counts (K43)
  Rng rng_;
  std::vector<Node> nodes_;
  LineRecords<StoreLine> memory_;                          // of lines that it has not all tokens of
  std::unordered_map<std::uint64_t, InFlight> in_flight_;  // with coherence.check
};

}  // namespace rubato::chip
