// System calls on open files: reading, writing, pipes, poll, descriptors.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{4} << 20;
constexpr std::uint64_t kMaxIovecs = 1024;

std::uint64_t total_bytes(const std::vector<abi::Iovec>& ranges) {
  std::uint64_t total = 0;
  for (const auto& range : ranges) total += range.bytes;
  return total;
}

bool is_pipe_like(const OpenFile& file) { return file.host_fd() < 0; }

}  // namespace

std::int64_t Process::Impl::install(std::shared_ptr<OpenFile> file, bool cloexec) {
  return files.install(std::move(file), cloexec);
}

// --- transfers
// -----------------------------------------------------------------------------------------------

std::int64_t Process::Impl::read_iovecs(Addr a, std::uint64_t count, std::vector<abi::Iovec>& ranges) const {
  if (count > kMaxIovecs) return -EINVAL;
  ranges.resize(count);
  if (!user.read(a, ranges.data(), count * sizeof(abi::Iovec))) return -EFAULT;
  std::uint64_t total = 0;
  for (auto& range : ranges) {
    if (static_cast<std::int64_t>(range.bytes) < 0) return -EINVAL;
    range.bytes = std::min(range.bytes, kMaxTransfer - total);
    total += range.bytes;
  }
  return 0;
}

std::int64_t Process::Impl::would_block(Call& call, const OpenFile& file) {
  if ((file.flags & abi::kNonBlock) != 0) return -EAGAIN;
  Wait wait;
  wait.kind = WaitKind::files;
  wait.progress = call.progress;
  return block(call, wait);
}

std::int64_t Process::Impl::transfer_in(Call& call, const std::shared_ptr<OpenFile>& open_file,
                                        const std::vector<abi::Iovec>& ranges,
                                        std::optional<std::int64_t> offset) {
  OpenFile& file = *open_file;
  if (!file.can_read()) return -EBADF;
  if (Socket* const socket = file.as_socket()) {
    Incoming with;
    return offset ? -ESPIPE : socket_receive(call, *socket, ranges, 0, with);
  }
  if (is_on_disk(file)) return begin_disk_transfer(call, open_file, ranges, offset, false);
  for (const auto& range : ranges)
    if (!user.writable(range.base, range.bytes)) return -EFAULT;
  if (!begin_file_access(file, offset, total_bytes(ranges), false)) return -EFAULT;
  // A host that must be waited for is asked once; a regular file gives all it has.
  std::vector<std::byte> buffer;
  std::int64_t done = 0;
  for (const auto& range : ranges) {
    for (std::uint64_t at = 0; at < range.bytes;) {
      const std::uint64_t n = std::min(kChunk, range.bytes - at);
      buffer.resize(n);
      const std::int64_t got = offset ? file.pread(buffer, *offset + done) : file.read(buffer);
      if (got == kWouldBlock) return done != 0 ? done : would_block(call, file);
      if (got < 0) return done != 0 ? done : got;
      user.write(range.base + at, buffer.data(), static_cast<std::uint64_t>(got));
      done += got;
      at += static_cast<std::uint64_t>(got);
      if (static_cast<std::uint64_t>(got) < n || is_pipe_like(file)) {
        if (is_pipe_like(file)) files_changed = true;
        return done;
      }
    }
  }
  return done;
}

