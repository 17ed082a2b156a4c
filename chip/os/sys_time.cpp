// System calls on time. All of it is simulated: it starts at a fixed date and advances with the chip's
// cycles, so that two runs see the same clock.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "chip/os/guest_time.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kEpochSeconds = 1704067200;  ///< 2024-01-01 00:00:00 UTC: when every run starts
constexpr std::uint64_t kEpoch = kEpochSeconds * kSecond;

abi::Timeval timeval_of(std::uint64_t ns) {
  return {static_cast<std::int64_t>(ns / kSecond), static_cast<std::int64_t>(ns % kSecond / 1000)};
}

}  // namespace

std::optional<std::uint64_t> Process::Impl::deadline_of(const abi::Timespec& time, bool absolute,
                                                        bool realtime) const {
  if (time.seconds < 0 || time.nanoseconds < 0 || time.nanoseconds >= static_cast<std::int64_t>(kSecond))
    return std::nullopt;
  std::uint64_t ns = kFarAway;
  if (static_cast<std::uint64_t>(time.seconds) < kFarAway / kSecond)
    ns = static_cast<std::uint64_t>(time.seconds) * kSecond + static_cast<std::uint64_t>(time.nanoseconds);
  if (!absolute) return std::min(kFarAway, now() + ns);
  if (realtime) return ns > kEpoch ? ns - kEpoch : 0;
  return ns;
}

// A null pointer is no deadline. False: `error` is to be returned.
bool Process::Impl::read_deadline(Addr a, bool absolute, bool realtime,
                                  std::optional<std::uint64_t>& deadline, std::int64_t& error) const {
  if (a == 0) return true;
  const auto time = user.get<abi::Timespec>(a);
  if (!time) {
    error = -EFAULT;
    return false;
  }
  deadline = deadline_of(*time, absolute, realtime);
  if (!deadline) error = -EINVAL;
  return deadline.has_value();
}

std::optional<std::uint64_t> Process::Impl::clock_value(std::int64_t id) const {
  switch (id) {
    case 0:
    case 5:
    case 11:
      return kEpoch + now();  // realtime, coarse, TAI
    case 1:
    case 4:
    case 6:
    case 7:
    case 2:
    case 3:
      return now();  // monotonic kinds, CPU times
    default:
      return id < 0 ? std::optional<std::uint64_t>(now()) : std::nullopt;  // CPU clock of a thread
  }
}

std::int64_t Process::Impl::sys_clock_gettime(Call& call) {
  const auto value = clock_value(call.i32(0));
  if (!value) return -EINVAL;
  return user.put(call.a[1], timespec_of(*value)) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_clock_getres(Call& call) {
  if (!clock_value(call.i32(0))) return -EINVAL;
  if (call.a[1] == 0) return 0;
  return user.put(call.a[1], abi::Timespec{0, 1}) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_gettimeofday(Call& call) {
  if (call.a[0] != 0 && !user.put(call.a[0], timeval_of(kEpoch + now()))) return -EFAULT;
  if (call.a[1] != 0 && !user.put(call.a[1], std::uint64_t{0})) return -EFAULT;
  return 0;
}

std::int64_t Process::Impl::sys_nanosleep(Call& call) {
  if (!user.readable(call.a[0], sizeof(abi::Timespec))) return -EFAULT;
  Wait wait;
  wait.kind = WaitKind::sleep;
  wait.remaining = call.a[1];
  std::int64_t error = 0;
  if (!read_deadline(call.a[0], false, false, wait.deadline, error)) return error;
  if (!wait.deadline || *wait.deadline <= now()) return 0;
  return block(call, wait);
}

std::int64_t Process::Impl::sys_clock_nanosleep(Call& call) {
  if (!clock_value(call.i32(0)) || call.i32(0) == 3) return -EINVAL;
  if (!user.readable(call.a[2], sizeof(abi::Timespec))) return -EFAULT;
  const bool is_absolute = (call.a[1] & 1) != 0;
  Wait wait;
  wait.kind = WaitKind::sleep;
  wait.remaining = is_absolute ? 0 : call.a[3];
  std::int64_t error = 0;
  const bool is_realtime = call.i32(0) == 0 || call.i32(0) == 11;
  if (!read_deadline(call.a[2], is_absolute, is_realtime, wait.deadline, error)) return error;
  if (!wait.deadline || *wait.deadline <= now()) return 0;
  return block(call, wait);
}

std::int64_t Process::Impl::sys_times(Call& call) {
  constexpr std::uint64_t kTick = kSecond / 100;
  const auto ticks = static_cast<std::int64_t>(now() / kTick);
  const std::int64_t values[4] = {ticks, 0, 0, 0};
  if (call.a[0] != 0 && !user.write(call.a[0], values, sizeof values)) return -EFAULT;
  return ticks;
}

std::int64_t Process::Impl::sys_getrusage(Call& call) {
  const std::int32_t who = call.i32(0);
  if (who != 0 && who != -1 && who != 1) return -EINVAL;
  struct Usage {
    abi::Timeval user, system;
    std::int64_t max_kib;
    std::int64_t others[13];
  } usage{};
  if (who != -1) {
    usage.user = timeval_of(now());
    usage.max_kib = static_cast<std::int64_t>(memory.peak_mapped_bytes() >> 10);
  }
  return user.put(call.a[1], usage) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_getitimer(Call& call) {
  if (call.i32(0) != 0) return -EINVAL;
  const std::uint64_t left = alarm_at && *alarm_at > now() ? *alarm_at - now() : 0;
  const abi::Timeval values[2] = {timeval_of(alarm_interval), timeval_of(left)};
  return user.write(call.a[1], values, sizeof values) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_setitimer(Call& call) {
  if (call.i32(0) != 0) return -EINVAL;
  struct Timer {
    abi::Timeval interval, value;
  };
  std::optional<Timer> wanted = Timer{};
  if (call.a[1] != 0 && !(wanted = user.get<Timer>(call.a[1]))) return -EFAULT;
  for (const auto& time : {wanted->interval, wanted->value})
    if (time.seconds < 0 || time.microseconds < 0 || time.microseconds >= 1000000) return -EINVAL;
  if (call.a[2] != 0) {
    const std::uint64_t left = alarm_at && *alarm_at > now() ? *alarm_at - now() : 0;
    if (!user.put(call.a[2], Timer{timeval_of(alarm_interval), timeval_of(left)})) return -EFAULT;
  }
  const auto ns_of = [](const abi::Timeval& time) {
    const auto seconds =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(time.seconds), kFarAway / kSecond / 2);
    return seconds * kSecond + static_cast<std::uint64_t>(time.microseconds) * 1000;
  };
  alarm_interval = ns_of(wanted->interval);
  alarm_at.reset();
  if (const std::uint64_t ns = ns_of(wanted->value); ns != 0) alarm_at = now() + ns;
  return 0;
}

}  // namespace rubato::chip
