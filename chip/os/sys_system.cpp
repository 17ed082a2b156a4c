// System calls that tell about the machine and the process. Everything is the same on every host.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
constexpr std::uint32_t kSignalsPending = 11;  // RLIMIT_SIGPENDING

struct Limit {
  std::uint64_t now, most;
};

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

std::int64_t Process::Impl::sys_prlimit64(Call& call) {
  constexpr std::uint32_t kStack = 3, kCore = 4, kFiles = 7, kMost = 15;
  Impl* const of = call.i32(0) == 0 ? this : kernel.find(call.i32(0));
  if (of == nullptr) return -ESRCH;
  const std::uint32_t which = call.u32(1);
  if (which > kMost) return -EINVAL;
  std::optional<Limit> wanted;
  if (call.a[2] != 0 && !(wanted = user.get<Limit>(call.a[2]))) return -EFAULT;
  Limit limit{kUnlimited, kUnlimited};
  if (which == kStack) limit.now = of->options.stack_bytes;
  if (which == kFiles) limit = {of->files.most, of->files.most_hard};
  if (which == kCore) limit = {0, 0};  // no core files
  if (which == kSignalsPending) limit = {of->most_pending, of->most_pending_hard};
  const bool is_bound = which == kFiles || which == kSignalsPending;  // others are taken, and bound nothing
  if (wanted && is_bound) {
    if (wanted->now > wanted->most) return -EINVAL;
    if (wanted->most > limit.most) return -EPERM;
  }
  if (call.a[3] != 0 && !user.put(call.a[3], limit)) return -EFAULT;
  if (wanted && which == kFiles) of->files.most = wanted->now, of->files.most_hard = wanted->most;
  if (wanted && which == kSignalsPending)
    of->most_pending = wanted->now, of->most_pending_hard = wanted->most;
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
  const std::uint64_t bytes = std::min(call.a[1], kMaxBytes);
  if ((call.u32(2) & ~7u) != 0) return -EINVAL;
  if (!user.writable(call.a[0], bytes)) return -EFAULT;
  std::vector<std::byte> random(bytes);
  fill_random(rng, random);
  user.write(call.a[0], random.data(), bytes);
  return static_cast<std::int64_t>(bytes);
}

std::int64_t Process::Impl::sys_prctl(Call& call) {
  constexpr std::uint64_t kNameBytes = 16;
  switch (call.i32(0)) {
    case 15: {  // PR_SET_NAME
      const auto name = user.string(call.a[1], kNameBytes - 1);
      if (!name) return -EFAULT;
      call.info.name = *name;
      return 0;
    }
    case 16: {  // PR_GET_NAME
      std::array<char, kNameBytes> name{};
      std::copy_n(call.info.name.begin(), std::min<std::size_t>(call.info.name.size(), kNameBytes - 1),
                  name.begin());
      return user.put(call.a[1], name) ? 0 : -EFAULT;
    }
    case 3:
      return 1;  // PR_GET_DUMPABLE
    case 4:
    case 38:
      return 0;  // PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS
    default:
      return -EINVAL;
  }
}

std::int64_t Process::Impl::sys_capget(Call& call) {
  struct Header {
    std::uint32_t version;
    std::int32_t pid;
  };
  const auto header = user.get<Header>(call.a[0]);
  if (!header) return -EFAULT;
  constexpr std::uint32_t kVersion3 = 0x20080522;
  if (header->version != kVersion3) {
    user.put(call.a[0], kVersion3);
    return -EINVAL;
  }
  const std::array<std::uint32_t, 6> none{};
  return call.a[1] == 0 || user.put(call.a[1], none) ? 0 : -EFAULT;
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
std::int64_t Process::Impl::sys_getpriority(Call&) { return 20; }  // nice 0, as the kernel encodes it
std::int64_t Process::Impl::sys_setpriority(Call& call) { return call.i32(2) >= 0 ? 0 : -EACCES; }
std::int64_t Process::Impl::sys_getuid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_geteuid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_getgid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_getegid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_setgid(Call& call) { return call.u32(0) == kGuestUser ? 0 : -EPERM; }
std::int64_t Process::Impl::sys_setuid(Call& call) { return call.u32(0) == kGuestUser ? 0 : -EPERM; }
// Refused (C2), as by a kernel without it: newer C libraries ask at their start and do without.
std::int64_t Process::Impl::sys_rseq(Call&) { return -ENOSYS; }

}  // namespace rubato::chip