std::int64_t Process::Impl::transfer_out(Call& call, const std::shared_ptr<OpenFile>& open_file,
                                         const std::vector<abi::Iovec>& ranges,
                                         std::optional<std::int64_t> offset) {
  OpenFile& file = *open_file;
  if (!file.can_write()) return -EBADF;
  if (Socket* const socket = file.as_socket())
    return offset ? -ESPIPE : socket_send(call, *socket, ranges, 0, {});
  if (is_on_disk(file)) return begin_disk_transfer(call, open_file, ranges, offset, true);
  for (const auto& range : ranges)
    if (!user.readable(range.base, range.bytes)) return -EFAULT;
  const std::uint64_t total = total_bytes(ranges);
  if (!begin_file_access(file, offset, total, true)) return -EFAULT;
  std::vector<std::byte> buffer;
  std::uint64_t done = call.progress, skip = call.progress;
  const auto failed = [&](std::int64_t error) -> std::int64_t {
    file_changed(file);
    if (error == -EPIPE) broken_pipe(call);
    return done != 0 ? static_cast<std::int64_t>(done) : error;
  };
  // Several ranges to a pipe or terminal are one write: gathered, so that no other writer comes between.
  if (is_pipe_like(file) && ranges.size() > 1 && total <= kChunk) {
    buffer.resize(total);
    std::uint64_t at = 0;
    for (const auto& range : ranges) {
      user.read(range.base, buffer.data() + at, range.bytes);
      at += range.bytes;
    }
    while (done < total) {
      const std::int64_t put = file.write({buffer.data() + done, total - done});
      if (put == kWouldBlock) {
        call.progress = done;
        if ((file.flags & abi::kNonBlock) != 0 && done != 0) return static_cast<std::int64_t>(done);
        return would_block(call, file);
      }
      if (put < 0) return failed(put);
      files_changed = true;
      done += static_cast<std::uint64_t>(put);
    }
    return static_cast<std::int64_t>(done);
  }
  for (const auto& range : ranges) {
    const std::uint64_t skipped = std::min(skip, range.bytes);
    skip -= skipped;
    for (std::uint64_t at = skipped; at < range.bytes;) {
      const std::uint64_t n = std::min(kChunk, range.bytes - at);
      buffer.resize(n);
      user.read(range.base + at, buffer.data(), n);
      const std::int64_t put =
          offset ? file.pwrite(buffer, *offset + static_cast<std::int64_t>(done)) : file.write(buffer);
      if (put == kWouldBlock) {
        call.progress = done;
        if ((file.flags & abi::kNonBlock) != 0 && done != 0) return static_cast<std::int64_t>(done);
        return would_block(call, file);
      }
      if (put < 0) return failed(put);
      if (is_pipe_like(file)) files_changed = true;
      if (put == 0) return failed(0);
      done += static_cast<std::uint64_t>(put);
      at += static_cast<std::uint64_t>(put);
    }
  }
  file_changed(file);
  return static_cast<std::int64_t>(done);
}

std::int64_t Process::Impl::sys_read(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  return transfer_in(call, file, {{call.a[1], std::min(call.a[2], kMaxTransfer)}}, std::nullopt);
}
std::int64_t Process::Impl::sys_write(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  return transfer_out(call, file, {{call.a[1], std::min(call.a[2], kMaxTransfer)}}, std::nullopt);
}
std::int64_t Process::Impl::sys_pread64(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (call.i64(3) < 0) return -EINVAL;
  return transfer_in(call, file, {{call.a[1], std::min(call.a[2], kMaxTransfer)}}, call.i64(3));
}
std::int64_t Process::Impl::sys_pwrite64(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (call.i64(3) < 0) return -EINVAL;
  return transfer_out(call, file, {{call.a[1], std::min(call.a[2], kMaxTransfer)}}, call.i64(3));
}
std::int64_t Process::Impl::sys_readv(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  std::vector<abi::Iovec> ranges;
  if (const auto error = read_iovecs(call.a[1], call.a[2], ranges); error < 0) return error;
  return transfer_in(call, file, ranges, std::nullopt);
}
std::int64_t Process::Impl::sys_writev(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  std::vector<abi::Iovec> ranges;
  if (const auto error = read_iovecs(call.a[1], call.a[2], ranges); error < 0) return error;
  return transfer_out(call, file, ranges, std::nullopt);
}
std::int64_t Process::Impl::sys_preadv(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (call.i64(3) < 0) return -EINVAL;
  std::vector<abi::Iovec> ranges;
  if (const auto error = read_iovecs(call.a[1], call.a[2], ranges); error < 0) return error;
  return transfer_in(call, file, ranges, call.i64(3));
}
std::int64_t Process::Impl::sys_pwritev(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (call.i64(3) < 0) return -EINVAL;
  std::vector<abi::Iovec> ranges;
  if (const auto error = read_iovecs(call.a[1], call.a[2], ranges); error < 0) return error;
  return transfer_out(call, file, ranges, call.i64(3));
}

