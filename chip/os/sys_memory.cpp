// System calls on memory: brk, mmap and friends. Files are mapped by copy; shared writable ones are written
// back.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr Addr kLowestMapping = 0x10000;  // vm.mmap_min_addr
constexpr std::uint64_t kCopyChunk = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxFileMapping = std::uint64_t{16} << 30, kMaxSharedMapping = std::uint64_t{4} << 30;

std::uint64_t page_up(std::uint64_t bytes) {
  return (bytes + AddressSpace::kPageMask) & ~AddressSpace::kPageMask;
}

std::uint8_t rights_of(std::uint64_t protection) {
  std::uint8_t rights = 0;
  if ((protection & abi::kProtRead) != 0) rights |= Page::kRead;
  if ((protection & abi::kProtWrite) != 0) rights |= Page::kRead | Page::kWrite;
  if ((protection & abi::kProtExecute) != 0) rights |= Page::kExecute;
  if ((protection & abi::kProtUntracked) != 0) rights |= Page::kUntracked;
  return rights;
}

// What the guest may map: everything but page 0's neighbourhood and the trampoline.
bool is_user_range(Addr a, std::uint64_t bytes) {
  return a >= kLowestMapping && a < Layout::kTrampoline && bytes <= Layout::kTrampoline - a;
}

}  // namespace

// Memory costs the host something only where it is written, so what may be written is what is limited:
// address space that is only reserved (PROT_NONE, as for a thread's heap) is free.
bool Process::Impl::has_room(std::uint64_t more) const {
  const std::uint64_t used = memory.writable_bytes();
  return used <= options.memory_bytes && more <= options.memory_bytes - used;
}

bool Process::Impl::has_room_for(Addr a, std::uint64_t bytes, std::uint8_t rights) const {
  return (rights & Page::kWrite) == 0 || has_room(bytes - memory.writable_bytes(a, bytes));
}

bool Process::Impl::is_kept(Addr a, std::uint64_t bytes) const {
  if (!is_at_once()) return false;
  for (Addr page = a; page < a + bytes; page += AddressSpace::kPageBytes)
    if ((memory.attributes(page) & (Page::kMapped | Page::kUntracked)) == Page::kMapped) return true;
  return false;
}

std::int64_t Process::Impl::sys_brk(Call& call) {
  const Addr wanted = call.a[0];
  if (wanted < brk_start || wanted >= Layout::kMappings) return static_cast<std::int64_t>(brk_now);
  const Addr end = page_up(wanted);
  if (end > brk_mapped) {
    if (!memory.none_mapped(brk_mapped, end - brk_mapped) || !has_room(end - brk_mapped))
      return static_cast<std::int64_t>(brk_now);
    memory.map(brk_mapped, end - brk_mapped, Page::kRead | Page::kWrite);
  } else if (end < brk_mapped) {
    if (is_kept(end, brk_mapped - end)) return static_cast<std::int64_t>(brk_now);
    memory.unmap(end, brk_mapped - end);
  }
  brk_mapped = end;
  brk_now = wanted;
  return static_cast<std::int64_t>(brk_now);
}

