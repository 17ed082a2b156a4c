// System calls on memory: brk, mmap and friends. Mapped files are in file_memory.cpp.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "chip/os/memory_limit.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

std::uint8_t rights_of(std::uint64_t protection) {
  std::uint8_t rights = 0;
  if ((protection & abi::kProtRead) != 0) rights |= Page::kRead;
  if ((protection & abi::kProtWrite) != 0) rights |= Page::kRead | Page::kWrite;
  if ((protection & abi::kProtExecute) != 0) rights |= Page::kExecute;
  if ((protection & abi::kProtUntracked) != 0) rights |= Page::kUntracked;
  return rights;
}

constexpr std::uint8_t kAccessRights = Page::kRead | Page::kWrite | Page::kExecute;

// The end of the pages from `run` on that agree in the attributes of `mask`.
Addr end_of_run(const AddressSpace& memory, Addr run, Addr limit, std::uint8_t mask) {
  const auto kind = [&](Addr page) { return memory.asked_attributes(page) & mask; };
  Addr end = run + AddressSpace::kPageBytes;
  while (end < limit && kind(end) == kind(run)) end += AddressSpace::kPageBytes;
  return end;
}

}  // namespace

// Memory costs the host something only where it is written, so what may be written is what is limited:
// address space that is only reserved (PROT_NONE, as for a thread's heap) is free.
bool Process::Impl::has_room(std::uint64_t more) const {
  const std::uint64_t used = writable_bytes();
  if (used > options.memory_bytes || more > options.memory_bytes - used) return false;
  // The host's memory is what is written of it, so only where all of that might be too much is it looked at.
  if (used <= options.host_bytes && more <= options.host_bytes - used) return true;
  const std::uint64_t resident = resident_bytes();
  return resident <= options.host_bytes && more <= options.host_bytes - resident;
}

std::uint64_t Process::Impl::writable_bytes() const {
  if (kernel.processes.size() == 1) return memory.writable_bytes();
  std::set<const AddressSpace*> memories = kernel.memories();
  memories.insert(&memory);  // an exec loads before its memory is a process's
  std::uint64_t sum = 0;
  for (const AddressSpace* const one : memories) sum += one->writable_bytes();
  return sum;
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
  if (wanted < brk_start || wanted >= layout.mappings) return static_cast<std::int64_t>(brk_now);
  const Addr end = Layout::page_up(wanted);
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
  const std::uint64_t bytes = Layout::page_up(call.a[1]);
  if (type != abi::kMapShared && type != abi::kMapPrivate && type != abi::kMapSharedValidate) return -EINVAL;

  FileView view;
  view.is_shared = type != abi::kMapPrivate;
  if ((flags & abi::kMapAnonymous) == 0) {
    const std::int64_t offset = call.i64(5);
    if ((offset & static_cast<std::int64_t>(AddressSpace::kPageMask)) != 0 || offset < 0) return -EINVAL;
    if (offset > std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(bytes))
      return -EOVERFLOW;
    const auto file = files.find(call.i32(4));
    if (!file || (file->flags & abi::kPath) != 0) return -EBADF;
    if (!file->can_read()) return -EACCES;
    if (view.is_shared && (call.a[2] & abi::kProtWrite) != 0 && !file->can_write()) return -EACCES;
    if (file->path != "/dev/zero") {
      if (const auto error = mapped_file(*file, view.file); error < 0) return error;
      view.offset = static_cast<std::uint64_t>(offset);
    }
  }

  Addr a = 0;
  if (is_fixed) {
    if ((hint & AddressSpace::kPageMask) != 0) return -EINVAL;
    if (hint < Layout::kLowestMapping) return -EPERM;
    if (!layout.is_user_range(hint, bytes)) return -ENOMEM;
    if ((flags & abi::kMapFixedNoReplace) != 0 && !memory.none_mapped(hint, bytes)) return -EEXIST;
    if (is_kept(hint, bytes)) return -EPERM;
    a = hint;
  } else {
    const Addr limit = stack_low - Layout::kGuardBytes;
    const Addr wanted = hint & ~AddressSpace::kPageMask;
    if (wanted >= Layout::kLowestMapping && wanted < limit && bytes <= limit - wanted &&
        memory.none_mapped(wanted, bytes))
      a = wanted;
    if (a == 0) a = memory.find_free(bytes, layout.mappings, limit);
    if (a == 0) return -ENOMEM;
  }
  std::uint8_t rights = rights_of(call.a[2]);
  if ((flags & abi::kMapUntracked) != 0) rights |= Page::kUntracked;
  // Memory without reserve is an address range of which little will be written.
  const bool is_sparse =
      (flags & abi::kMapNoReserve) != 0 && writable_bytes() + bytes <= options.memory_bytes;
  if (!is_sparse && !has_room_for(a, bytes, rights)) return -ENOMEM;
  if (view.file || view.is_shared) {
    if (const int error = memory.map_file(a, bytes, rights, view); error != 0) return -error;
  } else {
    memory.map(a, bytes, rights);
  }
  return static_cast<std::int64_t>(a);
}

