// System calls on timers: timerfd and POSIX timers. setitimer() is sys_time.cpp's.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <span>

#include "chip/os/guest_time.hpp"
#include "chip/os/process_impl.hpp"
#include "chip/os/timers.hpp"

namespace rubato::chip {
namespace {

struct TimerSetting {  // itimerspec
  abi::Timespec interval, value;
};
constexpr std::uint32_t kAbsolute = 1;

bool is_realtime(std::int64_t clock) { return clock == 0 || clock == 8 || clock == 11; }

TimerSetting setting_of(const IntervalTimer& timer, std::uint64_t now) {
  // An interval timer that has expired meanwhile is due again after the rest of its interval.
  std::uint64_t left = timer.left(now);
  if (left == 0 && timer.next && timer.interval != 0)
    left = timer.interval - (now - *timer.next) % timer.interval;
  return {timespec_of(timer.interval), timespec_of(left)};
}

}  // namespace

std::int64_t Process::Impl::read_timer(Addr a, bool is_absolute, bool of_realtime, std::uint64_t now_there,
                                       IntervalTimer& timer) const {
  const auto wanted = user.get<TimerSetting>(a);
  if (!wanted) return -EFAULT;
  auto due = deadline_of(wanted->value, true, is_absolute && of_realtime);
  if (due && !is_absolute) due = std::min(kFarAway, now_there + *due);
  const auto after = deadline_of(wanted->interval, true, false);
  if (!due || !after) return -EINVAL;
  timer = {};
  timer.interval = std::min(*after, kFarAway);
  if (wanted->value.seconds != 0 || wanted->value.nanoseconds != 0)
    timer.next = std::max<std::uint64_t>(*due, 1);
  return 0;
}

std::int64_t Process::Impl::sys_timerfd_create(Call& call) {
  constexpr std::int64_t kClocks[] = {0, 1, 7};
  if ((call.u32(1) & ~(abi::kCloseOnExec | abi::kNonBlock)) != 0) return -EINVAL;
  if (call.i32(0) == 8 || call.i32(0) == 9) return -EPERM;  // they wake the machine
  if (std::find(std::begin(kClocks), std::end(kClocks), call.i32(0)) == std::end(kClocks)) return -EINVAL;
  auto file = std::make_shared<TimerFile>(clock, is_realtime(call.i32(0)),
                                          abi::kReadWrite | (call.u32(1) & abi::kNonBlock));
  std::erase_if(timer_files, [](const auto& timer) { return timer.expired(); });
  timer_files.push_back(file);
  return install(std::move(file), (call.u32(1) & abi::kCloseOnExec) != 0);
}

std::int64_t Process::Impl::sys_timerfd_settime(Call& call) {
  const auto found = files.find(call.i32(0));
  if (found == nullptr) return -EBADF;
  const auto file = std::dynamic_pointer_cast<TimerFile>(found);
  if (file == nullptr || (call.u32(1) & ~3u) != 0) return -EINVAL;
  IntervalTimer timer;
  const bool is_absolute = (call.u32(1) & kAbsolute) != 0;
  if (const std::int64_t error = read_timer(call.a[2], is_absolute, file->is_realtime(), now(), timer);
      error != 0)
    return error;
  if (call.a[3] != 0 && !user.put(call.a[3], setting_of(file->timer(), now()))) return -EFAULT;
  file->set(timer);
  files_changed = true;  // one that is due at once
  return 0;
}

std::int64_t Process::Impl::sys_timerfd_gettime(Call& call) {
  const auto found = files.find(call.i32(0));
  if (found == nullptr) return -EBADF;
  const auto file = std::dynamic_pointer_cast<TimerFile>(found);
  if (file == nullptr) return -EINVAL;
  return user.put(call.a[1], setting_of(file->timer(), now())) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_timer_create(Call& call) {
  struct Event {  // sigevent
    std::uint64_t value;
    std::int32_t signal, notify, tid;
  };
  constexpr std::int32_t kSignal = 0, kNone = 1, kThreadId = 4;
  constexpr std::size_t kMostTimers = 1024;
  if (!clock_value(call.i32(0), call.thread)) return -EINVAL;
  PosixTimer timer;
  if (const auto cpu = cpu_clock(call.i32(0), call.thread))
    timer.cpu_of = cpu->thread != nullptr ? cpu->thread->tid : 0;
  timer.is_realtime = is_realtime(call.i32(0));
  timer.signal = abi::kSigAlrm;
  std::int32_t id = 0;
  while (posix_timers.contains(id)) ++id;
  timer.value = static_cast<std::uint64_t>(id);
  if (call.a[1] != 0) {
    const auto event = user.get<Event>(call.a[1]);
    if (!event) return -EFAULT;
    if (event->notify != kSignal && event->notify != kNone && event->notify != kThreadId) return -EINVAL;
    if (event->notify != kNone &&
        (event->signal < 1 || event->signal > static_cast<std::int32_t>(abi::kSignals)))
      return -EINVAL;
    if (event->notify == kThreadId && find_thread(event->tid) == nullptr) return -EINVAL;
    timer.signal = event->notify == kNone ? 0 : event->signal;
    timer.value = event->value;
    timer.tid = event->notify == kThreadId ? event->tid : 0;
  }
  if (posix_timers.size() >= kMostTimers) return -EAGAIN;
  if (!user.put(call.a[2], id)) return -EFAULT;
  posix_timers.emplace(id, timer);
  return 0;
}

std::int64_t Process::Impl::sys_timer_settime(Call& call) {
  const auto found = posix_timers.find(call.i32(0));
  if (found == posix_timers.end() || call.a[2] == 0) return -EINVAL;
  PosixTimer& timer = found->second;
  IntervalTimer wanted;
  const bool is_absolute = (call.u32(1) & kAbsolute) != 0;
  if (const std::int64_t error =
          read_timer(call.a[2], is_absolute, timer.is_realtime, time_of(timer), wanted);
      error != 0)
    return error;
  if (call.a[3] != 0 && !user.put(call.a[3], setting_of(timer.timer, time_of(timer)))) return -EFAULT;
  timer.timer = wanted;
  timer.overrun = 0;
  return 0;
}

std::int64_t Process::Impl::sys_timer_gettime(Call& call) {
  const auto found = posix_timers.find(call.i32(0));
  if (found == posix_timers.end()) return -EINVAL;
  return user.put(call.a[1], setting_of(found->second.timer, time_of(found->second))) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_timer_getoverrun(Call& call) {
  const auto found = posix_timers.find(call.i32(0));
  return found == posix_timers.end() ? -EINVAL : static_cast<std::int64_t>(found->second.overrun);
}

std::int64_t Process::Impl::sys_timer_delete(Call& call) {
  return posix_timers.erase(call.i32(0)) != 0 ? 0 : -EINVAL;
}

std::uint64_t Process::Impl::time_of(const PosixTimer& timer) const {
  return timer.cpu_of ? cpu_clock_now(*timer.cpu_of) : now();
}

std::optional<std::uint64_t> Process::Impl::next_timer() const {
  std::optional<std::uint64_t> next;
  const auto consider = [&](std::optional<std::uint64_t> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  const auto consider_cpu = [&](int tid, const IntervalTimer& timer) {
    if (!timer.next) return;
    if (const auto wait = cpu_wait(tid, *timer.next)) consider(now() + *wait);
  };
  for (const IntervalTimer& timer : std::span(itimers).subspan<1>()) consider_cpu(0, timer);
  for (const auto& [id, timer] : posix_timers) {
    if (timer.signal == 0 || timer.is_queued) continue;
    if (timer.cpu_of) {
      consider_cpu(*timer.cpu_of, timer.timer);
    } else {
      consider(timer.timer.next);
    }
  }
  if (file_waits.empty()) return next;  // nothing looks at the others
  for (const auto& weak : timer_files)
    if (const auto file = weak.lock()) consider(file->next_to_announce());
  return next;
}

void Process::Impl::tell_overrun(std::int32_t id, abi::Siginfo& siginfo) {
  const auto found = posix_timers.find(id);
  if (found == posix_timers.end()) return;  // deleted meanwhile
  PosixTimer& timer = found->second;
  const std::uint64_t count = timer.timer.expirations(time_of(timer));
  if (count != 0) timer.timer.consume(count);
  timer.overrun = std::min<std::uint64_t>(count, std::numeric_limits<std::int32_t>::max());
  timer.is_queued = false;
  siginfo.sender.uid = static_cast<std::uint32_t>(timer.overrun);
}

void Process::Impl::expire_timers() {
  for (auto& [id, timer] : posix_timers) {
    const bool is_due = timer.signal != 0 && !timer.is_queued && timer.timer.expirations(time_of(timer)) != 0;
    if (!is_due) continue;
    timer.timer.consume(1);
    Thread* const target = timer.tid != 0 ? find_thread(timer.tid) : nullptr;
    if (timer.tid != 0 && target == nullptr) continue;  // it has ended
    PendingSignal sent;
    sent.timer = id;
    sent.info.signo = timer.signal;
    sent.info.code = -2;  // SI_TIMER
    sent.info.sender.pid = id;
    sent.info.sender.value = timer.value;
    timer.is_queued = true;
    send_signal(target, sent);
    if (is_exited) return;
  }
  for (const auto& weak : timer_files) {
    const auto file = weak.lock();
    const auto due = file ? file->next_to_announce() : std::nullopt;
    if (!due || *due > now()) continue;
    file->announce();
    files_changed = true;
  }
  if (files_changed) retry_file_waits();
}

}  // namespace rubato::chip
