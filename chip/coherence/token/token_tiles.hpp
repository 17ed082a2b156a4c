// Tiles of the protocols by tokens: what a core's access finds in its tile, and what becomes of a request
// until its line is free again. The protocol says which nodes a miss asks, and how they answer: TokenProtocol
// with homes that order a line's transactions, TokenBroadcast without. Transport brings their messages.
//
//   access       Done at once if the tile's caches can serve it. Else the protocol is asked for the line, and
//                the access is Blocked until tokens and data are there
//   used once    what came is kept until a core has used it, so no other tile can take the line before (K10).
//                If no core comes, it is free kHold cycles later
//   reserved     what an lr's request brought may be kept longer, for its sc, once a request (K13)
//   entry        (MSHR, K15) a tile has one for each line that it has asked for, until the line is free; an
//                access that finds none makes no request, and is made again when one is. Evictions, and
//                answers to other tiles, need none, so whatever has an entry comes to an end
//   warming      the same messages, delivered at once, without time, traffic or statistics
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chip/coherence/cache_protocol.hpp"
#include "chip/coherence/sharing_profile.hpp"
#include "chip/coherence/token/token_agent.hpp"
#include "chip/coherence/token/transport.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/sharers.hpp"

namespace rubato::chip {

class TokenTiles : public CacheProtocol, protected EventHandler, protected MessageReceiver {
 public:
  struct Ports {
    Network& network;
    ConflictCheck& conflicts;
    Timeline& timeline;
    AccessClient& client;
  };
  /// @throws UsageError for what message protocols cannot do yet, in one sentence with its keys.
  TokenTiles(const Config& config, Ports ports);

  /// Cold and thin: of a call to one of several implementations the compiler expects the one that is not
  /// cold, and inlines Mesi's; bench/chip_speed shows 5 % (64 cores, sssp).
  [[gnu::cold]] AccessResult access(CoreId core, LineAddr line, AccessKind kind, Cycle now) final;
  [[gnu::cold]] AccessParts take_waited(CoreId core) final { return std::exchange(waited_[core.value], {}); }
  void warm(CoreId core, LineAddr line, AccessKind kind) final;
  void forget(LineAddr first, LineAddr last) final;
  std::uint64_t fewest_sets() const final {
    return std::min(agents_.front().caches.array().sets(), fewest_home_sets());
  }
  void register_stats(StatRegistry& registry) const override;
  std::string check_invariants() const final;

  void observe_messages(MessageObserver& observer) final { transport_.observe(observer); }

 protected:
  enum Event : std::uint32_t { kHoldEnds, kRetry, kEntryFree, kSplitMoves };
  static constexpr Latency kHold = 64;
  Latency reserved_hold_ = 0;  ///< of the line of an lr, after it was used; 0: it is free then

  using Request = PrivateAccess;

  // ---- The protocol's ----
  /// An access that the tile cannot serve, of a line that no request of the tile is under way for.
  virtual void request(const Request& r, AgentRecord& record, const Path& path) = 0;
  /// A fulfilled request has been used, or no core came: the line is free.
  virtual void release(TileId tile, LineAddr line, AgentRecord& record, Cycle at) = 0;
  /// The caches have lost the line, which no request is under way for.
  virtual void evict(TileId tile, LineAddr line, AgentRecord& record, Cycle at) = 0;
  /// kRetry of a record that is in the round in which the timer was started.
  virtual void on_retry(TileId, LineAddr, AgentRecord&, Cycle) {}
  virtual void on_split_moves(TileId, Cycle) {}
  /// No message about it is under way that matters.
  virtual bool is_at_rest(LineAddr line) const = 0;
  /// Everything that home and memory know of a line at rest; is_out: a tile had tokens.
  virtual void drop_at_home(LineAddr line, bool is_out) = 0;
  virtual std::uint64_t fewest_home_sets() const = 0;
  virtual void add_known_lines(std::vector<LineAddr>& lines) const = 0;
  virtual std::string find_violation(LineAddr line) const = 0;
  virtual const LlcCounters& llc_counters(std::uint32_t tile) const = 0;

