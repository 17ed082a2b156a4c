// System calls on memory that processes share by a key: shmget, shmat, shmdt and shmctl.
// Invariant: the attached ranges of a segment are the views of its file in all memories, so a fork, an exec
// and munmap() count as they do under Linux.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chip/os/guest_time.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {
namespace shm {

constexpr std::uint32_t kHuge = 04000, kReadOnly = 010000, kRound = 020000, kReplace = 040000,
                        kExecute = 0100000;
constexpr std::uint32_t kGoesWithLast = 01000, kIsLocked = 02000;  // of the mode that a status tells
constexpr std::uint64_t kMostBytes = ~std::uint64_t{0} - (std::uint64_t{1} << 24);
enum Command : std::int32_t { kLock = 11, kUnlock = 12, kStatusAt = 13, kUsage = 14, kStatusAtAny = 15 };

struct SegmentStatus {
  IpcStatus rights;
  std::uint64_t bytes;
  std::int64_t attached_at, detached_at, changed_at;
  std::int32_t creator, last;
  std::uint64_t attached, unused[2];
};
static_assert(sizeof(SegmentStatus) == 112);

struct Limits {
  std::uint64_t most_bytes, least_bytes, most, most_of_process, most_pages, unused[4];
};
struct Usage {
  std::int32_t used, pad;
  std::uint64_t pages, resident, swapped, swap_attempts, swap_successes;
};

/// A file without a name, for the memory of a segment, or null.
std::shared_ptr<const MappedFile> make_file(std::uint64_t bytes, std::int32_t key) {
  OwnedFd fd(::memfd_create("rubato-segment", MFD_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return nullptr;
  return std::make_shared<MappedFile>(fd.release(), FileId{info.st_dev, info.st_ino}, true,
                                      fmt::format("/SYSV{:08x} (deleted)", static_cast<std::uint32_t>(key)));
}

std::shared_ptr<const MappedFile> read_only(const MappedFile& file) {
  const int fd = ::fcntl(file.fd(), F_DUPFD_CLOEXEC, 3);
  return fd < 0 ? nullptr : std::make_shared<MappedFile>(fd, file.id(), false, file.path());
}

bool is_attached(const AddressSpace& memory, const SharedSegment& segment) {
  return !memory.file_views().of(segment.file->id(), 0, ~std::uint64_t{0}).empty();
}

}  // namespace shm
}  // namespace

std::uint64_t Process::Kernel::attached(const SharedSegment& segment) const {
  std::uint64_t ranges = 0;
  for (const AddressSpace* const memory : memories())
    ranges += memory->file_views().of(segment.file->id(), 0, ~std::uint64_t{0}).size();
  return ranges;
}

void Process::Kernel::drop_removed_segments() {
  if (ipc.segments.empty()) return;
  ipc.segments.remove_if(
      [this](const SharedSegment& segment) { return segment.is_removed && attached(segment) == 0; });
}

std::int64_t Process::Impl::date() const { return static_cast<std::int64_t>((start() + now()) / kSecond); }

void Process::Impl::note_attached() {
  for (auto& [place, segment] : kernel.ipc.segments) {
    if (!shm::is_attached(memory, segment)) continue;
    segment.attached_at = date();
    segment.last = pid;
  }
}

void Process::Impl::note_left() {
  if (shares_memory()) return;
  for (auto& [place, segment] : kernel.ipc.segments) {
    if (!shm::is_attached(memory, segment)) continue;
    segment.detached_at = date();
    segment.last = pid;
  }
}

std::int64_t Process::Impl::sys_shmget(Call& call) {
  kernel.drop_removed_segments();
  const std::uint64_t bytes = call.a[1];
  const auto make = [&](SharedSegment& segment) -> std::int64_t {
    if (bytes == 0 || bytes > shm::kMostBytes) return -EINVAL;
    if ((call.u32(2) & shm::kHuge) != 0 || bytes > options.memory_bytes) return -ENOMEM;
    segment.file = shm::make_file(Layout::page_up(bytes), call.i32(0));
    if (segment.file == nullptr) return -ENOMEM;
    segment.bytes = bytes;
    segment.creator = pid;
    segment.changed_at = date();
    return 0;
  };
  return kernel.ipc.segments.get(
      call.i32(0), call.u32(2), [&](const SharedSegment& segment) { return bytes <= segment.bytes; }, make);
}

std::int64_t Process::Impl::sys_shmat(Call& call) {
  kernel.drop_removed_segments();
  const std::uint32_t flags = call.u32(2);
  const bool is_placed = call.a[1] != 0, replaces = (flags & shm::kReplace) != 0;
  Addr a = call.a[1];
  if ((a & AddressSpace::kPageMask) != 0 && (flags & shm::kRound) == 0) return -EINVAL;
  a &= ~AddressSpace::kPageMask;
  if (a == 0 && replaces) return -EINVAL;
  SharedSegment* segment = nullptr;
  if (const auto error = kernel.ipc.segments.find(call.i32(0), segment); error < 0) return error;
  std::uint32_t asked = ipc::kMayRead;
  std::uint8_t rights = Page::kRead;
  if ((flags & shm::kReadOnly) == 0) asked |= ipc::kMayWrite, rights |= Page::kWrite;
  if ((flags & shm::kExecute) != 0) asked |= ipc::kMayExecute, rights |= Page::kExecute;
  if (!segment->head.allows(asked)) return -EACCES;

  const std::uint64_t bytes = Layout::page_up(segment->bytes);
  if (is_placed) {
    if (!layout.is_user_range(a, bytes)) return -EINVAL;
    if (!replaces && !memory.none_mapped(a, bytes)) return -EINVAL;
    if (is_kept(a, bytes)) return -EPERM;
  } else {
    a = memory.find_free(bytes, layout.mappings, stack_low - Layout::kGuardBytes);
    if (a == 0) return -ENOMEM;
  }
  if (!has_room_for(a, bytes, rights)) return -ENOMEM;
  const FileView view{(flags & shm::kReadOnly) != 0 ? shm::read_only(*segment->file) : segment->file, 0,
                      true};
  if (view.file == nullptr) return -ENOMEM;
  if (const int error = memory.map_file(a, bytes, rights, view); error != 0) return -error;
  segment->attached_at = date();
  segment->last = pid;
  return static_cast<std::int64_t>(a);
}

// As Linux: the range at `a` that begins with the segment's first byte, and all that is left of it behind.
std::int64_t Process::Impl::sys_shmdt(Call& call) {
  const Addr a = call.a[0];
  if ((a & AddressSpace::kPageMask) != 0 || a >= memory.size()) return -EINVAL;
  for (auto& [place, segment] : kernel.ipc.segments) {
    const Addr end = std::min(memory.size(), a + Layout::page_up(segment.bytes));
    std::vector<FileViews::Range> parts;
    for (const FileViews::Range& range : memory.file_views().in(a, end))
      if (range.view.file && range.view.file->id() == segment.file->id() &&
          range.begin - a == range.view.offset)
        parts.push_back(range);
    if (parts.empty()) continue;
    for (const auto& part : parts)
      if (is_kept(part.begin, part.end - part.begin)) return -EPERM;
    for (const auto& part : parts) memory.unmap(part.begin, part.end - part.begin);
    segment.detached_at = date();
    segment.last = pid;
    kernel.drop_removed_segments();
    return 0;
  }
  return -EINVAL;
}

std::int64_t Process::Impl::put_segment_status(Call& call, const SharedSegment& segment) {
  if (!segment.head.allows(call.i32(1) == shm::kStatusAtAny ? 0 : ipc::kMayRead)) return -EACCES;
  shm::SegmentStatus status{};
  status.rights = status_of(
      segment.head, (segment.is_removed ? shm::kGoesWithLast : 0) | (segment.is_locked ? shm::kIsLocked : 0));
  status.bytes = segment.bytes;
  status.attached_at = segment.attached_at;
  status.detached_at = segment.detached_at;
  status.changed_at = segment.changed_at;
  status.creator = segment.creator;
  status.last = segment.last;
  status.attached = kernel.attached(segment);
  if (!user.put(call.a[2], status)) return -EFAULT;
  return call.i32(1) == ipc::kStatus ? 0 : segment.head.id;
}

std::int64_t Process::Impl::sys_shmctl(Call& call) {
  kernel.drop_removed_segments();
  auto& segments = kernel.ipc.segments;
  SharedSegment* segment = nullptr;
  const std::int32_t command = call.i32(1);
  if (call.i32(0) < 0) return -EINVAL;
  switch (command) {
    case ipc::kInfo: {
      const shm::Limits bounds{shm::kMostBytes, 1, IpcObjects::kMostSegments, IpcObjects::kMostSegments,
                               shm::kMostBytes, {}};
      return user.put(call.a[2], bounds) ? segments.last_place() : -EFAULT;
    }
    case shm::kUsage: {
      shm::Usage usage{};
      usage.used = static_cast<std::int32_t>(segments.size());
      for (const auto& [place, one] : segments)
        usage.pages += Layout::page_up(one.bytes) / AddressSpace::kPageBytes;
      usage.resident = usage.pages;
      return user.put(call.a[2], usage) ? segments.last_place() : -EFAULT;
    }
    case shm::kStatusAt:
    case shm::kStatusAtAny: {
      const auto error = segments.at_place(call.i32(0), segment);
      return error < 0 ? error : put_segment_status(call, *segment);
    }
    default:
      break;
  }
  if (command != ipc::kStatus && command != ipc::kSet && command != ipc::kRemove && command != shm::kLock &&
      command != shm::kUnlock)
    return -EINVAL;
  const auto wanted = command == ipc::kSet ? user.get<IpcStatus>(call.a[2]) : IpcStatus{};
  if (!wanted) return -EFAULT;
  if (const auto error = segments.find(call.i32(0), segment); error < 0) return error;
  if (command == ipc::kStatus) return put_segment_status(call, *segment);
  if (command == ipc::kSet) {
    set_rights(segment->head, *wanted);
    segment->changed_at = date();
  }
  if (command == shm::kLock || command == shm::kUnlock) segment->is_locked = command == shm::kLock;
  if (command == ipc::kRemove) {
    segment->is_removed = true;
    segment->head.key = 0;
    kernel.drop_removed_segments();
  }
  return 0;
}

}  // namespace rubato::chip
