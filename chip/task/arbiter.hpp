// The virtual-time arbiter: finds the virtual time of the earliest active task (GVT) in rounds. Espresso,
// Sec. V-A "High-throughput ordered commits"; C16.
//
// A round: all tiles sample in one cycle, a multiple of arbiter.period; reports are combined on their way to
// the arbiter's tile along a tree of the mesh's links (a hierarchical minimum); when the last has arrived the
// minimum goes back along the tree, and each tile uses it from the cycle in which it arrives. All reports
// being of one cycle, and created tasks counting at their creator until acknowledged, no task is missed. A
// round starts only after the one before has reached every tile. Rounds in which no report can differ from
// the last one's are not held: nothing is sent, and no time is spent on the host.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/noc/network.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/speculation/task_observer.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/stats/registry.hpp"
#include "chip/task/speculation_trials.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/task.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// A tile's report: the virtual time of its earliest active task, or kMaxVirtualTime if none is timestamped.
/// Besides, whether it holds any task at all (untimestamped ones delay only the end of the region). A waiting
/// task has no tie-breaker yet; it counts as dispatched in the cycle of the sample (C16).
struct TileReport {
  VirtualTime earliest = kMaxVirtualTime;
  bool waits = false;  ///< `earliest` is of a task that is not running: only its timestamp counts
  bool empty = true;
  bool stalls = false;  ///< something waits for room, which a new GVT may give

  VirtualTime at(Cycle now) const {
    // A task dispatched later in this cycle, on a core of a lower number, precedes one dispatched earlier in
    // it.
    const std::uint64_t start = tie_breaker(now, CoreId{0});
    return {earliest.timestamp, waits ? start : std::min(earliest.tie_breaker, start)};
  }
  /// Whether `earliest` is a task that was dispatched in cycle `now`.
  bool is_of_this_cycle(Cycle now) const {
    return !waits && earliest != kMaxVirtualTime && earliest.tie_breaker >= tie_breaker(now, CoreId{0});
  }
};

/// A participant in rounds: a tile's task unit.
class RoundParticipant {
 public:
  virtual ~RoundParticipant() = default;
  /// As of `now`, which never decreases.
  virtual TileReport report(Cycle now) = 0;
  /// True if on_gvt must be called for every new GVT: something here may commit or become the earliest.
  virtual bool awaits_gvt() const = 0;
  /// True if on_gvt must be called for every new timestamp of the GVT: something here may be kept from
  /// speculating until then.
  virtual bool awaits_timestamp() const = 0;
  /// Attempts, or what aborted ones have left to be done, occupy cores or wait for one.
  virtual bool runs_attempts() const = 0;
  /// Appends the finished attempts that precede `gvt`: they are going to commit.
  virtual void collect_decided(VirtualTime gvt, std::vector<Attempt*>& out) const = 0;
  /// Arbiter::gvt_at(tile) has a new timestamp. Called only if that may change something for the tile: it was
  /// touched since the last sample, something of it stalls, its earliest task is no later than the GVT, or
  /// awaits_timestamp(); or, whatever the timestamp, awaits_gvt(), or reach_at(tile) is another one.
  virtual void on_gvt(Cycle now) = 0;
};

class Arbiter final : public EventHandler {
 public:
  /// @param config outlives the arbiter, as all else.
  Arbiter(const Config& config, Timeline& timeline, Network& network, TaskHost& host);

  /// The participants, one a tile, in order of tiles. Before the first region.
  void attach(std::span<RoundParticipant* const> tiles) { tiles_ = tiles; }
  /// The tile's report may change: from now until the next sample it is taken anew. Reports of all other
  /// tiles are kept from the last sample: a round costs the host little if little happens.
  void touch(TileId tile) { touched_[tile.value] = 1; }
  void observe(TaskObserver* observer) { observer_ = observer; }
  /// `trials` receive every GVT found, and decide how far MAYSPEC tasks may speculate.
  void consult(SpeculationTrials& trials) { trials_ = &trials; }
  void register_stats(StatRegistry& registry) const;

