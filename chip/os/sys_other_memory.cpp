// System calls on memory of other processes, on the pages of files, and on where pages lie: all of them are
// resident, on the one node that there is.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <algorithm>

#include "chip/os/pid_file.hpp"
#include "chip/os/process_impl.hpp"
#include "chip/os/user_buffers.hpp"

namespace rubato::chip {

// Linux stops at the first page that one of the two may not use, and tells of what came before it.
std::int64_t Process::Impl::move_between(Call& call, bool writes) {
  if (call.a[5] != 0) return -EINVAL;
  std::vector<abi::Iovec> own, others;
  if (const auto error = read_iovecs(call.a[1], call.a[2], own); error < 0) return error;
  if (const auto error = read_iovecs(call.a[3], call.a[4], others); error < 0) return error;
  Impl* const other = kernel.find(call.i32(0));
  if (other == nullptr) return -ESRCH;
  const UserBuffers here(user, own), there(other->user, others);
  const std::uint64_t may_here = writes ? here.readable_bytes() : here.writable_bytes();
  const std::uint64_t may_there = writes ? there.writable_bytes() : there.readable_bytes();
  const std::uint64_t wanted = std::min(here.bytes(), there.bytes());
  const std::uint64_t moved = std::min({wanted, may_here, may_there});
  if (moved == 0) return wanted == 0 ? 0 : -EFAULT;
  constexpr std::uint64_t kPiece = 1 << 20;
  std::vector<std::byte> bytes;
  for (std::uint64_t at = 0; at < moved; at += bytes.size()) {
    bytes.resize(std::min(kPiece, moved - at));
    (writes ? here : there).gather(at, bytes);
    (writes ? there : here).scatter(at, bytes);
  }
  return static_cast<std::int64_t>(moved);
}

std::int64_t Process::Impl::sys_process_vm_readv(Call& call) { return move_between(call, false); }
std::int64_t Process::Impl::sys_process_vm_writev(Call& call) { return move_between(call, true); }

// Advice on the memory of another process, or of the own one: only the range is checked.
std::int64_t Process::Impl::sys_process_madvise(Call& call) {
  constexpr std::int32_t kWillNeed = 3, kCold = 20, kPageOut = 21, kCollapse = 25;
  if (call.u32(4) != 0) return -EINVAL;
  std::vector<abi::Iovec> ranges;
  if (const auto error = read_iovecs(call.a[1], call.a[2], ranges); error < 0) return error;
  const auto file = pid_file(call.i32(0));
  if (!file) return -EBADF;
  const Impl* const other = kernel.find(file->pid());
  if (other == nullptr) return -ESRCH;
  const std::int32_t advice = call.i32(3);
  if (advice != kWillNeed && advice != kCold && advice != kPageOut && advice != kCollapse) return -EINVAL;
  std::int64_t advised = 0;
  for (const abi::Iovec& range : ranges) {
    const bool is_odd = (range.base & AddressSpace::kPageMask) != 0 || range.bytes > AddressSpace::kSize;
    const bool is_there =
        !is_odd && (range.bytes == 0 || other->memory.all_mapped(range.base, Layout::page_up(range.bytes)));
    if (!is_there) return advised != 0 ? advised : is_odd ? -EINVAL : -ENOMEM;
    advised += static_cast<std::int64_t>(range.bytes);
  }
  return advised;
}

std::int64_t Process::Impl::sys_cachestat(Call& call) {
  struct Range {
    std::uint64_t offset, bytes;
  };
  struct Pages {
    std::uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
  };
  const auto file = files.find(call.i32(0));
  if (!file || (file->flags & abi::kPath) != 0) return -EBADF;
  const auto range = user.get<Range>(call.a[1]);
  if (!range) return -EFAULT;
  if (call.u32(3) != 0) return -EINVAL;
  abi::Stat info{};
  if (const auto error = file->stat(info); error < 0) return error;
  const std::uint64_t size = S_ISREG(info.mode) ? static_cast<std::uint64_t>(info.size) : 0;
  const std::uint64_t begin = std::min(range->offset, size),
                      end = range->bytes == 0 ? size : begin + std::min(range->bytes, size - begin);
  const std::uint64_t first = begin / AddressSpace::kPageBytes;
  Pages pages{};
  if (begin != end) pages.cached = (end - 1) / AddressSpace::kPageBytes - first + 1;
  return user.put(call.a[2], pages) ? 0 : -EFAULT;
}

// --- NUMA
// ----------------------------------------------------------------------------------------------------

namespace {

constexpr std::uint32_t kModeFlags = 0xe000, kLastMode = 6;
constexpr std::uint64_t kNode = 1;

// A set of nodes: empty, or node 0 alone. -EINVAL: others.
template <class Read>
std::int64_t check_nodes(std::uint64_t count, Read read) {
  constexpr std::uint64_t kMostNodes = 4096;
  if (count > kMostNodes) return -EINVAL;
  for (std::uint64_t word = 0; word < (count + 63) / 64; ++word) {
    const std::optional<std::uint64_t> nodes = read(word);
    if (!nodes) return -EFAULT;
    if ((*nodes & ~(word == 0 ? kNode : 0)) != 0) return -EINVAL;
  }
  return 0;
}

}  // namespace

std::int64_t Process::Impl::sys_set_mempolicy(Call& call) {
  if ((call.u32(0) & ~kModeFlags) > kLastMode) return -EINVAL;
  return call.a[1] == 0 ? 0 : check_nodes(call.a[2], [&](std::uint64_t word) {
    return user.get<std::uint64_t>(call.a[1] + word * 8);
  });
}

std::int64_t Process::Impl::sys_mbind(Call& call) {
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0 || (call.u32(2) & ~kModeFlags) > kLastMode) return -EINVAL;
  if (call.a[1] > AddressSpace::kSize) return -EINVAL;
  if (const std::uint64_t bytes = Layout::page_up(call.a[1]); bytes != 0 && !memory.all_mapped(a, bytes))
    return -EFAULT;
  return call.a[3] == 0 ? 0 : check_nodes(call.a[4], [&](std::uint64_t word) {
    return user.get<std::uint64_t>(call.a[3] + word * 8);
  });
}

// The usual policy; or the node of an address, or the nodes that may be used.
std::int64_t Process::Impl::sys_get_mempolicy(Call& call) {
  constexpr std::uint64_t kOfNode = 1, kOfAddress = 2, kAllowed = 4;
  const std::uint64_t flags = call.a[4];
  if ((flags & ~(kOfNode | kOfAddress | kAllowed)) != 0) return -EINVAL;
  if ((flags & kAllowed) != 0 && (flags & (kOfNode | kOfAddress)) != 0) return -EINVAL;
  if ((flags & kOfAddress) == 0 && call.a[3] != 0) return -EINVAL;
  if ((flags & kOfAddress) != 0 &&
      !memory.all_mapped(call.a[3] & ~AddressSpace::kPageMask, AddressSpace::kPageBytes))
    return -EFAULT;
  if (call.a[0] != 0 && !user.put<std::int32_t>(call.a[0], 0)) return -EFAULT;
  if (call.a[1] == 0) return 0;
  if (call.a[2] == 0) return -EINVAL;
  for (std::uint64_t word = 0; word < (call.a[2] + 63) / 64; ++word) {
    const std::uint64_t nodes = word == 0 && (flags & kAllowed) != 0 ? kNode : 0;
    if (!user.put(call.a[1] + word * 8, nodes)) return -EFAULT;
  }
  return 0;
}

}  // namespace rubato::chip