std::int64_t Process::Impl::sys_mmap(Call& call) {
  const Addr hint = call.a[0];
  const std::uint64_t flags = call.a[3], type = flags & abi::kMapTypeMask;
  const bool is_fixed = (flags & (abi::kMapFixed | abi::kMapFixedNoReplace)) != 0;
  if (call.a[1] == 0 || call.a[1] > AddressSpace::kSize) return call.a[1] == 0 ? -EINVAL : -ENOMEM;
  const std::uint64_t bytes = page_up(call.a[1]);
  if (type != abi::kMapShared && type != abi::kMapPrivate && type != abi::kMapSharedValidate) return -EINVAL;

  std::shared_ptr<OpenFile> file;
  const std::int64_t offset = call.i64(5);
  const bool is_shared = type != abi::kMapPrivate;
  if ((flags & abi::kMapAnonymous) == 0) {
    if ((offset & static_cast<std::int64_t>(AddressSpace::kPageMask)) != 0 || offset < 0) return -EINVAL;
    file = files.find(call.i32(4));
    if (!file) return -EBADF;
    if (!file->can_read()) return -EACCES;
    if (is_shared && (call.a[2] & abi::kProtWrite) != 0 && !file->can_write()) return -EACCES;
    abi::Stat info{};
    file->stat(info);
    if (file->path == "/dev/zero") {
      file = nullptr;
    } else if (!S_ISREG(info.mode)) {
      return -ENODEV;
    } else if (bytes > (is_shared && file->can_write() ? kMaxSharedMapping : kMaxFileMapping)) {
      return -ENOMEM;
    }
  }

  Addr a = 0;
  if (is_fixed) {
    if ((hint & AddressSpace::kPageMask) != 0) return -EINVAL;
    if (hint < kLowestMapping) return -EPERM;
    if (!is_user_range(hint, bytes)) return -ENOMEM;
    if ((flags & abi::kMapFixedNoReplace) != 0 && !memory.none_mapped(hint, bytes)) return -EEXIST;
    if (is_kept(hint, bytes)) return -EPERM;
    a = hint;
  } else {
    const Addr limit = stack_low - Layout::kGuardBytes;
    const Addr wanted = hint & ~AddressSpace::kPageMask;
    if (wanted >= kLowestMapping && wanted < limit && bytes <= limit - wanted &&
        memory.none_mapped(wanted, bytes))
      a = wanted;
    if (a == 0) a = memory.find_free(bytes, Layout::kMappings, limit);
    if (a == 0) return -ENOMEM;
  }
  std::uint8_t rights = rights_of(call.a[2]);
  if ((flags & abi::kMapUntracked) != 0) rights |= Page::kUntracked;
  if (!has_room_for(a, bytes, rights)) return -ENOMEM;
  if (is_fixed) write_back(a, bytes, true);
  memory.map(a, bytes, rights);
  if (file) {
    if (const std::int64_t error = fill_from_file(a, bytes, *file, offset); error < 0) {
      memory.unmap(a, bytes);
      return error;
    }
    if (is_shared && file->can_write()) shared_mappings[a] = {bytes, offset, file};
  }
  return static_cast<std::int64_t>(a);
}

// Holes of sparse files are skipped: their pages are zero already and need no memory.
std::int64_t Process::Impl::fill_from_file(Addr a, std::uint64_t bytes, OpenFile& file, std::int64_t offset) {
  std::uint64_t done = 0;
  while (done < bytes) {
    const std::int64_t at = offset + static_cast<std::int64_t>(done);
    if (const int fd = file.host_fd(); fd >= 0) {
      const off_t before = ::lseek(fd, 0, SEEK_CUR);
      const off_t data = ::lseek(fd, at, SEEK_DATA);
      ::lseek(fd, before, SEEK_SET);
      if (data < 0 && errno == ENXIO) return 0;  // only holes follow
      if (data > at) {
        done += static_cast<std::uint64_t>(data - at);
        continue;
      }
    }
    const std::uint64_t n = std::min(kCopyChunk, bytes - done);
    const std::int64_t got = file.pread({memory.host(a + done), n}, at);
    if (got < 0) return got;
    if (got == 0) return 0;
    memory.note_kernel_write(a + done, static_cast<std::uint64_t>(got));
    done += static_cast<std::uint64_t>(got);
  }
  return 0;
}

// Writes the changed bytes of shared mappings in [a, a + bytes) to their files; `forget`: the range is
// unmapped.
void Process::Impl::write_back(Addr a, std::uint64_t bytes, bool forget) {
  auto next = shared_mappings.upper_bound(a);
  if (next != shared_mappings.begin()) --next;
  while (next != shared_mappings.end() && next->first < a + bytes) {
    const auto [begin, mapping] = *next;
    const Addr end = begin + mapping.bytes;
    if (end <= a) {
      ++next;
      continue;
    }
    const Addr from = std::max(begin, a), to = std::min(end, a + bytes);
    abi::Stat info{};
    mapping.file->stat(info);
    std::vector<std::byte> old(kCopyChunk);
    for (Addr at = from; at < to;) {
      const std::int64_t where = mapping.offset + static_cast<std::int64_t>(at - begin);
      if (where >= info.size) break;  // bytes behind the end of the file are lost, as on Linux
      const std::uint64_t n = std::min({kCopyChunk, to - at, static_cast<std::uint64_t>(info.size - where)});
      user.announce(at, n, false);
      const std::int64_t got = mapping.file->pread({old.data(), n}, where);
      if (got != static_cast<std::int64_t>(n) || std::memcmp(old.data(), memory.host(at), n) != 0)
        mapping.file->pwrite({memory.host(at), n}, where);
      at += n;
    }
    ++next;
    if (!forget) continue;
    shared_mappings.erase(begin);
    if (begin < from) shared_mappings[begin] = {from - begin, mapping.offset, mapping.file};
    if (to < end)
      shared_mappings[to] = {end - to, mapping.offset + static_cast<std::int64_t>(to - begin), mapping.file};
  }
}