std::int64_t Process::Impl::sys_munmap(Call& call) {
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0 || call.a[1] == 0 || call.a[1] > AddressSpace::kSize) return -EINVAL;
  const std::uint64_t bytes = Layout::page_up(call.a[1]);
  if (a >= AddressSpace::kSize || bytes > AddressSpace::kSize - a) return -EINVAL;
  if (a < Layout::kLowestMapping || !layout.is_user_range(a, bytes))
    return a < Layout::kLowestMapping ? 0 : -EINVAL;
  if (is_kept(a, bytes)) return -EPERM;
  memory.unmap(a, bytes);
  return 0;
}

std::int64_t Process::Impl::sys_mprotect(Call& call) {
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0) return -EINVAL;
  if (call.a[1] == 0) return 0;
  if (call.a[1] > AddressSpace::kSize) return -ENOMEM;
  const std::uint64_t bytes = Layout::page_up(call.a[1]);
  if (!layout.is_user_range(a, bytes) || !memory.all_mapped(a, bytes)) return -ENOMEM;
  const std::uint8_t rights = rights_of(call.a[2]);
  if ((rights & Page::kWrite) != 0 && !memory.host_can_write(a, bytes)) return -EACCES;
  if (!has_room_for(a, bytes, rights)) return -ENOMEM;
  // Untracked pages stay untracked, unless the call says otherwise: runs of pages that agree are changed at
  // once.
  const bool is_tracked = (call.a[2] & abi::kProtTracked) != 0;
  for (Addr page = a; is_at_once() && page < a + bytes; page += AddressSpace::kPageBytes) {
    const std::uint8_t was = memory.attributes(page) & (kAccessRights | Page::kUntracked);
    if ((was & Page::kUntracked) == 0 && was != 0 && was != rights) return -EPERM;
  }
  for (Addr run = a; run < a + bytes;) {
    const Addr end = end_of_run(memory, run, a + bytes, Page::kUntracked);
    const auto untracked =
        static_cast<std::uint8_t>(is_tracked ? 0 : memory.attributes(run) & Page::kUntracked);
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
  const std::uint64_t old_bytes = Layout::page_up(call.a[1]), new_bytes = Layout::page_up(call.a[2]);
  if (!layout.is_user_range(from, old_bytes) || !memory.all_mapped(from, old_bytes)) return -EFAULT;
  if (is_kept(from, old_bytes)) return -EPERM;
  // As under Linux: what grows or moves is one mapping.
  const Addr old_end = from + old_bytes;
  if ((new_bytes > old_bytes || (flags & kFixed) != 0) &&
      end_of_run(memory, from, old_end, kAccessRights) != old_end)
    return -EFAULT;
  const std::uint8_t rights = memory.asked_attributes(old_end - AddressSpace::kPageBytes);
  if (new_bytes > old_bytes && (rights & Page::kWrite) != 0 && !has_room(new_bytes - old_bytes))
    return -ENOMEM;
  // Pages added at the end show the following part of the file.
  const auto extend = [&, shown = memory.file_views().in(from, old_end)](Addr tail) -> int {
    if (new_bytes <= old_bytes) return 0;
    if (shown.empty() || shown.back().end != old_end) {
      memory.map(tail, new_bytes - old_bytes, rights);
      return 0;
    }
    FileView view = shown.back().view;
    view.offset += shown.back().end - shown.back().begin;
    return memory.map_file(tail, new_bytes - old_bytes, rights, view);
  };

  if ((flags & kFixed) == 0) {
    if (new_bytes <= old_bytes) {
      memory.unmap(from + new_bytes, old_bytes - new_bytes);
      return static_cast<std::int64_t>(from);
    }
    const Addr limit = from < stack_low ? stack_low - Layout::kGuardBytes : layout.trampoline;
    if (old_end < limit && new_bytes - old_bytes <= limit - old_end &&
        memory.none_mapped(old_end, new_bytes - old_bytes)) {
      if (const int error = extend(old_end); error != 0) return -error;
      return static_cast<std::int64_t>(from);
    }
    if ((flags & kMayMove) == 0) return -ENOMEM;
  }

  Addr to = 0;
  if ((flags & kFixed) != 0) {
    to = call.a[4];
    if ((to & AddressSpace::kPageMask) != 0 || !layout.is_user_range(to, new_bytes)) return -EINVAL;
    if (to < old_end && from < to + new_bytes) return -EINVAL;
    if (is_kept(to, new_bytes)) return -EPERM;
  } else {
    to = memory.find_free(new_bytes, layout.mappings, stack_low - Layout::kGuardBytes);
    if (to == 0) return -ENOMEM;
  }
  const std::uint64_t moved = std::min(old_bytes, new_bytes);
  if (const int error = extend(to + moved); error != 0) return -error;
  // Untracked pages are untracked in their new place.
  for (Addr run = from; run < from + moved;) {
    const Addr end = end_of_run(memory, run, from + moved, Page::kUntracked);
    memory.map(to + (run - from), end - run, memory.asked_attributes(run));
    run = end;
  }
  memory.move_contents(from, to, moved);
  memory.unmap(from, old_bytes);
  return static_cast<std::int64_t>(to);
}

