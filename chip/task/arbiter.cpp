// The arbiter of arbiter.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/arbiter.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

namespace {
std::uint32_t width_of(const Config& config) {
  return config.chip.mesh_width != 0 ? config.chip.mesh_width : config.tiles();
}
TileId center(const Config& config) {
  const std::uint32_t width = width_of(config);
  return TileId{config.tiles() / width / 2 * width + width / 2};
}
std::uint32_t step_towards(std::uint32_t from, std::uint32_t to) { return from < to ? from + 1 : from - 1; }
std::uint32_t distance(std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; }
}  // namespace

Arbiter::Arbiter(const Config& config, Timeline& timeline, Network& network, TaskHost& host)
    : config_(config), timeline_(timeline), network_(network), host_(host), tile_(center(config)) {
  const std::uint32_t tiles = config.tiles(), width = width_of(config);
  const std::uint32_t column = tile_.value % width, row = tile_.value / width;
  parent_.resize(tiles);
  outward_.resize(tiles);
  at_.resize(tiles);
  reports_.resize(tiles);
  touched_.resize(tiles, 1);
  awaiting_.resize(tiles);
  gvt_at_.resize(tiles);
  gvt_waits_at_.resize(tiles);
  reach_at_.resize(tiles, SpeculationReach::free);
  std::iota(outward_.begin(), outward_.end(), 0U);
  std::stable_sort(outward_.begin(), outward_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto hops = [&](std::uint32_t t) { return distance(t % width, column) + distance(t / width, row); };
    return hops(a) < hops(b);
  });
  for (std::uint32_t t = 0; t < tiles; ++t) {
    const std::uint32_t x = t % width, y = t / width;
    parent_[t] = x != column ? y * width + step_towards(x, column)
                 : y != row  ? step_towards(y, row) * width + x
                             : t;
  }
  arrivals_ = outward_;
}

void Arbiter::register_stats(StatRegistry& registry) const {
  registry.counter("arbiter.rounds", "rounds", "GVT rounds held", &rounds_);
  registry.counter("arbiter.rounds_skipped", "rounds",
                   "periods without a round, since no report could differ from the last one's", &skipped_);
  registry.histogram("arbiter.gvt_lag", "cycles",
                     "from a round's sample until its GVT is at a tile, per tile", &lag_);
}

void Arbiter::begin_region(Cycle now) {
  RUBATO_CHECK(!active_ && next_sample_ == kNever && !in_round_, "a region begins while another runs");
  active_ = true;
  all_empty_ = again_ = false;
  gvt_ = sampled_ = VirtualTime{};
  std::fill(gvt_at_.begin(), gvt_at_.end(), VirtualTime{});
  std::fill(gvt_waits_at_.begin(), gvt_waits_at_.end(), std::uint8_t{1});
  std::fill(reach_at_.begin(), reach_at_.end(), SpeculationReach::limited);
  std::fill(awaiting_.begin(), awaiting_.end(), std::uint8_t{0});
  sampled_at_ = Cycle{now.value / config_.arbiter.period * config_.arbiter.period};
  arm(now);
}

void Arbiter::arm(Cycle now) {
  if (!active_ || next_sample_ != kNever) return;
  if (in_round_) {
    again_ = true;
  } else {
    schedule_sample(later(now, round_over_));
  }
}

// At the first multiple of the period after `after`.
void Arbiter::schedule_sample(Cycle after) {
  next_sample_ = Cycle{(after.value / config_.arbiter.period + 1) * config_.arbiter.period};
  timeline_.schedule(next_sample_, this, kSample);
}

void Arbiter::on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) {
  switch (kind) {
    case kSample:
      return sample(now);
    case kDecide:
      return decide(now);
    case kArrive:
      return arrive(payload, now);
    case kEndRegion:
      in_round_ = false;
      active_ = false;
      return host_.end_region(now);
  }
}

void Arbiter::sample(Cycle now) {
  next_sample_ = kNever;
  in_round_ = true;
  ++rounds_;
  skipped_ += (now - sampled_at_) / config_.arbiter.period - 1;
  sampled_at_ = now;
  const VirtualTime before = sampled_;
  // Later than whatever was given a virtual time until now, also if nothing counts.
  sampled_ = {kMaxVirtualTime.timestamp, tie_breaker(now, CoreId{0})};
  all_empty_ = true;
  for (std::uint32_t t = 0; t < tiles_.size(); ++t) {
    if (touched_[t] != 0) {
      reports_[t] = tiles_[t]->report(now);
      touched_[t] = 0;
    }
    sampled_ = std::min(sampled_, reports_[t].at(now));
    all_empty_ = all_empty_ && reports_[t].empty;
  }
  waits_ = sampled_.tie_breaker == tie_breaker(now, CoreId{0});
  // A task dispatched in this cycle counts with the cycle's first tie-breaker. Only the next round finds its
  // own, and the task may wait until it is the earliest.
  again_ = again_ || std::any_of(reports_.begin(), reports_.end(), [&](const TileReport& r) {
             return r.is_of_this_cycle(now) && r.earliest.timestamp == sampled_.timestamp;
           });
  const Cycle complete = config_.arbiter.delay ? gather(now) : now;
  RUBATO_CHECK(sampled_ >= before, "the GVT went back: a round missed a task");
  std::fill(awaiting_.begin(), awaiting_.end(), std::uint8_t{1});
  if (observer_ != nullptr) show(now);
  if (complete == now) {
    decide(now);
  } else {
    timeline_.schedule(complete, this, kDecide);
  }
}

