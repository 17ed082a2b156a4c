// System calls that tell about the machine and the process. Everything is the same on every host.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
constexpr std::uint32_t kFiles = 7, kSignalsPending = 11;  // RLIMIT_NOFILE, RLIMIT_SIGPENDING
constexpr int kNiceZero = 20;                              // as getpriority() of the kernel encodes nice 0

}  // namespace

std::int64_t Process::Impl::sys_uname(Call& call) {
  char text[6][65] = {"Linux", "rubato", "6.1.0", "#1 SMP", "riscv64", "(none)"};
  return user.write(call.a[0], text, sizeof text) ? 0 : -EFAULT;
}

// include/rubato/markers.h: no call of Linux.
std::int64_t Process::Impl::sys_rubato_mark(Call& call) {
  constexpr std::size_t kLongest = 64;
  if (call.a[0] > 1) return -EINVAL;
  const auto name = user.string(call.a[1], kLongest);
  if (!name) return -EFAULT;
  if (name->empty() || name->size() >= kLongest) return -EINVAL;
  if (observer != nullptr) observer->on_marker(call.thread, call.a[0] == 0, *name);
  return 0;
}

std::int64_t Process::Impl::sys_sysinfo(Call& call) {
  struct Info {
    std::int64_t uptime;
    std::uint64_t loads[3], total, free, shared, buffers, swap_total, swap_free;
    std::uint16_t processes, pad;
    std::uint32_t pad2;
    std::uint64_t high_total, high_free;
    std::uint32_t unit;
    std::uint32_t pad3;
  } info{};
  static_assert(sizeof(Info) == 112);
  info.uptime = static_cast<std::int64_t>(now() / 1000000000);
  info.total = options.memory_bytes;
  info.free = free_bytes();
  info.processes = static_cast<std::uint16_t>(std::min<std::size_t>(kernel.processes.size(), 65535));
  info.unit = 1;
  return user.put(call.a[0], info) ? 0 : -EFAULT;
}

abi::ResourceLimit Process::Impl::limit(std::uint32_t which) const {
  constexpr std::uint32_t kStack = 3, kCore = 4;
  if (which == kFiles) return {files.most, files.most_hard};
  if (which == kSignalsPending) return {most_pending, most_pending_hard};
  if (const auto set = limits.find(which); set != limits.end()) return set->second;
  if (which == kStack) return {options.stack_bytes, kUnlimited};
  return which == kCore ? abi::ResourceLimit{0, 0} : abi::ResourceLimit{kUnlimited, kUnlimited};
}

std::int64_t Process::Impl::sys_prlimit64(Call& call) {
  constexpr std::uint32_t kMost = 15;
  Impl* const of = call.i32(0) == 0 ? this : kernel.find(call.i32(0));
  if (of == nullptr) return -ESRCH;
  const std::uint32_t which = call.u32(1);
  if (which > kMost) return -EINVAL;
  std::optional<abi::ResourceLimit> wanted;
  if (call.a[2] != 0 && !(wanted = user.get<abi::ResourceLimit>(call.a[2]))) return -EFAULT;
  const abi::ResourceLimit before = of->limit(which);
  if (wanted && wanted->now > wanted->most) return -EINVAL;
  if (wanted && wanted->most > before.most) return -EPERM;
  if (call.a[3] != 0 && !user.put(call.a[3], before)) return -EFAULT;
  if (!wanted) return 0;
  if (which == kFiles) {
    of->files.most = wanted->now, of->files.most_hard = wanted->most;
  } else if (which == kSignalsPending) {
    of->most_pending = wanted->now, of->most_pending_hard = wanted->most;
  } else if (wanted->now != before.now || wanted->most != before.most) {
    of->limits[which] = *wanted;
  }
  return 0;
}

std::int64_t Process::Impl::sys_getrlimit(Call& call) {
  Call same{call.thread, call.info, call.number, {0, call.a[0], 0, call.a[1], 0, 0}};
  return call.a[1] == 0 ? -EFAULT : sys_prlimit64(same);
}
std::int64_t Process::Impl::sys_setrlimit(Call& call) {
  Call same{call.thread, call.info, call.number, {0, call.a[0], call.a[1], 0, 0, 0}};
  return call.a[1] == 0 ? -EFAULT : sys_prlimit64(same);
}

std::int64_t Process::Impl::sys_getrandom(Call& call) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{32} << 20;
  constexpr std::uint32_t kRandom = 2, kInsecure = 4, kFlags = 7;
  const std::uint32_t flags = call.u32(2);
  if ((flags & ~kFlags) != 0 || (flags & (kRandom | kInsecure)) == (kRandom | kInsecure)) return -EINVAL;
  const std::uint64_t wanted = std::min(call.a[1], kMaxBytes);
  const std::uint64_t bytes = user.writable_bytes(call.a[0], wanted);
  if (bytes == 0 && wanted != 0) return -EFAULT;
  std::vector<std::byte> random(bytes);
  fill_random(rng, random);
  user.write(call.a[0], random.data(), bytes);
  return static_cast<std::int64_t>(bytes);
}