namespace {

// Copies between files from positions on; returns the bytes copied, -errno, or kWouldBlock with none copied.
std::int64_t copy_between(OpenFile& from, std::int64_t from_at, OpenFile& to,
                          std::optional<std::int64_t> to_at, std::uint64_t bytes) {
  std::vector<std::byte> buffer;
  std::int64_t done = 0;
  bytes = std::min(bytes, kMaxTransfer);
  while (static_cast<std::uint64_t>(done) < bytes) {
    buffer.resize(std::min(kChunk, bytes - static_cast<std::uint64_t>(done)));
    const std::int64_t got = from.pread(buffer, from_at + done);
    if (got <= 0) return done != 0 ? done : got;
    const std::span<const std::byte> data{buffer.data(), static_cast<std::size_t>(got)};
    const std::int64_t put = to_at ? to.pwrite(data, *to_at + done) : to.write(data);
    if (put <= 0) return done != 0 ? done : put;
    done += put;
    if (put < got) break;
  }
  return done;
}

}  // namespace

std::int64_t Process::Impl::sys_sendfile(Call& call) {
  const auto to = files.find(call.i32(0)), from = files.find(call.i32(1));
  if (!to || !from || !to->can_write() || !from->can_read()) return -EBADF;
  const bool has_offset = call.a[2] != 0;
  std::int64_t at = 0;
  if (has_offset) {
    const auto offset = user.get<std::int64_t>(call.a[2]);
    if (!offset || !user.writable(call.a[2], 8)) return -EFAULT;
    if (*offset < 0) return -EINVAL;
    at = *offset;
  } else {
    at = from->seek(0, SEEK_CUR);
    if (at < 0 || from->is_directory) return -EINVAL;
  }
  if (!begin_file_access(*from, at, call.a[3], false)) return -EFAULT;
  if (!begin_file_access(*to, std::nullopt, call.a[3], true)) return -EFAULT;
  const std::int64_t done = copy_between(*from, at, *to, std::nullopt, call.a[3]);
  file_changed(*to);
  if (done == kWouldBlock) return would_block(call, *to);
  if (done == -EPIPE) broken_pipe(call);
  if (done < 0) return done;
  files_changed = true;
  if (has_offset) {
    user.put(call.a[2], at + done);
  } else {
    from->seek(at + done, SEEK_SET);
  }
  return done;
}

std::int64_t Process::Impl::sys_copy_file_range(Call& call) {
  const auto from = files.find(call.i32(0)), to = files.find(call.i32(2));
  if (!to || !from || !to->can_write() || !from->can_read()) return -EBADF;
  if (call.a[5] != 0 || from->host_fd() < 0 || to->host_fd() < 0 || from->is_directory) return -EINVAL;
  std::int64_t at[2];
  for (unsigned i = 0; i < 2; ++i) {
    const Addr pointer = call.a[i == 0 ? 1 : 3];
    const auto& file = i == 0 ? from : to;
    const auto offset = pointer != 0 ? user.get<std::int64_t>(pointer) : file->seek(0, SEEK_CUR);
    if (!offset || (pointer != 0 && !user.writable(pointer, 8))) return -EFAULT;
    if (*offset < 0) return -EINVAL;
    at[i] = *offset;
  }
  if (from == to) return -EINVAL;
  if (!begin_file_access(*from, at[0], call.a[4], false)) return -EFAULT;
  if (!begin_file_access(*to, at[1], call.a[4], true)) return -EFAULT;
  const std::int64_t done = copy_between(*from, at[0], *to, at[1], call.a[4]);
  file_changed(*to);
  if (done < 0) return done;
  for (unsigned i = 0; i < 2; ++i) {
    const Addr pointer = call.a[i == 0 ? 1 : 3];
    if (pointer != 0) {
      user.put(pointer, at[i] + done);
    } else {
      (i == 0 ? from : to)->seek(at[i] + done, SEEK_SET);
    }
  }
  return done;
}

// --- positions, sizes, entries
// -------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_lseek(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file || (file->flags & abi::kPath) != 0) return -EBADF;
  return file->seek(call.i64(1), call.i32(2));
}

std::int64_t Process::Impl::sys_ftruncate(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (call.i64(1) < 0 || !file->can_write()) return -EINVAL;
  // The rest of the page in which the file ends becomes zeros.
  if (!begin_file_access(*file, call.i64(1), AddressSpace::kPageBytes, true)) return -EFAULT;
  const std::int64_t result = file->truncate(call.i64(1));
  file_changed(*file);
  return result;
}