// Reports the attempts that the round decides to commit, in virtual-time order: the serial order of
// speculative tasks (C19).
void Arbiter::show(Cycle now) {
  observer_->on_gvt(sampled_, now);
  decided_.clear();
  for (const RoundParticipant* tile : tiles_) tile->collect_decided(sampled_, decided_);
  std::sort(decided_.begin(), decided_.end(),
            [](const Attempt* a, const Attempt* b) { return a->virtual_time < b->virtual_time; });
  for (const Attempt* attempt : decided_)
    observer_->on_committed(attempt->task->id, attempt->core, now, attempt->task->waits);
}

// The minimum travels along a tree, X first as messages do: a tile sends one report, of everything behind it,
// when the last of those has arrived. Tiles from the outermost inwards. @returns when the arbiter's tile has
// them all.
Cycle Arbiter::gather(Cycle now) {
  std::fill(at_.begin(), at_.end(), now);
  for (auto t = outward_.rbegin(); t != outward_.rend(); ++t) {
    if (*t == tile_.value) continue;
    const Cycle arrival = network_.send(TileId{*t}, TileId{parent_[*t]},
                                        {message::kReport, TrafficClass::virtual_time}, at_[*t]);
    at_[parent_[*t]] = later(at_[parent_[*t]], arrival);
  }
  return at_[tile_.value];
}

void Arbiter::consult(Cycle now) {
  const auto runs_attempts = [](const RoundParticipant* tile) { return tile->runs_attempts(); };
  if (trials_->is_waiting() && std::none_of(tiles_.begin(), tiles_.end(), runs_attempts))
    trials_->no_attempt_runs(now);
  trials_->found(gvt_.timestamp, now);
}

// And back along the same tree.
void Arbiter::broadcast(Cycle now) {
  std::fill(at_.begin(), at_.end(), now);
  if (!config_.arbiter.delay) return;
  for (const std::uint32_t t : outward_)
    if (t != tile_.value)
      at_[t] = network_.send(TileId{parent_[t]}, TileId{t}, {message::kGvt, TrafficClass::virtual_time},
                             at_[parent_[t]]);
}

void Arbiter::decide(Cycle now) {
  gvt_ = sampled_;
  if (trials_ != nullptr) consult(now);
  broadcast(now);
  for (const Cycle arrival : at_) lag_.add(arrival - sampled_at_);
  std::sort(arrivals_.begin(), arrivals_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return at_[a] != at_[b] ? at_[a] < at_[b] : a < b; });
  const Cycle last = at_[arrivals_.back()];
  for (std::uint32_t i = 0; i < arrivals_.size(); ++i)
    if (i == 0 || at_[arrivals_[i]] != at_[arrivals_[i - 1]])
      timeline_.schedule(at_[arrivals_[i]], this, kArrive, i);
  if (all_empty_) {
    timeline_.schedule(last, this, kEndRegion);
    return;
  }
  in_round_ = false;
  round_over_ = last;
  if (again_) {
    again_ = false;
    arm(now);
  }
}

// A single event serves all tiles that the broadcast reaches in one cycle.
void Arbiter::arrive(std::size_t first, Cycle now) {
  for (std::size_t i = first; i < arrivals_.size() && at_[arrivals_[i]] == now; ++i) {
    const std::uint32_t t = arrivals_[i];
    const bool is_new = gvt_at_[t].timestamp != gvt_.timestamp;
    const SpeculationReach reach = trials_ != nullptr ? trials_->reach() : reach_at_[t];
    const bool is_other_reach = reach_at_[t] != reach;
    reach_at_[t] = reach;
    gvt_at_[t] = gvt_;
    gvt_waits_at_[t] = waits_ ? 1 : 0;
    awaiting_[t] = 0;
    if ((is_new && (touched_[t] != 0 || reports_[t].stalls ||
                    reports_[t].earliest.timestamp <= gvt_.timestamp || tiles_[t]->awaits_timestamp())) ||
        is_other_reach || tiles_[t]->awaits_gvt())
      tiles_[t]->on_gvt(now);
  }
}

}  // namespace rubato::chip