std::int64_t Process::Impl::sys_msync(Call& call) {
  constexpr std::uint32_t kAsync = 1, kInvalidate = 2, kSync = 4;
  const Addr a = call.a[0];
  const std::uint32_t flags = call.u32(2);
  if ((flags & ~(kAsync | kInvalidate | kSync)) != 0 || (flags & (kAsync | kSync)) == (kAsync | kSync))
    return -EINVAL;
  if ((a & AddressSpace::kPageMask) != 0 || call.a[1] > AddressSpace::kSize) return -EINVAL;
  const std::uint64_t bytes = Layout::page_up(call.a[1]);
  if (!memory.all_mapped(a, bytes)) return -ENOMEM;
  if (is_kept(a, bytes)) return -EPERM;
  // The file has the bytes already; its disk gets them where the program asks for that.
  if ((flags & kSync) == 0) return 0;
  for (const auto& range : memory.file_views().in(a, a + bytes)) {
    if (!range.view.file || !range.view.is_shared || !range.view.file->is_writable()) continue;
    user.announce(range.begin, range.shown_end - range.begin, false);
    if (::fdatasync(range.view.file->fd()) != 0) return -errno;
  }
  return 0;
}

std::int64_t Process::Impl::sys_madvise(Call& call) {
  constexpr std::int32_t kDontNeed = 4, kFree = 8, kRemove = 9, kDontNeedLocked = 24, kLast = 25;
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0 || call.a[1] > AddressSpace::kSize) return -EINVAL;
  const std::int32_t advice = call.i32(2);
  const bool is_known = (advice >= 0 && advice <= kDontNeed) || (advice >= kFree && advice <= kLast);
  if (!is_known) return -EINVAL;
  const std::uint64_t bytes = Layout::page_up(call.a[1]);
  if (bytes == 0) return 0;
  if (!layout.is_user_range(a, bytes) || !memory.all_mapped(a, bytes)) return -ENOMEM;
  if (advice == kRemove) return remove_contents(a, bytes);
  if (advice == kFree) return memory.file_views().in(a, a + bytes).empty() ? 0 : -EINVAL;
  if (advice == kDontNeed || advice == kDontNeedLocked) {
    if (is_kept(a, bytes)) return -EPERM;
    memory.discard(a, bytes);
  }
  return 0;
}

std::int64_t Process::Impl::sys_mincore(Call& call) {
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0) return -EINVAL;
  if (call.a[1] > AddressSpace::kSize) return -ENOMEM;
  const std::uint64_t pages = Layout::page_up(call.a[1]) / AddressSpace::kPageBytes;
  if (!memory.all_mapped(a, pages * AddressSpace::kPageBytes)) return -ENOMEM;
  if (!user.writable(call.a[2], pages)) return -EFAULT;
  const std::vector<std::uint8_t> resident(pages, 1);
  return user.write(call.a[2], resident.data(), pages) ? 0 : -EFAULT;
}

// Every page is resident: only the range is checked.
std::int64_t Process::Impl::sys_mlock(Call& call) {
  const Addr a = call.a[0] & ~AddressSpace::kPageMask;
  if (call.a[1] > AddressSpace::kSize) return -ENOMEM;
  const std::uint64_t bytes = Layout::page_up(call.a[1] + (call.a[0] & AddressSpace::kPageMask));
  return memory.all_mapped(a, bytes) ? 0 : -ENOMEM;
}
std::int64_t Process::Impl::sys_munlock(Call& call) { return sys_mlock(call); }
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
