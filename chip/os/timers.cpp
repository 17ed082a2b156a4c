// SPDX-License-Identifier: MIT
#include "chip/os/timers.hpp"

#include <cstring>

namespace rubato::chip {

TimerFile::TimerFile(const GuestClock& clock, bool is_realtime, std::uint32_t open_flags)
    : OpenFile(open_flags), clock_(clock), is_realtime_(is_realtime) {}

std::int64_t TimerFile::read(std::span<std::byte> to) {
  if (to.size() < 8) return -EINVAL;
  const std::uint64_t count = timer_.expirations(clock_.nanoseconds());
  if (count == 0) return kWouldBlock;
  timer_.consume(count);
  taken_ += count;
  announced_ = 0;
  std::memcpy(to.data(), &count, 8);
  return 8;
}

std::int64_t TimerFile::stat(abi::Stat& result) {
  result = {};
  result.mode = 0600;
  result.nlink = 1;
  return 0;
}

std::uint32_t TimerFile::poll(std::uint32_t events) {
  return timer_.expirations(clock_.nanoseconds()) != 0 ? events & PollBits::kIn : 0;
}

std::optional<Edges> TimerFile::edges() const {
  return Edges{taken_ + timer_.expirations(clock_.nanoseconds()), 0};
}

void TimerFile::set(const IntervalTimer& timer) {
  taken_ += timer_.expirations(clock_.nanoseconds());
  timer_ = timer;
  announced_ = 0;
}

std::optional<std::uint64_t> TimerFile::next_to_announce() const {
  if (!timer_.next || (timer_.interval == 0 && announced_ != 0)) return std::nullopt;
  return *timer_.next + announced_ * timer_.interval;
}

}  // namespace rubato::chip