namespace {

struct CapabilityHeader {
  std::uint32_t version;
  std::int32_t pid;
};
constexpr std::uint32_t kCapabilityVersion = 0x20080522;
using Capabilities = std::array<std::uint32_t, 6>;  // effective, permitted and inheritable, twice

/// 0, or an error. The caller of a call with another version hears of the one that is there.
std::int64_t read_header(UserMemory& user, Addr at, CapabilityHeader& header) {
  const auto given = user.get<CapabilityHeader>(at);
  if (!given) return -EFAULT;
  header = *given;
  if (header.version == kCapabilityVersion) return 0;
  user.put(at, kCapabilityVersion);
  return -EINVAL;
}

}  // namespace

// An ordinary user has none, and gets none.
std::int64_t Process::Impl::sys_capget(Call& call) {
  CapabilityHeader header{};
  if (const std::int64_t error = read_header(user, call.a[0], header); error != 0) return error;
  return call.a[1] == 0 || user.put(call.a[1], Capabilities{}) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_capset(Call& call) {
  CapabilityHeader header{};
  if (const std::int64_t error = read_header(user, call.a[0], header); error != 0) return error;
  if (header.pid != 0 && header.pid != call.thread.tid) return -EPERM;
  const auto wanted = user.get<Capabilities>(call.a[1]);
  if (!wanted) return -EFAULT;
  return *wanted == Capabilities{} ? 0 : -EPERM;
}

std::int64_t Process::Impl::sys_getgroups(Call& call) {
  if (call.i32(0) < 0) return -EINVAL;
  if (call.i32(0) == 0) return 1;
  return user.put(call.a[1], kGuestUser) ? 1 : -EFAULT;
}

std::int64_t Process::Impl::sys_getresuid(Call& call) {
  for (unsigned i = 0; i < 3; ++i)
    if (!user.writable(call.a[i], 4)) return -EFAULT;
  for (unsigned i = 0; i < 3; ++i) user.put(call.a[i], kGuestUser);
  return 0;
}
std::int64_t Process::Impl::sys_getresgid(Call& call) { return sys_getresuid(call); }

std::int64_t Process::Impl::sys_personality(Call& call) {
  return call.u32(0) == 0xffffffff || call.u32(0) == 0 ? 0 : -EINVAL;
}

std::vector<Process::Impl*> Process::Impl::of_priority(std::uint32_t kind, std::int32_t whom) {
  enum : std::uint32_t { kProcess = 0, kGroup = 1, kUser = 2 };
  if (kind == kProcess) {
    Thread* const thread = whom == 0 ? &main_thread() : find_any_thread(whom);
    return thread != nullptr ? std::vector{&kernel.process_of(*thread)} : std::vector<Impl*>{};
  }
  const int group = whom == 0 ? kernel.children.at(pid).group : whom;
  const bool is_own_user = whom == 0 || whom == static_cast<std::int32_t>(kGuestUser);
  std::vector<Impl*> meant;
  for (const auto& [one, process] : kernel.processes)
    if (kind == kUser ? is_own_user : kernel.children.at(one).group == group) meant.push_back(process.get());
  return meant;
}

std::int64_t Process::Impl::sys_getpriority(Call& call) {
  if (call.u32(0) > 2) return -EINVAL;
  std::int64_t best = -ESRCH;
  for (const Impl* const process : of_priority(call.u32(0), call.i32(1)))
    best = std::max<std::int64_t>(best, kNiceZero - process->nice);
  return best;
}

std::int64_t Process::Impl::sys_setpriority(Call& call) {
  constexpr int kLeast = -20, kMost = 19;
  if (call.u32(0) > 2) return -EINVAL;
  const int wanted = std::clamp(call.i32(2), kLeast, kMost);
  std::int64_t result = -ESRCH;
  for (Impl* const process : of_priority(call.u32(0), call.i32(1))) {
    const bool may = wanted >= process->nice;  // to be more than it was is the superuser's
    if (may) process->nice = wanted;
    if (result != -EACCES) result = may ? 0 : -EACCES;
  }
  return result;
}

std::int64_t Process::Impl::sys_getuid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_geteuid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_getgid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_getegid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_setgid(Call& call) { return call.u32(0) == kGuestUser ? 0 : -EPERM; }
std::int64_t Process::Impl::sys_setuid(Call& call) { return call.u32(0) == kGuestUser ? 0 : -EPERM; }
// Refused (C2), as by a kernel without it: newer C libraries ask at their start and do without.
std::int64_t Process::Impl::sys_rseq(Call&) { return -ENOSYS; }
// As by a kernel that was started without Landlock: programs that would confine themselves go on without.
std::int64_t Process::Impl::sys_landlock_create_ruleset(Call&) { return -EOPNOTSUPP; }

}  // namespace rubato::chip