// Lengthens files sparsely and makes holes: a guest must not be able to fill the host's disk with one call.
std::int64_t Process::Impl::sys_fallocate(Call& call) {
  constexpr std::int32_t kKeepSize = 1, kPunchHole = 2, kZeroRange = 16;
  const auto file = files.find(call.i32(0));
  if (!file || !file->can_write()) return -EBADF;
  const std::int32_t mode = call.i32(1);
  const bool clears = mode == (kPunchHole | kKeepSize) || (mode & ~kKeepSize) == kZeroRange;
  if ((mode & ~kKeepSize) != 0 && !clears) return -EOPNOTSUPP;
  std::int64_t end = 0;
  if (call.i64(2) < 0 || call.i64(3) <= 0) return -EINVAL;
  if (__builtin_add_overflow(call.i64(2), call.i64(3), &end)) return -EFBIG;
  abi::Stat info{};
  if (const auto error = file->stat(info); error < 0) return error;
  if (!S_ISREG(info.mode)) return -ENODEV;
  if (clears) {
    const auto bytes = static_cast<std::uint64_t>(call.i64(3));
    if (!begin_file_access(*file, call.i64(2), bytes, true)) return -EFAULT;
    if (const auto error = file->punch_hole(call.i64(2), call.i64(3)); error < 0) return error;
  }
  const bool lengthens = (mode & kKeepSize) == 0 && info.size < end;
  const std::int64_t result = lengthens ? file->truncate(end) : 0;
  file_changed(*file);
  return result;
}

std::int64_t Process::Impl::sys_fsync(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (disk.writes_done() > now() && is_on_disk(*file))
    return wait_for_disk(call, disk.writes_done(), {.file = file, .writes = true});
  return file->host_fd() < 0 ? -EINVAL : file->sync();
}
std::int64_t Process::Impl::sys_fdatasync(Call& call) { return sys_fsync(call); }
std::int64_t Process::Impl::sys_sync(Call&) { return 0; }
std::int64_t Process::Impl::sys_fadvise64(Call& call) { return files.find(call.i32(0)) ? 0 : -EBADF; }
std::int64_t Process::Impl::sys_flock(Call& call) { return files.find(call.i32(0)) ? 0 : -EBADF; }

std::int64_t Process::Impl::sys_getdents64(Call& call) {
  constexpr std::uint64_t kHeader = 19;
  const auto file = files.find(call.i32(0));
  if (!file || !file->can_read()) return -EBADF;
  const std::uint64_t bytes = std::min<std::uint64_t>(call.u32(2), 1u << 20);
  if (!user.writable(call.a[1], bytes)) return -EFAULT;
  std::uint64_t used = 0;
  const ListedFile* entry = nullptr;
  while (true) {
    if (const auto error = file->next_entry(entry); error < 0) return error;
    if (entry == nullptr) return static_cast<std::int64_t>(used);
    const std::uint64_t length = (kHeader + entry->name.size() + 1 + 7) & ~std::uint64_t{7};
    if (used + length > bytes) return used != 0 ? static_cast<std::int64_t>(used) : -EINVAL;
    std::array<std::byte, 512> record{};
    const std::int64_t next = file->position() + 1;
    const auto length16 = static_cast<std::uint16_t>(length);
    std::memcpy(record.data(), &entry->ino, 8);
    std::memcpy(record.data() + 8, &next, 8);
    std::memcpy(record.data() + 16, &length16, 2);
    std::memcpy(record.data() + 18, &entry->type, 1);
    std::memcpy(record.data() + kHeader, entry->name.data(), entry->name.size());
    user.write(call.a[1] + used, record.data(), length);
    used += length;
    file->advance();
  }
}

// --- descriptors
// ---------------------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_close(Call& call) {
  files_changed = true;
  return files.close(call.i32(0)) ? 0 : -EBADF;
}

std::int64_t Process::Impl::sys_close_range(Call& call) {
  constexpr std::uint32_t kCloexec = 4;
  if (call.u32(0) > call.u32(1) || (call.u32(2) & ~(kCloexec | 2u)) != 0) return -EINVAL;
  for (std::int64_t fd = call.u32(0); fd < files.size() && fd <= static_cast<std::int64_t>(call.u32(1));
       ++fd) {
    if ((call.u32(2) & kCloexec) == 0) {
      files.close(fd);
    } else if (auto* entry = files.entry(fd)) {
      entry->closes_on_exec = true;
    }
  }
  files_changed = true;
  return 0;
}

std::int64_t Process::Impl::sys_dup(Call& call) {
  auto file = files.find(call.i32(0));
  return file ? files.install(std::move(file), false) : -EBADF;
}

