// SPDX-License-Identifier: MIT
#include "chip/os/idle_account.hpp"

#include <algorithm>

namespace rubato::chip {

void IdleAccount::advance(Cycle now) {
  if (!is_counting_) {
    is_counting_ = true;
    last_ = now;
    return;
  }
  if (now <= last_) return;
  const Latency passed = now - last_;
  last_ = now;
  if (running_ >= cores_ || in_region_ != 0) return;
  const std::uint32_t idle = cores_ - running_;
  const std::uint32_t explained = std::min(idle, waiting_);
  if (explained != 0) {
    const double cycles = static_cast<double>(passed) * explained;
    for_waits_ += cycles;
    per_waiting_ += cycles / waiting_;
  }
  const std::uint64_t rest = std::uint64_t{passed} * (idle - explained);
  if (rest == 0) return;
  const std::uint32_t there = running_ + waiting_;
  if (there == 0) {
    none_ += rest;
  } else if (there == 1 && running_ == 1) {
    alone_[static_cast<int>(running_ids_)] += rest;
  } else {
    few_[static_cast<int>(there)] += rest;
  }
}

void IdleAccount::pause(Cycle now) {
  if (is_counting_) advance(now);
  is_counting_ = false;
}

}  // namespace rubato::chip
