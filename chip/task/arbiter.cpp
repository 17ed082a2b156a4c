// The arbiter of arbiter.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/arbiter.hpp"

#include "base/check.hpp"

namespace rubato::chip {

namespace {
TileId center(const Config& config) {
  const std::uint32_t width = config.chip.mesh_width != 0 ? config.chip.mesh_width : config.tiles();
  return TileId{config.tiles() / width / 2 * width + width / 2};
}
}  // namespace

Arbiter::Arbiter(const Config& config, Timeline& timeline, Network& network, TaskHost& host)
    : config_(config), timeline_(timeline), network_(network), host_(host), tile_(center(config)) {}

void Arbiter::register_stats(StatRegistry& registry) const {
  registry.counter("arbiter.rounds", "rounds", "GVT rounds held", &rounds_);
  registry.counter("arbiter.rounds_skipped", "rounds",
                   "periods without a round, since no report could differ from the last one's", &skipped_);
  registry.histogram("arbiter.gvt_lag", "cycles",
                     "from a round's sample until its GVT is at a tile, per tile", &lag_);
}

void Arbiter::begin_region(Cycle now) {
  RUBATO_CHECK(!active_ && !armed_ && !in_round_, "a region begins while another runs");
  active_ = true;
  all_empty_ = again_ = false;
  gvt_ = sampled_ = VirtualTime{};
  sampled_at_ = Cycle{now.value / config_.arbiter.period * config_.arbiter.period};
  arm(now);
}

void Arbiter::arm(Cycle now) {
  if (!active_ || armed_) return;
  if (in_round_) {
    again_ = true;
  } else {
    schedule_sample(later(now, round_over_));
  }
}

// At the first multiple of the period after `after`.
void Arbiter::schedule_sample(Cycle after) {
  armed_ = true;
  timeline_.schedule(Cycle{(after.value / config_.arbiter.period + 1) * config_.arbiter.period}, this,
                     kSample);
}

void Arbiter::on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) {
  switch (kind) {
    case kSample:
      return sample(now);
    case kDecide:
      return decide(now);
    case kArrive:
      return tiles_[payload]->apply_gvt(gvt_, now);
    case kEndRegion:
      in_round_ = false;
      active_ = false;
      return host_.end_region(now);
  }
}

void Arbiter::sample(Cycle now) {
  armed_ = false;
  in_round_ = true;
  ++rounds_;
  skipped_ += (now - sampled_at_) / config_.arbiter.period - 1;
  sampled_at_ = now;
  const VirtualTime before = sampled_;
  sampled_ = kMaxVirtualTime;
  all_empty_ = true;
  Cycle complete = now;
  for (std::uint32_t t = 0; t < tiles_.size(); ++t) {
    const TileReport report = tiles_[t]->report(now);
    if (report.earliest < sampled_) sampled_ = report.earliest;
    all_empty_ = all_empty_ && report.empty;
    if (!config_.arbiter.delay || TileId{t} == tile_) continue;
    const Message message{message::kReport, TrafficClass::virtual_time};
    complete = later(complete, network_.send(TileId{t}, tile_, message, now));
  }
  RUBATO_CHECK(sampled_ >= before, "the GVT went back: a round missed a task");
  if (observer_ != nullptr) observer_->on_gvt(sampled_, now);
  if (complete == now) {
    decide(now);
  } else {
    timeline_.schedule(complete, this, kDecide);
  }
}

void Arbiter::decide(Cycle now) {
  gvt_ = sampled_;
  Cycle last = now;
  for (std::uint32_t t = 0; t < tiles_.size(); ++t) {
    Cycle arrival = now;
    if (config_.arbiter.delay && TileId{t} != tile_) {
      const Message message{message::kGvt, TrafficClass::virtual_time};
      arrival = network_.send(tile_, TileId{t}, message, now);
    }
    lag_.add(arrival - sampled_at_);
    last = later(last, arrival);
    if (arrival == now) {
      tiles_[t]->apply_gvt(gvt_, now);
    } else {
      timeline_.schedule(arrival, this, kArrive, t);
    }
  }
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

}  // namespace rubato::chip
