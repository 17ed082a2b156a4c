// Timers that a program sets: by descriptor (timerfd), and those that send signals (timer_create).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "chip/os/open_file.hpp"
#include "chip/os/process.hpp"

namespace rubato::chip {

/// A timer that expires at `next`, and then every `interval` ns, if that is not 0. Times are those of the
/// guest's clock.
struct IntervalTimer {
  std::optional<std::uint64_t> next;
  std::uint64_t interval = 0;

  /// How often it has expired until `now`.
  std::uint64_t expirations(std::uint64_t now) const {
    if (!next || now < *next) return 0;
    return interval == 0 ? 1 : 1 + (now - *next) / interval;
  }
  /// Takes these expirations away. `count` is not 0 and not more than expirations().
  void consume(std::uint64_t count) {
    if (interval == 0) {
      next.reset();
    } else {
      *next += count * interval;
    }
  }
  std::uint64_t left(std::uint64_t now) const { return next && *next > now ? *next - now : 0; }
};

/// timer_create(): sends `signal` (0: none) to the process or to thread `tid`.
struct PosixTimer {
  IntervalTimer timer;
  bool is_realtime = false;
  std::optional<int> cpu_of;  ///< its clock is the CPU time of this thread, or (0) of the process
  std::int32_t signal = 0;
  int tid = 0;
  std::uint64_t value = 0;    ///< that the handler gets
  std::uint64_t overrun = 0;  ///< expirations besides the one that sent the signal delivered last
  bool is_queued = false;     ///< its signal is on its way: what expires meanwhile is counted at delivery
};

/// timerfd_create(): reads give the number of expirations since the last one.
class TimerFile : public OpenFile {
 public:
  TimerFile(const GuestClock& clock, bool is_realtime, std::uint32_t open_flags);
  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t write(std::span<const std::byte>) override { return -EINVAL; }
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::optional<Edges> edges() const override;

  void set(const IntervalTimer& timer);
  const IntervalTimer& timer() const { return timer_; }
  bool is_realtime() const { return is_realtime_; }
  /// The time of the next expiration that was not announced; announce(): of all until now that is done.
  std::optional<std::uint64_t> next_to_announce() const;
  void announce() { announced_ = timer_.expirations(clock_.nanoseconds()); }

 private:
  const GuestClock& clock_;
  IntervalTimer timer_;
  bool is_realtime_;
  std::uint64_t announced_ = 0;  // of timer_
  std::uint64_t taken_ = 0;      // expirations that timer_ does not count any more
};

}  // namespace rubato::chip
