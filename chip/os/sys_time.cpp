// System calls on time. All of it is simulated: it starts at a fixed date (run.start_date) and advances with
// the chip's cycles, so that two runs see the same clock.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "chip/os/guest_time.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

abi::Timeval timeval_of(std::uint64_t ns) {
  return {static_cast<std::int64_t>(ns / kSecond), static_cast<std::int64_t>(ns % kSecond / 1000)};
}

struct ItimerValue {
  abi::Timeval interval, value;
};
constexpr std::int32_t kItimerReal = 0, kItimerVirtual = 1, kItimerProf = 2;

}  // namespace

std::optional<std::uint64_t> Process::Impl::deadline_of(const abi::Timespec& time, bool absolute,
                                                        bool realtime) const {
  if (time.seconds < 0 || time.nanoseconds < 0 || time.nanoseconds >= static_cast<std::int64_t>(kSecond))
    return std::nullopt;
  std::uint64_t ns = kFarAway;
  if (static_cast<std::uint64_t>(time.seconds) < kFarAway / kSecond)
    ns = static_cast<std::uint64_t>(time.seconds) * kSecond + static_cast<std::uint64_t>(time.nanoseconds);
  if (!absolute) return std::min(kFarAway, now() + ns);
  if (realtime) return ns - std::min(ns, start());
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

// The clock of a thread never goes back, also where its core is a few cycles behind that of a thread that has
// read it.
std::uint64_t Process::Impl::cpu_time(const Thread& thread) {
  std::uint64_t& shown = info(thread).cpu_shown;
  return shown = std::max(shown, clock.cpu_nanoseconds(thread));
}

std::uint64_t Process::Impl::cpu_time() {
  std::uint64_t sum = 0;
  for (const auto& thread : threads)
    if (is_own(*thread)) sum += cpu_time(*thread);
  return sum;
}

std::uint64_t Process::Impl::cpu_clock_now(int tid) const {
  std::uint64_t sum = 0;
  for (const auto& thread : threads)
    if (tid == 0 ? is_own(*thread) : thread->tid == tid) sum += clock.cpu_nanoseconds(*thread);
  return sum;
}

// CPU time passes as fast as threads run, and no faster than the clock on every core. So this is when to
// look, which is never too late. A look that comes too early sets the next one; at least a microsecond passes
// between two.
std::optional<std::uint64_t> Process::Impl::cpu_wait(int tid, std::uint64_t due) const {
  constexpr std::uint64_t kBetweenLooks = 1000;
  std::uint64_t running = 0;
  for (const auto& thread : threads)
    running +=
        (tid == 0 ? is_own(*thread) : thread->tid == tid) && thread->state == ThreadState::runnable ? 1 : 0;
  running = std::min<std::uint64_t>(running, options.cores);
  if (running == 0) return std::nullopt;
  const std::uint64_t at = cpu_clock_now(tid);
  return at >= due ? 0 : std::max(kBetweenLooks, (due - at) / running);
}

// Numbers below 0 hold a process or thread and which of its clocks: all of these are one here.
std::optional<Process::Impl::CpuClock> Process::Impl::cpu_clock(std::int32_t id, Thread& caller) {
  constexpr std::int32_t kOfProcess = 2, kOfThread = 3, kIsThread = 4, kKinds = 3;
  if (id == kOfProcess) return CpuClock{};
  if (id == kOfThread) return CpuClock{&caller};
  if (id >= 0 || (id & kKinds) == kKinds) return std::nullopt;
  const std::int32_t of = ~(id >> 3);
  if ((id & kIsThread) == 0) return of == 0 || of == pid ? std::optional(CpuClock{}) : std::nullopt;
  Thread* const thread = of == 0 ? &caller : find_thread(of);
  return thread != nullptr ? std::optional(CpuClock{thread}) : std::nullopt;
}

std::optional<std::uint64_t> Process::Impl::clock_value(std::int32_t id, Thread& caller) {
  switch (id) {
    case 0:
    case 5:
    case 8:
    case 11:
      return start() + now();  // realtime, coarse, alarm, TAI
    case 1:
    case 4:
    case 6:
    case 7:
    case 9:
      return now();  // monotonic kinds
    default: {
      const auto of = cpu_clock(id, caller);
      if (!of) return std::nullopt;
      return of->thread != nullptr ? cpu_time(*of->thread) : cpu_time();
    }
  }
}

std::int64_t Process::Impl::sys_clock_gettime(Call& call) {
  const auto value = clock_value(call.i32(0), call.thread);
  if (!value) return -EINVAL;
  return user.put(call.a[1], timespec_of(*value)) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_clock_getres(Call& call) {
  if (!clock_value(call.i32(0), call.thread)) return -EINVAL;
  if (call.a[1] == 0) return 0;
  return user.put(call.a[1], abi::Timespec{0, 1}) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_gettimeofday(Call& call) {
  if (call.a[0] != 0 && !user.put(call.a[0], timeval_of(start() + now()))) return -EFAULT;
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
  if (!clock_value(call.i32(0), call.thread)) return -EINVAL;
  if (cpu_clock(call.i32(0), call.thread)) return -EOPNOTSUPP;  // time to wait for passes while all wait, too
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
  const std::int64_t values[4] = {static_cast<std::int64_t>(cpu_time() / kTick), 0,
                                  static_cast<std::int64_t>(waited_nanoseconds / kTick), 0};
  if (call.a[0] != 0 && !user.write(call.a[0], values, sizeof values)) return -EFAULT;
  return static_cast<std::int64_t>(now() / kTick);
}

// All of it is the user's: the few cycles of system calls are not told apart.
std::int64_t Process::Impl::sys_getrusage(Call& call) {
  constexpr std::int32_t kSelf = 0, kChildren = -1, kThread = 1;
  const std::int32_t who = call.i32(0);
  if (who != kSelf && who != kChildren && who != kThread) return -EINVAL;
  struct Usage {
    abi::Timeval user, system;
    std::int64_t max_kib;
    std::int64_t others[13];
  } usage{};
  if (who != kChildren) {
    usage.user = timeval_of(who == kThread ? cpu_time(call.thread) : cpu_time());
    usage.max_kib = static_cast<std::int64_t>(memory.peak_mapped_bytes() >> 10);
  } else {
    usage.user = timeval_of(waited_nanoseconds);
  }
  return user.put(call.a[1], usage) ? 0 : -EFAULT;
}

// All CPU time is the user's, so ITIMER_VIRTUAL and ITIMER_PROF differ in their signals only.
std::uint64_t Process::Impl::itimer_now(std::int32_t which) const {
  return which == kItimerReal ? now() : cpu_clock_now(0);
}

std::int64_t Process::Impl::sys_getitimer(Call& call) {
  const std::int32_t which = call.i32(0);
  if (which < kItimerReal || which > kItimerProf) return -EINVAL;
  const IntervalTimer& timer = itimers[static_cast<std::size_t>(which)];
  // A running timer has at least a microsecond left, as 0 says that it does not run.
  const std::uint64_t left = timer.next ? std::max<std::uint64_t>(timer.left(itimer_now(which)), 1000) : 0;
  const ItimerValue value{timeval_of(timer.interval), timeval_of(left)};
  return user.put(call.a[1], value) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_setitimer(Call& call) {
  const std::int32_t which = call.i32(0);
  if (which < kItimerReal || which > kItimerProf) return -EINVAL;
  std::optional<ItimerValue> wanted = ItimerValue{};
  if (call.a[1] != 0 && !(wanted = user.get<ItimerValue>(call.a[1]))) return -EFAULT;
  for (const auto& time : {wanted->interval, wanted->value})
    if (time.seconds < 0 || time.microseconds < 0 || time.microseconds >= 1000000) return -EINVAL;
  if (call.a[2] != 0) {
    Call get{call.thread, call.info, call.number, {call.a[0], call.a[2], 0, 0, 0, 0}};
    if (const std::int64_t error = sys_getitimer(get); error != 0) return error;
  }
  const auto ns_of = [](const abi::Timeval& time) {
    const auto seconds =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(time.seconds), kFarAway / kSecond / 2);
    return seconds * kSecond + static_cast<std::uint64_t>(time.microseconds) * 1000;
  };
  IntervalTimer& timer = itimers[static_cast<std::size_t>(which)];
  timer = {.next = std::nullopt, .interval = ns_of(wanted->interval)};
  if (const std::uint64_t ns = ns_of(wanted->value); ns != 0) timer.next = itimer_now(which) + ns;
  return 0;
}

void Process::Impl::expire_cpu_itimers() {
  for (const std::int32_t which : {kItimerVirtual, kItimerProf}) {
    IntervalTimer& timer = itimers[static_cast<std::size_t>(which)];
    const std::uint64_t count = timer.next ? timer.expirations(itimer_now(which)) : 0;
    if (count == 0) continue;
    timer.consume(count);
    abi::Siginfo siginfo{};
    siginfo.signo = which == kItimerProf ? abi::kSigProf : abi::kSigVtAlrm;
    siginfo.code = 0x80;  // SI_KERNEL
    send_signal(nullptr, siginfo);
    if (is_exited) return;
  }
}

}  // namespace rubato::chip