  void begin_region(Cycle now);
  /// A task with this timestamp is no longer where it counted (finished, or acknowledged): the minimum may
  /// rise.
  void left(Timestamp timestamp, Cycle now) {
    if (timestamp <= sampled_.timestamp) arm(now);
  }
  /// A tile may have become empty, or something finished that may commit.
  void arm(Cycle now);
  /// The cycle of the next sample, or kNever if none is scheduled.
  Cycle next_sample() const { return next_sample_; }

  bool in_region() const { return active_; }
  VirtualTime gvt() const { return gvt_; }
  /// The GVT as a tile knows it; never decreases within a region. Stays where it is.
  const VirtualTime& gvt_at(TileId tile) const { return gvt_at_[tile.value]; }
  /// The GVT that the last sample found, of which tiles may not know yet: whatever is given a virtual time
  /// from now on gets none before it.
  VirtualTime sampled() const { return sampled_; }
  /// True if a round is under way in which `tile` reported a virtual time above `time`: the arbiter may be
  /// deciding that a finished task with that time commits (C12).
  bool is_deciding(TileId tile, VirtualTime time) const {
    return awaiting_[tile.value] != 0 && time < reports_[tile.value].at(sampled_at_);
  }
  /// True if the GVT as `tile` knows it is that of a task that was not running when it was found: then no
  /// running task precedes the waiting ones with its timestamp.
  bool gvt_waits_at(TileId tile) const { return gvt_waits_at_[tile.value] != 0; }
  /// How far MAYSPEC tasks may speculate, as the tile knows it.
  SpeculationReach reach_at(TileId tile) const { return reach_at_[tile.value]; }
  /// The tile with the least sum of hops to all others.
  TileId tile() const { return tile_; }

  void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) override;

 private:
  enum Kind : std::uint32_t { kSample, kDecide, kArrive, kEndRegion };
  void schedule_sample(Cycle after);
  void sample(Cycle now);
  void show(Cycle now);
  Cycle gather(Cycle now);
  void decide(Cycle now);
  void consult(Cycle now);
  void broadcast(Cycle now);
  void arrive(std::size_t first, Cycle now);

  const Config& config_;
  Timeline& timeline_;
  Network& network_;
  TaskHost& host_;
  std::span<RoundParticipant* const> tiles_;
  TaskObserver* observer_ = nullptr;
  SpeculationTrials* trials_ = nullptr;
  TileId tile_;
  std::vector<std::uint32_t> parent_;   ///< next tile on the way to the arbiter's
  std::vector<std::uint32_t> outward_;  ///< tiles by hops from the arbiter's
  std::vector<TileReport> reports_;     ///< as of the last sample; stale where touched_
  std::vector<std::uint8_t> touched_;
  std::vector<std::uint8_t> awaiting_;  ///< tiles that the GVT of the last sample has not reached
  std::vector<Attempt*> decided_;       ///< scratch
  std::vector<VirtualTime> gvt_at_;     ///< by tile
  std::vector<std::uint8_t> gvt_waits_at_;
  std::vector<SpeculationReach> reach_at_;  ///< by tile
  std::vector<Cycle> at_;                   ///< of the round: when a tile has all reports, or the GVT
  std::vector<std::uint32_t> arrivals_;     ///< tiles in the order in which the last GVT reaches them

  bool active_ = false;     ///< a region runs
  bool in_round_ = false;   ///< from sample until the broadcast
  bool again_ = false;      ///< armed during the round
  bool all_empty_ = false;  ///< found by the last sample
  bool waits_ = false;      ///< likewise: of a waiting task, or of none
  VirtualTime sampled_{};   ///< minimum found by the last sample
  VirtualTime gvt_{};       ///< as last broadcast
  Cycle next_sample_ = kNever;
  Cycle round_over_{};  ///< the last broadcast has reached every tile
  Cycle sampled_at_{};  ///< of the last round, or the period in which the region began
  std::uint64_t rounds_ = 0, skipped_ = 0;
  Histogram lag_;
};

}  // namespace rubato::chip