std::int64_t Process::Impl::sys_munmap(Call& call) {
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0 || call.a[1] == 0 || call.a[1] > AddressSpace::kSize) return -EINVAL;
  const std::uint64_t bytes = page_up(call.a[1]);
  if (a >= AddressSpace::kSize || bytes > AddressSpace::kSize - a) return -EINVAL;
  if (a < kLowestMapping || !is_user_range(a, bytes)) return a < kLowestMapping ? 0 : -EINVAL;
  if (is_kept(a, bytes)) return -EPERM;
  write_back(a, bytes, true);
  memory.unmap(a, bytes);
  return 0;
}

std::int64_t Process::Impl::sys_mprotect(Call& call) {
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0) return -EINVAL;
  if (call.a[1] == 0) return 0;
  if (call.a[1] > AddressSpace::kSize) return -ENOMEM;
  const std::uint64_t bytes = page_up(call.a[1]);
  if (!is_user_range(a, bytes) || !memory.all_mapped(a, bytes)) return -ENOMEM;
  const std::uint8_t rights = rights_of(call.a[2]);
  if (!has_room_for(a, bytes, rights)) return -ENOMEM;
  // Untracked pages stay untracked, unless the call says otherwise: runs of pages that agree are changed at
  // once.
  const bool is_tracked = (call.a[2] & abi::kProtTracked) != 0;
  constexpr std::uint8_t kRights = Page::kRead | Page::kWrite | Page::kExecute;
  for (Addr page = a; is_at_once() && page < a + bytes; page += AddressSpace::kPageBytes) {
    const std::uint8_t was = memory.attributes(page) & (kRights | Page::kUntracked);
    if ((was & Page::kUntracked) == 0 && was != 0 && was != rights) return -EPERM;
  }
  for (Addr run = a; run < a + bytes;) {
    const std::uint8_t was = memory.attributes(run) & Page::kUntracked;
    const std::uint8_t untracked = is_tracked ? std::uint8_t{0} : was;
    Addr end = run + AddressSpace::kPageBytes;
    while (end < a + bytes && (memory.attributes(end) & Page::kUntracked) == was)
      end += AddressSpace::kPageBytes;
    memory.protect(run, end - run, static_cast<std::uint8_t>(rights | untracked));
    run = end;
  }
  return 0;
}