std::int64_t Process::Impl::sys_dup3(Call& call) {
  auto file = files.find(call.i32(0));
  if (call.i32(0) == call.i32(1) || (call.u32(2) & ~abi::kCloseOnExec) != 0) return -EINVAL;
  if (!file || call.i32(1) < 0 || call.u32(1) >= files.most) return -EBADF;
  files.put(call.i32(1), {std::move(file), call.u32(2) != 0});
  files_changed = true;
  return call.i32(1);
}

std::int64_t Process::Impl::sys_fcntl(Call& call) {
  enum Command : std::int32_t {
    dupfd = 0,
    getfd = 1,
    setfd = 2,
    getfl = 3,
    setfl = 4,
    getlk = 5,
    setlk = 6,
    setlkw = 7,
    ofd_getlk = 36,
    ofd_setlk = 37,
    ofd_setlkw = 38,
    dupfd_cloexec = 1030,
    setpipe_size = 1031,
    getpipe_size = 1032,
  };
  auto* entry = files.entry(call.i32(0));
  if (entry == nullptr) return -EBADF;
  const auto file = entry->file;
  switch (call.i32(1)) {
    case dupfd:
    case dupfd_cloexec:
      if (call.i32(2) < 0 || call.u32(2) >= files.most) return -EINVAL;
      return files.install(file, call.i32(1) == dupfd_cloexec, call.i32(2));
    case getfd:
      return entry->closes_on_exec ? 1 : 0;
    case setfd:
      entry->closes_on_exec = (call.a[2] & 1) != 0;
      return 0;
    case getfl:
      return file->flags;
    case setfl: {
      constexpr std::uint32_t kChangeable = abi::kAppend | abi::kNonBlock | abi::kDirect;
      file->flags = (file->flags & ~kChangeable) | (call.u32(2) & kChangeable);
      if (file->host_fd() > 2 && file->can_write())
        ::fcntl(file->host_fd(), F_SETFL, (file->flags & abi::kAppend) != 0 ? O_APPEND : 0);
      return 0;
    }
    case getlk:
    case ofd_getlk: {  // this process is alone: no lock of another one exists
      constexpr std::int16_t kUnlocked = 2;
      return user.readable(call.a[2], 32) && user.put(call.a[2], kUnlocked) ? 0 : -EFAULT;
    }
    case setlk:
    case setlkw:
    case ofd_setlk:
    case ofd_setlkw:
      return user.readable(call.a[2], 32) ? 0 : -EFAULT;
    case setpipe_size:
    case getpipe_size:
      return dynamic_cast<PipeEnd*>(file.get()) != nullptr ? static_cast<std::int64_t>(PipeBuffer::kCapacity)
                                                           : -EBADF;
    default:
      return -EINVAL;
  }
}

// No descriptor is a terminal: see StandardStream.
std::int64_t Process::Impl::sys_ioctl(Call& call) {
  constexpr std::uint32_t kReadable = 0x541b, kUnsent = 0x5411, kNonBlocking = 0x5421, kCloexec = 0x5451,
                          kNoCloexec = 0x5450;
  auto* entry = files.entry(call.i32(0));
  if (entry == nullptr) return -EBADF;
  switch (call.u32(1)) {
    case kReadable: {
      const std::int64_t bytes = entry->file->available();
      if (bytes < 0) return bytes;
      return user.put(call.a[2], static_cast<std::int32_t>(bytes)) ? 0 : -EFAULT;
    }
    case kUnsent: {
      Socket* const socket = entry->file->as_socket();
      if (socket == nullptr) return -ENOTTY;
      return user.put(call.a[2], static_cast<std::int32_t>(socket->unreceived())) ? 0 : -EFAULT;
    }
    case kNonBlocking: {
      const auto on = user.get<std::int32_t>(call.a[2]);
      if (!on) return -EFAULT;
      entry->file->flags = (entry->file->flags & ~abi::kNonBlock) | (*on != 0 ? abi::kNonBlock : 0);
      return 0;
    }
    case kCloexec:
      entry->closes_on_exec = true;
      return 0;
    case kNoCloexec:
      entry->closes_on_exec = false;
      return 0;
    default:
      return -ENOTTY;
  }
}

