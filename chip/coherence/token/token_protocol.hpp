// Coherence by messages and tokens: a sparse directory, MOSAIC and FLASK (K1, K3, K4), which differ in
// HomePolicy only. The rules of a line are agent_rules and home_rules; this gives them caches, places, time
// and messages on the chip's network.
//
//   access       what the tile's caches can serve is Done at once; else a request goes to the line's home and
//                the access is Blocked until tokens and data are there
//   used once    the home hears that a transaction is over when a core has used what came, so nobody can take
//                the line before (K10). If no core comes, it hears so kHold cycles later.
//   warming      the same messages, delivered at once, without time, traffic or statistics
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "chip/cache/host_memory.hpp"
#include "chip/cache/left_reservations.hpp"
#include "chip/coherence/home_map.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/coherence/path.hpp"
#include "chip/coherence/token/flights.hpp"
#include "chip/coherence/token/token_agent.hpp"
#include "chip/coherence/token/token_home.hpp"
#include "chip/dram/memory_controller.hpp"
#include "chip/noc/calendar.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/sharers.hpp"

namespace rubato::chip {

class TokenProtocol final : public MemoryHierarchy, private EventHandler {
 public:
  struct Ports {
    Network& network;
    ConflictCheck& conflicts;
    Timeline& timeline;
    AccessClient& client;
  };
  /// @throws UsageError for what message protocols cannot do yet, in one sentence with its keys.
  TokenProtocol(const Config& config, TokenPolicy policy, Ports ports);

  /// Cold and thin: of a call to one of several implementations the compiler expects the one that is not
  /// cold, and inlines Mesi's; bench/chip_speed shows 5 % (64 cores, sssp).
  [[gnu::cold]] AccessResult access(CoreId core, LineAddr line, AccessKind kind, Cycle now) override;
  [[gnu::cold]] AccessParts take_waited(CoreId core) override {
    return std::exchange(waited_[core.value], {});
  }
  void warm(CoreId core, LineAddr line, AccessKind kind) override;
  void forget(LineAddr first, LineAddr last) override;
  L1Cache& l1i(CoreId core) override { return l1s_[core.value * 2]; }
  L1Cache& l1d(CoreId core) override { return l1s_[core.value * 2 + 1]; }
  [[gnu::cold]] TileId home_of(LineAddr line) const override { return map_.home_of(line); }
  void set_private_lines(LineAddr first, std::uint64_t lines) override {
    map_.set_private_lines(first, lines);
  }
  TileId controller_tile_of(LineAddr line) const override { return map_.controller_tile_of(line); }
  std::uint64_t possible_holders(LineAddr line) const override;
  void register_stats(StatRegistry& registry) const override;
  std::string check_invariants() const override;

  void on_violation(std::function<void(const std::string&)> report) { report_ = std::move(report); }
  const TokenHome& home(TileId tile) const { return homes_[tile.value]; }

 private:
  enum Event : std::uint32_t { kDeliver, kHoldEnds };
  static constexpr Latency kHold = 64;

  struct Request {
    CoreId core;
    LineAddr line;
    AccessKind kind;
    bool write, checked, unchecked;
    TileId tile;
    std::uint32_t l1;  // index in the tile
  };
  class HitObserver final : public L1Observer {
   public:
    HitObserver(TokenProtocol& protocol, std::uint32_t l1) : protocol_(&protocol), l1_(l1) {}
    void on_hit(std::uint32_t slot, LineAddr line, bool write) override {
      protocol_->check_use(l1_, slot, line, write);
    }

   private:
    TokenProtocol* protocol_;
    std::uint32_t l1_;
  };

  static bool replaces_line(const Request& r) { return r.kind == AccessKind::untracked_line_store; }

