// The promotions of promotion.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/promotion.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace rubato::chip {

Promotion::Promotion(Timeline& timeline, Network& network, TileId arbiter, std::uint32_t tiles)
    : timeline_(timeline), network_(network), arbiter_(arbiter), tiles_(tiles) {}

Cycle Promotion::send(TileId from, TileId to, Cycle now) {
  return network_.send(from, to, {message::kRequest + message::kVirtualTime, TrafficClass::virtual_time},
                       now);
}

void Promotion::request(TileId tile, Task* task, Cycle now) {
  requests_.push_back({tile, task});
  timeline_.schedule(send(tile, arbiter_, now), this, kRequest);
}

bool Promotion::is_requested(const Task* task) const {
  return std::any_of(requests_.begin(), requests_.end(), [task](const Request& r) { return r.task == task; });
}

void Promotion::withdraw(const Task* task) {
  for (Request& r : requests_)
    if (r.task == task) r.task = nullptr;
}

void Promotion::quiet(TileId tile, Cycle now) { timeline_.schedule(send(tile, arbiter_, now), this, kQuiet); }

void Promotion::done(TileId tile, Cycle now) { timeline_.schedule(send(tile, arbiter_, now), this, kDone); }

void Promotion::begin(Cycle now) {
  is_serving_ = true;
  waiting_for_ = tiles_;
  for (std::uint32_t t = 0; t < tiles_; ++t)
    timeline_.schedule(send(arbiter_, TileId{t}, now), this, kStop, t);
}

void Promotion::end(Cycle now) {
  requests_.pop_front();
  waiting_for_ = tiles_;
  for (std::uint32_t t = 0; t < tiles_; ++t)
    timeline_.schedule(send(arbiter_, TileId{t}, now), this, kResume, t);
}

void Promotion::on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) {
  switch (kind) {
    case kRequest:
      if (!is_serving_ && !requests_.empty()) begin(now);
      return;
    case kStop:
      return participants_[payload]->on_stop(now);
    case kQuiet: {
      if (--waiting_for_ != 0) return;
      const Request& r = requests_.front();
      if (r.task == nullptr) return end(now);
      timeline_.schedule(send(arbiter_, r.tile, now), this, kGrant);
      return;
    }
    case kGrant: {
      const Request r = requests_.front();
      if (r.task == nullptr) return done(r.tile, now);
      ++granted_;
      return participants_[r.tile.value]->on_grant(r.task, now);
    }
    case kDone:
      return end(now);
    case kResume:
      participants_[payload]->on_resume(now);
      if (--waiting_for_ != 0) return;
      is_serving_ = false;
      if (!requests_.empty()) begin(now);
      return;
  }
}

}  // namespace rubato::chip
