// Transfers of files that are on the disk: regular files opened with O_DIRECT (P78, P80). A call is checked
// when it is made, and a write's bytes are taken then; data move when the request is done. The thread waits
// meanwhile, as a sleeping one does, but no signal ends its wait. Files without O_DIRECT take no time.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {

bool Process::Impl::is_on_disk(OpenFile& file) const {
  if ((file.flags & abi::kDirect) == 0 || file.host_fd() < 0) return false;
  abi::Stat info{};
  return file.stat(info) == 0 && S_ISREG(info.mode);
}

std::int64_t Process::Impl::begin_disk_transfer(Call& call, std::shared_ptr<OpenFile> file,
                                                std::vector<abi::Iovec> ranges,
                                                std::optional<std::int64_t> offset, bool writes) {
  abi::Stat info{};
  if (const auto error = file->stat(info); error < 0) return error;
  DiskTransfer transfer{.file = std::move(file), .ranges = std::move(ranges), .writes = writes};
  transfer.moves_position = !offset;
  const bool appends = writes && (transfer.file->flags & abi::kAppend) != 0;
  transfer.offset = appends ? info.size : offset ? *offset : transfer.file->seek(0, SEEK_CUR);
  if (transfer.offset < 0) return transfer.offset;

  std::uint64_t bytes = 0, misfits = static_cast<std::uint64_t>(transfer.offset);
  for (const auto& range : transfer.ranges) {
    misfits |= range.base | range.bytes;
    bytes += range.bytes;
  }
  if (misfits % Disk::kSector != 0) return -EINVAL;
  for (const auto& range : transfer.ranges)
    if (!(writes ? user.readable(range.base, range.bytes) : user.writable(range.base, range.bytes)))
      return -EFAULT;
  if (writes) {
    transfer.data.resize(bytes);
    std::byte* to = transfer.data.data();
    for (const auto& range : transfer.ranges) {
      user.read(range.base, to, range.bytes);
      to += range.bytes;
    }
  } else {
    const std::int64_t left = std::max<std::int64_t>(info.size - transfer.offset, 0);
    bytes =
        std::min(bytes, static_cast<std::uint64_t>(left) + Disk::kSector - 1) / Disk::kSector * Disk::kSector;
  }
  if (bytes == 0) return 0;
  return wait_for_disk(call, disk.request(writes ? Disk::Kind::write : Disk::Kind::read, bytes, now()),
                       std::move(transfer));
}

std::int64_t Process::Impl::wait_for_disk(Call& call, std::uint64_t done_at, DiskTransfer transfer) {
  Wait wait;
  wait.kind = WaitKind::disk;
  wait.deadline = done_at;
  call.info.transfer = std::make_unique<DiskTransfer>(std::move(transfer));
  return block(call, wait);
}

// For the wait of a thread that is over, or of a program that ends: writes that were made are not lost.
std::int64_t Process::Impl::end_disk_transfer(ThreadInfo& of) {
  const std::unique_ptr<DiskTransfer> transfer = std::move(of.transfer);
  OpenFile& file = *transfer->file;
  std::int64_t done = 0;
  if (transfer->writes) {
    const std::span<const std::byte> data = transfer->data;
    if (!data.empty()) {
      if (!begin_file_access(file, transfer->offset, data.size(), true)) return -EFAULT;
      done = put_all(file, data, transfer->offset);
      file_changed(file);
      note_watched_changes();
    } else {
      done = file.sync();
    }
  } else {
    std::uint64_t bytes = 0;
    for (const auto& range : transfer->ranges) bytes += range.bytes;
    if (!begin_file_access(file, transfer->offset, bytes, false)) return -EFAULT;
    done = get_all(file, *transfer);
  }
  if (transfer->moves_position && done > 0) file.seek(transfer->offset + done, SEEK_SET);
  return done;
}

std::int64_t Process::Impl::put_all(OpenFile& file, std::span<const std::byte> data, std::int64_t offset) {
  std::int64_t done = 0;
  while (static_cast<std::size_t>(done) < data.size()) {
    const std::int64_t put = file.pwrite(data.subspan(static_cast<std::size_t>(done)), offset + done);
    if (put <= 0) return done != 0 ? done : put;
    done += put;
  }
  return done;
}

// The program may have unmapped the memory meanwhile.
std::int64_t Process::Impl::get_all(OpenFile& file, const DiskTransfer& transfer) {
  std::vector<std::byte> buffer;
  std::int64_t done = 0;
  for (const auto& range : transfer.ranges) {
    if (range.bytes == 0) continue;
    buffer.resize(range.bytes);
    const std::int64_t got = file.pread(buffer, transfer.offset + done);
    if (got < 0) return done != 0 ? done : got;
    if (!user.write(range.base, buffer.data(), static_cast<std::uint64_t>(got)))
      return done != 0 ? done : -EFAULT;
    done += got;
    if (static_cast<std::uint64_t>(got) < range.bytes) break;
  }
  return done;
}

void Process::Impl::finish_disk_wait(Thread& thread) {
  ThreadInfo& of = info(thread);
  if (observer != nullptr) observer->on_retry(&thread);
  const auto bound = of.wait.at_once_stack;
  if (bound) user.bind(bound->first, bound->second);
  const std::int64_t result = end_disk_transfer(of);
  if (bound) user.unbind();
  if (observer != nullptr) observer->on_retry(nullptr);
  wake(thread, result);
}

}  // namespace rubato::chip
