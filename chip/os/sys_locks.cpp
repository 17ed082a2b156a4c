// System calls for advisory locks of files: flock, and the part of fcntl for locks of ranges.
// SPDX-License-Identifier: MIT

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

/// As fcntl() has it.
struct RangeLock {
  std::int16_t type = 0, whence = 0;
  std::int64_t start = 0, bytes = 0;
  std::int32_t pid = 0;
};
enum Type : std::int16_t { kReader = 0, kWriter = 1, kUnlocked = 2 };

/// The bytes that `asked` means, into `lock`. @returns 0 or -errno.
std::int64_t find_range(OpenFile& file, const RangeLock& asked, FileLocks::Lock& lock) {
  std::int64_t base = 0, first = 0, end = 0;
  if (asked.whence == SEEK_CUR) base = file.seek(0, SEEK_CUR);
  if (asked.whence == SEEK_END) {
    abi::Stat info{};
    if (const auto error = file.stat(info); error < 0) return error;
    base = info.size;
  }
  if (asked.whence < SEEK_SET || asked.whence > SEEK_END || base < 0) return -EINVAL;
  if (__builtin_add_overflow(base, asked.start, &first) || __builtin_add_overflow(first, asked.bytes, &end))
    return -EOVERFLOW;
  if (asked.bytes < 0) std::swap(first, end);
  if (first < 0) return -EINVAL;
  lock.begin = static_cast<std::uint64_t>(first);
  lock.end = asked.bytes == 0 ? FileLocks::kEnd : static_cast<std::uint64_t>(end);
  return 0;
}

}  // namespace

void Process::Impl::note_close(const OpenFile& file) {
  files_changed = true;
  if (const auto* const queue = dynamic_cast<const PosixQueueFile*>(&file)) queue->closed_by(pid);
  if (kernel.locks.empty()) return;
  if (const auto id = id_of(file)) kernel.locks.release(pid, *id);
}

std::int64_t Process::Impl::take_lock(Call& call, const FileLocks::Lock& lock, bool waits) {
  if (kernel.locks.conflict(lock) == nullptr) {
    kernel.locks.put(lock);
    files_changed = true;  // it may be less than the owner had
    return 0;
  }
  if (!waits) return -EAGAIN;
  Wait wait;
  wait.kind = WaitKind::files;
  return block(call, wait);
}

std::int64_t Process::Impl::sys_flock(Call& call) {
  constexpr std::int32_t kShared = 1, kExclusive = 2, kNoWait = 4, kUnlock = 8;
  const auto file = files.find(call.i32(0));
  if (!file || (file->flags & abi::kPath) != 0) return -EBADF;
  const std::int32_t wanted = call.i32(1) & ~kNoWait;
  if (wanted != kShared && wanted != kExclusive && wanted != kUnlock) return -EINVAL;
  const auto id = id_of(*file);
  if (!id) return 0;
  FileLocks::Lock lock{.kind = FileLocks::Kind::whole, .file = *id, .open_file = file};
  lock.is_exclusive = wanted == kExclusive;
  // As on Linux the change of a lock is no step: the former one goes first.
  if (kernel.locks.remove(lock)) files_changed = true;
  return wanted == kUnlock ? 0 : take_lock(call, lock, (call.i32(1) & kNoWait) == 0);
}

std::int64_t Process::Impl::lock_range(Call& call, const std::shared_ptr<OpenFile>& file,
                                       RangeLockCommand what, bool is_of_open_file) {
  auto asked = user.get<RangeLock>(call.a[2]);
  if (!asked || (what == RangeLockCommand::ask && !user.writable(call.a[2], sizeof(RangeLock))))
    return -EFAULT;
  if (is_of_open_file && asked->pid != 0) return -EINVAL;
  if (asked->type != kReader && asked->type != kWriter &&
      (asked->type != kUnlocked || what == RangeLockCommand::ask))
    return -EINVAL;
  FileLocks::Lock lock;
  if (const auto error = find_range(*file, *asked, lock); error < 0) return error;
  if (what != RangeLockCommand::ask &&
      ((asked->type == kReader && !file->can_read()) || (asked->type == kWriter && !file->can_write())))
    return -EBADF;
  const auto id = id_of(*file);
  lock.file = id.value_or(FileId{});
  lock.is_exclusive = asked->type == kWriter;
  if (is_of_open_file) {
    lock.open_file = file;
  } else {
    lock.pid = pid;
  }
  if (what == RangeLockCommand::ask) {
    const FileLocks::Lock* const other = id ? kernel.locks.conflict(lock) : nullptr;
    asked->type = kUnlocked;
    if (other != nullptr) {
      constexpr std::int32_t kOpenFile = -1;
      asked->type = other->is_exclusive ? kWriter : kReader;
      asked->whence = SEEK_SET;
      asked->start = static_cast<std::int64_t>(other->begin);
      asked->bytes = other->end == FileLocks::kEnd ? 0 : static_cast<std::int64_t>(other->end - other->begin);
      asked->pid = other->pid != 0 ? other->pid : kOpenFile;
    }
    return user.put(call.a[2], *asked) ? 0 : -EFAULT;
  }
  if (!id) return 0;
  if (asked->type != kUnlocked) return take_lock(call, lock, what == RangeLockCommand::wait);
  if (kernel.locks.remove(lock)) files_changed = true;
  return 0;
}

}  // namespace rubato::chip