std::int64_t Process::Impl::sys_mremap(Call& call) {
  constexpr std::uint64_t kMayMove = 1, kFixed = 2;
  const Addr from = call.a[0];
  const std::uint64_t flags = call.a[3];
  if ((from & AddressSpace::kPageMask) != 0 || (flags & ~(kMayMove | kFixed)) != 0 || flags == kFixed)
    return -EINVAL;
  if (call.a[1] == 0 || call.a[2] == 0) return -EINVAL;
  if (call.a[1] > AddressSpace::kSize || call.a[2] > AddressSpace::kSize) return -ENOMEM;
  const std::uint64_t old_bytes = page_up(call.a[1]), new_bytes = page_up(call.a[2]);
  if (!is_user_range(from, old_bytes) || !memory.all_mapped(from, old_bytes)) return -EFAULT;
  if (is_kept(from, old_bytes)) return -EPERM;
  write_back(from, old_bytes, false);
  const std::uint8_t rights = memory.attributes(from);
  if (new_bytes > old_bytes && (rights & Page::kWrite) != 0 && !has_room(new_bytes - old_bytes))
    return -ENOMEM;

  if ((flags & kFixed) == 0) {
    if (new_bytes <= old_bytes) {
      write_back(from + new_bytes, old_bytes - new_bytes, true);
      memory.unmap(from + new_bytes, old_bytes - new_bytes);
      return static_cast<std::int64_t>(from);
    }
    const Addr tail = from + old_bytes;
    const Addr limit = from < stack_low ? stack_low - Layout::kGuardBytes : Layout::kTrampoline;
    if (tail < limit && new_bytes - old_bytes <= limit - tail &&
        memory.none_mapped(tail, new_bytes - old_bytes)) {
      memory.map(tail, new_bytes - old_bytes, rights);
      if (const auto shared = shared_mappings.find(from); shared != shared_mappings.end()) {
        SharedMapping& mapping = shared->second;
        fill_from_file(tail, new_bytes - old_bytes, *mapping.file,
                       mapping.offset + static_cast<std::int64_t>(old_bytes));
        mapping.bytes = new_bytes;
      }
      return static_cast<std::int64_t>(from);
    }
    if ((flags & kMayMove) == 0) return -ENOMEM;
  }

  Addr to = 0;
  if ((flags & kFixed) != 0) {
    to = call.a[4];
    if ((to & AddressSpace::kPageMask) != 0 || !is_user_range(to, new_bytes)) return -EINVAL;
    if (to < from + old_bytes && from < to + new_bytes) return -EINVAL;
    if (is_kept(to, new_bytes)) return -EPERM;
    write_back(to, new_bytes, true);
  } else {
    to = memory.find_free(new_bytes, Layout::kMappings, stack_low - Layout::kGuardBytes);
    if (to == 0) return -ENOMEM;
  }
  memory.map(to, new_bytes, rights);
  memory.move_contents(from, to, std::min(old_bytes, new_bytes));
  if (auto shared = shared_mappings.extract(from)) {
    shared.key() = to;
    shared.mapped().bytes = new_bytes;
    shared_mappings.insert(std::move(shared));
  }
  memory.unmap(from, old_bytes);
  return static_cast<std::int64_t>(to);
}

std::int64_t Process::Impl::sys_msync(Call& call) {
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0 || call.a[1] > AddressSpace::kSize) return -EINVAL;
  if (!memory.all_mapped(a, page_up(call.a[1]))) return -ENOMEM;
  if (is_kept(a, page_up(call.a[1]))) return -EPERM;
  write_back(a, page_up(call.a[1]), false);
  return 0;
}

std::int64_t Process::Impl::sys_madvise(Call& call) {
  constexpr std::int32_t kDontNeed = 4, kRemove = 9;
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0 || call.a[1] > AddressSpace::kSize) return -EINVAL;
  const std::uint64_t bytes = page_up(call.a[1]);
  if (bytes == 0) return 0;
  if (!is_user_range(a, bytes) || !memory.all_mapped(a, bytes)) return -ENOMEM;
  if (call.i32(2) == kRemove) return -EINVAL;
  if (call.i32(2) == kDontNeed) {
    if (is_kept(a, bytes)) return -EPERM;
    write_back(a, bytes, false);
    memory.discard(a, bytes);
    for (const auto& [begin, mapping] : shared_mappings) {  // dropped copies are read again
      if (begin >= a + bytes || a >= begin + mapping.bytes) continue;
      user.announce(begin, mapping.bytes, true);
      fill_from_file(begin, mapping.bytes, *mapping.file, mapping.offset);
    }
  }
  return 0;
}

std::int64_t Process::Impl::sys_mincore(Call& call) {
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0) return -EINVAL;
  if (call.a[1] > AddressSpace::kSize) return -ENOMEM;
  const std::uint64_t pages = page_up(call.a[1]) / AddressSpace::kPageBytes;
  if (!memory.all_mapped(a, pages * AddressSpace::kPageBytes)) return -ENOMEM;
  if (!user.writable(call.a[2], pages)) return -EFAULT;
  const std::vector<std::uint8_t> resident(pages, 1);
  return user.write(call.a[2], resident.data(), pages) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_mlock(Call&) { return 0; }
std::int64_t Process::Impl::sys_munlock(Call&) { return 0; }
// Interpreters notice changed code by themselves after this call, as after fence.i.
std::int64_t Process::Impl::sys_riscv_flush_icache(Call&) {
  memory.code_changed();
  return 0;
}

std::int64_t Process::Impl::sys_membarrier(Call& call) {
  constexpr std::int64_t kSupported = 0x1 | 0x8 | 0x10;  // global, private expedited and its registration
  switch (call.i32(0)) {
    case 0:
      return kSupported;
    case 1:
    case 8:
    case 16:
      return 0;  // guest memory is sequentially consistent
    default:
      return -EINVAL;
  }
}

}  // namespace rubato::chip