  // ---- Agents ----
  [[gnu::noinline]] AccessResult serve(CoreId core, LineAddr line, AccessKind kind, Cycle now);
  AccessResult leave_l1(const Request& r, std::uint32_t l1_slot, bool is_in_l1, Cycle now);
  bool check(const Request& r, std::uint32_t slot, const AgentRecord* due, Path& path, CheckResult& check);
  AccessResult ask_home(const Request& r, AgentRecord& record, Path& path);
  void fill_l1(const Request& r, std::uint32_t l1_slot, std::uint32_t slot, bool exclusive, Path& path);
  void use_l1(const Request& r, std::uint32_t l1_slot);
  std::uint32_t fill_l2(TileId tile, LineAddr line, AgentRecord& record, Cycle at);
  void evict_from_tile(TileId tile, std::uint32_t slot, Cycle at);
  LineState state_of(const AgentLine& line) const;
  void unblock(TileId tile, LineAddr line, AgentRecord& record, Cycle at);
  void receive_at_agent(Flight flight);
  void collect(TokenAgent& agent, AgentRecord& record, std::uint32_t slot, bool all);
  void fulfil(TileId tile, AgentRecord& record, const Flight& flight);
  void lose(TileId tile, LineAddr line, bool kept) {
    if (!warming_ && conflicts_->is_active()) conflicts_->on_lose(tile, line, kept);
  }

  // ---- Homes ----
  void receive_at_home(Flight flight);
  void receive_at_memory(Flight flight);
  void go_on(TileId home);
  void try_next(TileId home, LineAddr line, HomeRecord& record);
  bool make_room(TileId home, LineAddr line, const HomeRecord& record, Cycle at);
  void flush(TileId home, Cycle at);
  void recall(TileId home, LineAddr line, HomeRecord& record, bool to_memory, Cycle at);
  void apply(TileId home, const Flight& cause, HomeRecord& record, const HomeOutcome& out);
  void place_entry(TileId home, LineAddr line, HomeRecord& record);
  void place_in_llc(TileId home, LineAddr line, HomeRecord& record, Cycle at);
  void stall(TileId home, LineAddr line);

  // ---- Transport ----
  void send(Flight flight, TileId from, TileId to);
  void send_to_all(Flight flight, TileId from, std::uint64_t to);
  void deliver(const Flight& flight);
  void drain();
  void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) override;
  std::uint32_t flits_of(const TokenMessage& m) const {
    return (bytes_of(m) + link_bytes_ - 1) / link_bytes_;
  }
  Cycle book(Calendars& ports, TileId tile, Cycle at) { return warming_ ? at : ports.book(tile.value, at); }
  void count(std::uint64_t& counter) { counter += warming_ ? 0 : 1; }
  Cycle now() const { return warming_ ? Cycle{} : timeline_->now(); }

  /// `replaces`: it writes all bytes, so that old data are as good as new ones.
  void check_use(std::uint32_t l1, std::uint32_t slot, LineAddr line, bool write, bool replaces = false);
  void require(const char* violation, LineAddr line) const;
  std::string find_violation(LineAddr line) const;
  bool is_at_rest(LineAddr line) const;
  void drop(LineAddr line);
  std::vector<LineAddr> known_lines(LineAddr first, LineAddr last) const;

  Network* network_;
  ConflictCheck* conflicts_;
  Timeline* timeline_;
  AccessClient* client_;
  TokenPolicy policy_;
  std::uint32_t tiles_, cores_per_tile_, all_;
  Latency l1i_latency_, l1d_latency_, l2_latency_, llc_latency_;
  std::uint32_t llc_ways_, entry_ways_, mesh_width_, link_bytes_;
  bool warming_ = false, checks_;
  AgentRules agent_rules_;
  HomeRules home_rules_;
  HomeMap map_;
  Versions versions_;
  HostArena arena_;
  std::pmr::unsynchronized_pool_resource pool_;
  LeftReservations left_reservations_;
  std::vector<L1Cache> l1s_;  // core * 2, + 1 for data
  std::deque<TokenAgent> agents_;
  std::deque<TokenHome> homes_;
  Calendars l2_ports_, llc_ports_;
  std::vector<MemoryController> controllers_;
  std::vector<AccessParts> waited_;  // by core
  std::vector<HitObserver> observers_;
  FlightPool flights_;
  std::deque<Flight> immediate_;  // of warming
  std::pmr::unordered_map<std::uint64_t, std::uint64_t> memory_versions_;
  std::uint64_t messages_[kTokenMessageKinds] = {}, flit_hops_[kTrafficClasses] = {};
  std::function<void(const std::string&)> report_;
};

}  // namespace rubato::chip
