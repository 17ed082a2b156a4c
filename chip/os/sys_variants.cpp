// System calls that are others with more arguments, and those that only tell the system what will come.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <climits>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

/// Flags of preadv2() and pwritev2() that change nothing here: high priority, and data or all written
/// through.
constexpr std::uint32_t kHarmlessFlags = 1 | 2 | 4;

}  // namespace

std::int64_t Process::Impl::sys_preadv2(Call& call) {
  if ((call.u32(5) & ~kHarmlessFlags) != 0) return -EOPNOTSUPP;
  return call.i64(3) == -1 ? sys_readv(call) : sys_preadv(call);
}

std::int64_t Process::Impl::sys_pwritev2(Call& call) {
  if ((call.u32(5) & ~kHarmlessFlags) != 0) return -EOPNOTSUPP;
  return call.i64(3) == -1 ? sys_writev(call) : sys_pwritev(call);
}

std::int64_t Process::Impl::sys_openat2(Call& call) {
  if (const auto& opening = call.info.wait.opening) return finish_open(call, *opening);
  struct How {
    std::uint64_t flags, mode, resolve;
  };
  constexpr std::uint64_t kRestrictions = 63, kModes = 07777;
  if (call.a[3] < sizeof(How)) return -EINVAL;
  const auto how = user.get<How>(call.a[2]);
  if (!how) return -EFAULT;
  // A newer structure: what this one does not know must be 0.
  std::vector<std::uint8_t> rest(std::min<std::uint64_t>(call.a[3] - sizeof(How), AddressSpace::kPageBytes));
  if (call.a[3] - sizeof(How) > rest.size()) return -E2BIG;
  if (!user.read(call.a[2] + sizeof(How), rest.data(), rest.size())) return -EFAULT;
  if (std::any_of(rest.begin(), rest.end(), [](std::uint8_t byte) { return byte != 0; })) return -E2BIG;
  const bool creates = (how->flags & (abi::kCreate | abi::kTemporary)) != 0;
  if ((how->resolve & ~kRestrictions) != 0 || (how->flags >> 32) != 0 || (how->mode & ~kModes) != 0 ||
      (!creates && how->mode != 0))
    return -EINVAL;
  if (how->resolve != 0) return not_implemented(call, "openat2 with restrictions of the path");
  const auto path = user.string(call.a[1], PATH_MAX);
  if (!path) return -EFAULT;
  return open_path(&call, call.i32(0), *path, static_cast<std::uint32_t>(how->flags),
                   static_cast<std::uint32_t>(how->mode));
}

std::int64_t Process::Impl::sys_syncfs(Call& call) { return files.find(call.i32(0)) ? 0 : -EBADF; }

std::int64_t Process::Impl::sys_sync_file_range(Call& call) {
  const auto file = files.find(call.i32(0));
  if ((call.u32(3) & ~7u) != 0 || call.i64(1) < 0 || call.i64(2) < 0) return -EINVAL;
  if (!file) return -EBADF;
  abi::Stat info{};
  if (const auto error = file->stat(info); error < 0) return error;
  const bool is_kept = S_ISREG(info.mode) || S_ISDIR(info.mode) || S_ISBLK(info.mode);
  return is_kept ? 0 : -ESPIPE;
}

std::int64_t Process::Impl::sys_readahead(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file || !file->can_read()) return -EBADF;
  return file->host_fd() < 0 ? -EINVAL : 0;
}

// --- memory: every page is resident
// ---------------------------------------------------------------------------

std::int64_t Process::Impl::sys_mlock2(Call& call) {
  return (call.u32(2) & ~1u) != 0 ? -EINVAL : sys_mlock(call);
}

std::int64_t Process::Impl::sys_mlockall(Call& call) {
  constexpr std::uint32_t kOnFault = 4, kAll = 7;
  const std::uint32_t flags = call.u32(0);
  return flags == 0 || flags == kOnFault || (flags & ~kAll) != 0 ? -EINVAL : 0;
}
std::int64_t Process::Impl::sys_munlockall(Call&) { return 0; }

}  // namespace rubato::chip