std::int64_t Process::Impl::sys_pipe2(Call& call) {
  const std::uint32_t flags = call.u32(1);
  if ((flags & ~(abi::kCloseOnExec | abi::kNonBlock)) != 0) return -EINVAL;
  if (!user.writable(call.a[0], 8)) return -EFAULT;
  auto buffer = std::make_shared<PipeBuffer>();
  buffer->ino = next_pipe++;
  const bool cloexec = (flags & abi::kCloseOnExec) != 0;
  std::int64_t fds[2];
  fds[0] = install(std::make_shared<PipeEnd>(buffer, abi::kReadOnly | (flags & abi::kNonBlock)), cloexec);
  if (fds[0] < 0) return fds[0];
  fds[1] = install(std::make_shared<PipeEnd>(buffer, abi::kWriteOnly | (flags & abi::kNonBlock)), cloexec);
  if (fds[1] < 0) {
    files.close(fds[0]);
    return fds[1];
  }
  const std::int32_t numbers[2] = {static_cast<std::int32_t>(fds[0]), static_cast<std::int32_t>(fds[1])};
  user.write(call.a[0], numbers, sizeof numbers);
  return 0;
}

std::int64_t Process::Impl::sys_eventfd2(Call& call) {
  constexpr std::uint32_t kSemaphore = 1;
  const std::uint32_t flags = call.u32(1);
  if ((flags & ~(kSemaphore | abi::kCloseOnExec | abi::kNonBlock)) != 0) return -EINVAL;
  return install(std::make_shared<EventCounter>(call.u32(0), (flags & kSemaphore) != 0,
                                                abi::kReadWrite | (flags & abi::kNonBlock)),
                 (flags & abi::kCloseOnExec) != 0);
}

std::int64_t Process::Impl::sys_memfd_create(Call& call) {
  const auto name = user.string(call.a[0], 250);
  if (!name) return -EFAULT;
  if (name->size() >= 250 || (call.u32(1) & ~3u) != 0) return -EINVAL;
  OwnedFd fd(::memfd_create(name->c_str(), MFD_CLOEXEC));
  if (!fd) return -errno;
  auto file = std::make_shared<HostFile>(std::move(fd), abi::kReadWrite, "/memfd:" + *name);
  file->may_modify = true;
  return install(std::move(file), (call.u32(1) & 1) != 0);
}

// --- poll
// ----------------------------------------------------------------------------------------------------

// Fills `ready`; returns how many are, 0 when the time is over, or waits.
std::int64_t Process::Impl::poll_files(
    Call& call, std::vector<std::pair<std::shared_ptr<OpenFile>, std::uint32_t>>& requests,
    std::vector<std::uint32_t>& ready, std::optional<std::uint64_t> deadline) {
  while (true) {
    std::int64_t count = 0;
    ready.assign(requests.size(), 0);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto& [file, events] = requests[i];
      constexpr std::uint32_t kAlways = PollBits::kError | PollBits::kHangUp | PollBits::kInvalid;
      if (file) ready[i] = file->poll(events) & (events | kAlways);
      if (ready[i] != 0) ++count;
    }
    if (count != 0 || call.timed_out || (deadline && *deadline <= now())) return count;
    // Only the host can tell when a terminal or pipe on standard input is ready; without a time limit it is
    // asked to wait. With one the limit is in simulated time, which the host knows nothing of.
    std::vector<pollfd> host;
    for (const auto& [file, events] : requests)
      if (file && file->waits_for_host()) host.push_back({options.stdin_fd, static_cast<short>(events), 0});
    if (host.empty() || deadline || ::poll(host.data(), host.size(), -1) <= 0) break;
  }
  Wait wait;
  wait.kind = WaitKind::files;
  wait.deadline = deadline;
  return block(call, wait);
}

