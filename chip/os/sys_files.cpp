// System calls on the contents of open files: reading, writing, copies, positions, sizes, entries.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "chip/os/process_impl.hpp"
#include "chip/os/user_buffers.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{4} << 20;
constexpr std::uint64_t kMaxIovecs = 1024;

bool is_pipe_like(const OpenFile& file) { return file.host_fd() < 0; }

/// The part of `bytes` that moves if the program may not use the address behind them.
std::uint64_t moved_before_fault(OpenFile::AtFault rule, std::uint64_t bytes) {
  if (rule == OpenFile::AtFault::nothing) return 0;
  return rule == OpenFile::AtFault::bytes ? bytes : bytes & ~AddressSpace::kPageMask;
}

/// Whether a read would get a byte: at the end of a file the address of its buffer does not matter.
bool has_more(OpenFile& file, std::optional<std::int64_t> offset) {
  const std::int64_t at = offset ? *offset : file.seek(0, SEEK_CUR);
  std::byte next;
  return at < 0 || file.pread({&next, 1}, at) != 0;
}

}  // namespace

// --- transfers
// -----------------------------------------------------------------------------------------------

std::int64_t Process::Impl::read_iovecs(Addr a, std::uint64_t count, std::vector<abi::Iovec>& ranges) const {
  if (count > kMaxIovecs) return -EINVAL;
  ranges.resize(count);
  if (!user.read(a, ranges.data(), count * sizeof(abi::Iovec))) return -EFAULT;
  std::uint64_t total = 0;
  for (auto& range : ranges) {
    if (static_cast<std::int64_t>(range.bytes) < 0) return -EINVAL;
    if (!is_user_address(range.base, range.bytes)) return -EFAULT;
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

// Bytes that a read of `wanted` gets if only `room` of them can be stored; or -errno, 0 at the end of the
// file.
std::int64_t Process::Impl::read_before_fault(OpenFile& file, std::optional<std::int64_t> offset,
                                              std::uint64_t room) {
  if (file.at_fault() == OpenFile::AtFault::nothing) return -EFAULT;
  if (file.at_fault() == OpenFile::AtFault::pages) {
    const std::int64_t there = file.available();  // 0: it waits, or ends, before any byte is stored
    if (there >= 0 && static_cast<std::uint64_t>(there) <= room) return std::max<std::int64_t>(there, 1);
  }
  const auto n = static_cast<std::int64_t>(moved_before_fault(file.at_fault(), room));
  if (n != 0) return n;
  return file.at_fault() == OpenFile::AtFault::bytes && !has_more(file, offset) ? 0 : -EFAULT;
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
  const UserBuffers to(user, ranges);
  const std::uint64_t total = to.bytes(), room = to.writable_bytes();
  if (is_at_once() && room < total) return -EFAULT;
  if (!begin_file_access(file, offset, total, false)) return -EFAULT;
  // A host that must be waited for is asked once; a regular file gives all it has.
  std::vector<std::byte> buffer;
  std::int64_t done = 0;
  while (static_cast<std::uint64_t>(done) < total) {
    const auto at = static_cast<std::uint64_t>(done);
    std::uint64_t n = std::min(kChunk, total - at);
    const auto here = offset ? std::optional(*offset + done) : std::nullopt;
    if (room - at < n) {
      const std::int64_t less = read_before_fault(file, here, room - at);
      if (less <= 0) return done != 0 ? done : less;
      n = static_cast<std::uint64_t>(less);
    }
    buffer.resize(n);
    const std::int64_t got = here ? file.pread(buffer, *here) : file.read(buffer);
    if (got == kWouldBlock) return done != 0 ? done : would_block(call, file);
    if (got < 0) return done != 0 ? done : got;
    if (static_cast<std::uint64_t>(got) > room - at) return done != 0 ? done : -EFAULT;
    to.scatter(at, std::span(buffer).first(static_cast<std::size_t>(got)));
    done += got;
    if (is_pipe_like(file)) files_changed = true;
    if (static_cast<std::uint64_t>(got) < n || is_pipe_like(file)) break;
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
  const UserBuffers from(user, ranges);
  const std::uint64_t total = from.bytes(), good = from.readable_bytes();
  const std::uint64_t end = good == total ? total : moved_before_fault(file.at_fault(), good);
  if (end < total && (end == 0 || is_at_once())) return -EFAULT;
  if (!begin_file_access(file, offset, end, true)) return -EFAULT;
  std::vector<std::byte> buffer;
  std::uint64_t done = call.progress;
  const auto ended = [&](std::int64_t error) -> std::int64_t {
    file_changed(file);
    if (error == -EPIPE) broken_pipe(call);
    return done != 0 ? static_cast<std::int64_t>(done) : error;
  };
  // All ranges are one write: gathered, so that no other writer comes between.
  while (done < end) {
    buffer.resize(std::min(kChunk, end - done));
    from.gather(done, buffer);
    const std::int64_t put =
        offset ? file.pwrite(buffer, *offset + static_cast<std::int64_t>(done)) : file.write(buffer);
    if (put == kWouldBlock) {
      call.progress = done;
      if ((file.flags & abi::kNonBlock) != 0 && done != 0) return static_cast<std::int64_t>(done);
      return would_block(call, file);
    }
    if (put < 0) return ended(put);
    if (is_pipe_like(file)) files_changed = true;
    if (put == 0) break;
    done += static_cast<std::uint64_t>(put);
  }
  return ended(0);
}

std::int64_t Process::Impl::sys_read(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (!is_user_address(call.a[1], call.a[2])) return -EFAULT;
  return transfer_in(call, file, {{call.a[1], std::min(call.a[2], kMaxTransfer)}}, std::nullopt);
}
std::int64_t Process::Impl::sys_write(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (!is_user_address(call.a[1], call.a[2])) return -EFAULT;
  return transfer_out(call, file, {{call.a[1], std::min(call.a[2], kMaxTransfer)}}, std::nullopt);
}
std::int64_t Process::Impl::sys_pread64(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (call.i64(3) < 0) return -EINVAL;
  if (!is_user_address(call.a[1], call.a[2])) return -EFAULT;
  return transfer_in(call, file, {{call.a[1], std::min(call.a[2], kMaxTransfer)}}, call.i64(3));
}
std::int64_t Process::Impl::sys_pwrite64(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (call.i64(3) < 0) return -EINVAL;
  if (!is_user_address(call.a[1], call.a[2])) return -EFAULT;
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
  const std::uint64_t wanted = std::min(call.a[3], kMaxTransfer);
  const auto moved_before = static_cast<std::int64_t>(call.progress);
  const std::int64_t done = copy_between(*from, at, *to, std::nullopt, wanted - call.progress);
  file_changed(*to);
  if (done == kWouldBlock) return would_block(call, *to);
  if (done == -EPIPE) broken_pipe(call);
  if (done < 0) return moved_before != 0 ? moved_before : done;
  files_changed = true;
  call.progress += static_cast<std::uint64_t>(done);
  if (has_offset) {
    user.put(call.a[2], at + done);
  } else {
    from->seek(at + done, SEEK_SET);
  }
  // A stream takes all, as long as its reader makes room; a pipe what it has room for.
  const bool waits = to->as_socket() != nullptr && to->as_socket()->is_stream() && done != 0 &&
                     (to->flags & abi::kNonBlock) == 0;
  if (waits && call.progress < wanted && has_more(*from, at + done)) return would_block(call, *to);
  return static_cast<std::int64_t>(call.progress);
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
  if ((to->flags & abi::kAppend) != 0) return -EBADF;
  abi::Stat source{}, target{};
  if (from->stat(source) < 0 || to->stat(target) < 0) return -EINVAL;
  // Within a file the two ranges must not overlap: what is copied is what was there before.
  const std::int64_t left = std::max<std::int64_t>(source.size - at[0], 0);
  const std::uint64_t bytes = std::min(call.a[4], static_cast<std::uint64_t>(left));
  const auto end_of = [bytes](std::int64_t begin) { return static_cast<std::uint64_t>(begin) + bytes; };
  const bool is_same = source.dev == target.dev && source.ino == target.ino;
  if (is_same && end_of(at[1]) > static_cast<std::uint64_t>(at[0]) &&
      end_of(at[0]) > static_cast<std::uint64_t>(at[1]))
    return -EINVAL;
  if (!begin_file_access(*from, at[0], bytes, false)) return -EFAULT;
  if (!begin_file_access(*to, at[1], bytes, true)) return -EFAULT;
  const std::int64_t done = copy_between(*from, at[0], *to, at[1], bytes);
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
  if (call.i64(1) < 0) return -EINVAL;
  if (!file || (file->flags & abi::kPath) != 0) return -EBADF;
  if (!file->can_write()) return -EINVAL;
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
  if (!S_ISREG(info.mode)) return S_ISFIFO(info.mode) ? -ESPIPE : -ENODEV;
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
std::int64_t Process::Impl::sys_fadvise64(Call& call) {
  constexpr std::uint32_t kLast = 5;
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  abi::Stat info{};
  if (const auto error = file->stat(info); error < 0) return error;
  if (S_ISFIFO(info.mode)) return -ESPIPE;
  return call.u32(3) > kLast || call.i64(2) < 0 ? -EINVAL : 0;
}

std::int64_t Process::Impl::sys_getdents64(Call& call) {
  constexpr std::uint64_t kHeader = 19;
  const auto file = files.find(call.i32(0));
  if (!file || !file->can_read()) return -EBADF;
  const std::uint64_t bytes = std::min<std::uint64_t>(call.u32(2), 1u << 20);
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
    if (!user.write(call.a[1] + used, record.data(), length))
      return used != 0 ? static_cast<std::int64_t>(used) : -EFAULT;
    used += length;
    file->advance();
  }
}

}  // namespace rubato::chip