  // ---- What tiles do ----
  void fulfil(TileId tile, AgentRecord& record, const Flight& flight);
  /// Takes what the caches have of the line, or (not `all`) their right to write, into the record.
  void collect(TokenAgent& agent, AgentRecord& record, std::uint32_t slot, bool all);
  /// Before the rules answer a message that asks for tokens: what the caches know goes to the record. It
  /// costs an access of the L2, and of the L1s that are asked. @returns whether the L2 has a copy to send.
  bool collect_for(Flight& flight, AgentRecord& record, bool one, bool all);
  /// After them: of what is sent, lines that were read from the L2.
  void count_sent(TileId tile, const AgentOutcome& out, bool from_array) {
    for (std::uint32_t i = 0; from_array && i < out.count; ++i)
      if (out.sends[i].has_data) count(agents_[tile.value].caches.accesses.reads);
  }
  /// After them: what the tile has lost; `goes_home`: and no other tile has got.
  void note_loss(TileId tile, LineAddr line, AgentOutcome::Loss loss, bool goes_home = false);
  TileSet everybody() const { return {parts_.groups, parts_.groups.all()}; }

  /// `event`, kHoldEnds or kRetry, comes at `at`; it is void if the line's record is in another round then.
  void start_timer(Event event, TileId tile, LineAddr line, std::uint32_t round, Cycle at);
  /// Tags of a slice are read, in the first free cycle of the port.
  Cycle look_up_llc(TileId home, LineAddr line, Cycle at) {
    return parts_.look_up_llc(home, slice_accesses_[home.value], line, at);
  }
  bool checks() const { return parts_.versions.is_on(); }

  void require(const char* violation, LineAddr line) const;
  /// Reports what find_violation() finds, if coherence.check is on; not while warming.
  void check_line(LineAddr line) const;
  std::vector<LineAddr> known_lines(LineAddr first, LineAddr last) const;
  /// Sum of the tokens of a tile's copies. A violation is a copy without a token, or a right without all
  /// tokens.
  struct Sum {
    std::uint32_t tokens = 0, owners = 0;
    std::uint64_t holders = 0;  ///< as `sharers_`
  };
  std::string find_violation_in_tiles(LineAddr line, Sum& sum) const;

  Timeline* timeline_;
  AccessClient* client_;
  std::uint32_t all_, mshrs_;
  SharerGroups sharers_;  ///< bits of entries; those of conflict checks are the hierarchy's
  std::vector<TokenAgent> agents_;
  std::vector<ArrayAccesses> slice_accesses_;  // by tile
  Transport transport_;
  std::unordered_map<std::uint64_t, std::uint64_t> memory_versions_;
  std::optional<SharingProfile> profile_;

 private:
  [[gnu::noinline]] AccessResult serve(CoreId core, LineAddr own, AccessKind kind, Cycle now);
  AccessResult leave_l1(const Request& r, std::uint32_t l1_slot, bool is_in_l1, Cycle now);
  [[gnu::cold]] AccessResult leave_l1_prefetching(CoreId core, LineAddr own, AccessKind kind,
                                                  std::uint32_t l1_slot, bool is_in_l1, Cycle now);
  ServedBy serve_in_tile(const Request& r, std::uint32_t l1_slot, bool is_in_l1, std::uint32_t slot,
                         const AgentRecord* due, bool exclusive, Path& path);
  void count_served(const Request& r, std::uint32_t slot, std::uint32_t l1_slot, ServedBy by,
                    const Path& path);
  bool check(const Request& r, L2Line& line, const AgentRecord* due, Path& path, CheckResult& check);
  AccessResult ask(const Request& r, Path& path, Cycle now);
  void make_request(const Request& r, TokenAgent& agent, AgentRecord& record, Path& path);
  /// A line of the L2, in `slot`, goes to the L1 of the core that prefetches it.
  void fill_prefetched(const Request& r, std::uint32_t slot, const AgentRecord* due, Path& path);
  void prefetch_line(CoreId core, LineAddr own, LineAddr used, Cycle now) final;
  [[gnu::cold]] void join_prefetch(const Request& r, AgentRecord& record, Cycle now);
  [[gnu::cold]] bool end_prefetch(TileId tile, LineAddr line, AgentRecord& record, Cycle at);
  void ask_again(TileId tile, Cycle now);
  void end_use(const Request& r, AgentRecord& record, bool passes, Cycle at);
  std::uint32_t fill_l2(TileId tile, LineAddr line, AgentRecord& record, Cycle at);
  void evict_from_tile(TileId tile, std::uint32_t slot, Cycle at);
  void trim(TileId tile, LineAddr line, Cycle at);
  LineState state_of(const AgentLine& line) const;
  void end_hold(TileId tile, LineAddr line, AgentRecord& record, Cycle at);
  void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) final;
  void drop(LineAddr line);

  std::vector<AccessParts> waited_;     // by core
  std::vector<RefusedAccess> resumed_;  // in ask_again()
};

}  // namespace rubato::chip