std::int64_t Process::Impl::sys_ppoll(Call& call) {
  struct Request {
    std::int32_t fd;
    std::int16_t events, ready;
  };
  const bool is_retry = call.thread.state == ThreadState::blocked;
  if (call.a[1] > files.most) return -EINVAL;
  std::vector<Request> list(call.a[1]);
  const std::uint64_t bytes = list.size() * sizeof(Request);
  if (!user.read(call.a[0], list.data(), bytes) || !user.writable(call.a[0], bytes)) return -EFAULT;
  std::optional<std::uint64_t> deadline = call.info.wait.deadline, mask;
  std::int64_t error = 0;
  if (!is_retry && !read_deadline(call.a[2], false, false, deadline, error)) return error;
  if (!is_retry && call.a[3] != 0) {
    if (call.a[4] != 8) return -EINVAL;
    if (!(mask = user.get<std::uint64_t>(call.a[3]))) return -EFAULT;
    call.info.saved_mask = call.thread.signal_mask;
    call.info.restores_mask = true;
    call.thread.signal_mask = *mask;
  }
  std::vector<std::pair<std::shared_ptr<OpenFile>, std::uint32_t>> requests;
  std::int64_t invalid = 0;
  for (auto& request : list) {
    requests.emplace_back(files.find(request.fd), static_cast<std::uint16_t>(request.events));
    request.ready = 0;
    if (request.fd >= 0 && !requests.back().first) {
      request.ready = PollBits::kInvalid;
      ++invalid;
    }
  }
  std::vector<std::uint32_t> ready;
  const std::int64_t count = poll_files(call, requests, ready, invalid != 0 ? now() : deadline);
  if (call.outcome == SyscallOutcome::blocked) return 0;
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i].ready = static_cast<std::int16_t>(list[i].ready | ready[i]);
  user.write(call.a[0], list.data(), bytes);
  return count + invalid;
}

std::int64_t Process::Impl::sys_pselect6(Call& call) {
  const bool is_retry = call.thread.state == ThreadState::blocked;
  if (call.i32(0) < 0) return -EINVAL;
  const std::uint64_t count = std::min<std::uint64_t>(call.u32(0), FileTable::kLimit);
  const std::uint64_t bytes = (count + 63) / 64 * 8;
  std::array<std::array<std::uint8_t, 128>, 3> sets{};
  for (unsigned i = 0; i < 3; ++i)
    if (call.a[1 + i] != 0 &&
        (!user.read(call.a[1 + i], sets[i].data(), bytes) || !user.writable(call.a[1 + i], bytes)))
      return -EFAULT;
  std::optional<std::uint64_t> deadline = call.info.wait.deadline;
  std::int64_t error = 0;
  if (!is_retry && !read_deadline(call.a[4], false, false, deadline, error)) return error;
  std::vector<std::pair<std::shared_ptr<OpenFile>, std::uint32_t>> requests;
  for (std::uint64_t fd = 0; fd < count; ++fd) {
    std::uint32_t events = 0;
    for (unsigned i = 0; i < 3; ++i)
      if ((sets[i][fd / 8] >> fd % 8 & 1) != 0)
        events |= i == 0 ? PollBits::kIn : i == 1 ? PollBits::kOut : 0x40000000;
    const auto file = events != 0 ? files.find(static_cast<std::int64_t>(fd)) : nullptr;
    if (events != 0 && !file) return -EBADF;
    requests.emplace_back(file, events);
  }
  if (!is_retry && call.a[5] != 0) {
    struct Mask {
      std::uint64_t address, bytes;
    };
    const auto argument = user.get<Mask>(call.a[5]);
    if (!argument) return -EFAULT;
    if (argument->address != 0) {
      const auto mask = user.get<std::uint64_t>(argument->address);
      if (argument->bytes != 8) return -EINVAL;
      if (!mask) return -EFAULT;
      call.info.saved_mask = call.thread.signal_mask;
      call.info.restores_mask = true;
      call.thread.signal_mask = *mask;
    }
  }
  std::vector<std::uint32_t> ready;
  poll_files(call, requests, ready, deadline);
  if (call.outcome == SyscallOutcome::blocked) return 0;
  std::array<std::array<std::uint8_t, 128>, 3> results{};
  std::int64_t bits = 0;
  for (std::uint64_t fd = 0; fd < count; ++fd) {
    const std::uint32_t events = requests[fd].second, now_ready = ready[fd];
    constexpr std::uint32_t kReads = PollBits::kIn | PollBits::kHangUp | PollBits::kError;
    constexpr std::uint32_t kWrites = PollBits::kOut | PollBits::kError;
    const bool hits[2] = {(events & PollBits::kIn) != 0 && (now_ready & kReads) != 0,
                          (events & PollBits::kOut) != 0 && (now_ready & kWrites) != 0};
    for (unsigned i = 0; i < 2; ++i) {
      if (!hits[i]) continue;
      results[i][fd / 8] |= static_cast<std::uint8_t>(1u << fd % 8);
      ++bits;
    }
  }
  for (unsigned i = 0; i < 3; ++i)
    if (call.a[1 + i] != 0) user.write(call.a[1 + i], results[i].data(), bytes);
  return bits;
}

}  // namespace rubato::chip
