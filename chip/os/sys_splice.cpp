// System calls that move bytes between a pipe and another file: splice, tee, vmsplice. The bytes are copied,
// which no program can tell from moving.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint32_t kSpliceNonBlock = 2, kSpliceFlags = 15;

PipeEnd* pipe_of(const std::shared_ptr<OpenFile>& file) { return dynamic_cast<PipeEnd*>(file.get()); }

}  // namespace

std::int64_t Process::Impl::end_splice(Call& call, std::int64_t result, bool may_wait) {
  if (result == kWouldBlock) return wait_for_files(call, may_wait, std::nullopt);
  if (result == -EPIPE) broken_pipe(call);
  files_changed = true;
  return result;
}

std::int64_t Process::Impl::sys_splice(Call& call) {
  const auto from = files.find(call.i32(0)), to = files.find(call.i32(2));
  if ((call.u32(5) & ~kSpliceFlags) != 0) return -EINVAL;
  if (call.a[4] == 0) return 0;
  if (!from || !to || !from->can_read() || !to->can_write()) return -EBADF;
  PipeEnd *const source = pipe_of(from), *const target = pipe_of(to);
  if (source == nullptr && target == nullptr) return -EINVAL;
  if ((source != nullptr && call.a[1] != 0) || (target != nullptr && call.a[3] != 0)) return -ESPIPE;
  if (source != nullptr && target != nullptr && source->is_same(*target)) return -EINVAL;
  if (from->is_directory || (to->flags & abi::kAppend) != 0) return -EINVAL;
  const Addr pointer = source != nullptr ? call.a[3] : call.a[1];
  std::optional<std::int64_t> offset;
  if (pointer != 0) {
    offset = user.get<std::int64_t>(pointer);
    if (!offset || !user.writable(pointer, 8)) return -EFAULT;
    if (*offset < 0) return -EINVAL;
  }
  const bool may_wait =
      (call.u32(5) & kSpliceNonBlock) == 0 && ((from->flags | to->flags) & abi::kNonBlock) == 0;
  std::vector<std::byte> buffer(std::min<std::uint64_t>(call.a[4], PipeBuffer::kMostCapacity));
  std::int64_t done = 0;
  if (source != nullptr) {
    const std::int64_t there = source->peek(buffer);
    if (there <= 0) return end_splice(call, there, may_wait);
    buffer.resize(static_cast<std::size_t>(there));
    if (!begin_file_access(*to, offset, buffer.size(), true)) return -EFAULT;
    done = offset ? to->pwrite(buffer, *offset) : to->write(buffer);
    file_changed(*to);
    if (done > 0) source->read(std::span(buffer).first(static_cast<std::size_t>(done)));
  } else {
    const std::int64_t room = target->room();
    if (room <= 0) return end_splice(call, room, may_wait);
    buffer.resize(std::min(buffer.size(), static_cast<std::size_t>(room)));
    if (!begin_file_access(*from, offset, buffer.size(), false)) return -EFAULT;
    done = offset ? from->pread(buffer, *offset) : from->read(buffer);
    if (done > 0) target->put(std::span(buffer).first(static_cast<std::size_t>(done)));
  }
  if (done > 0 && offset) user.put(pointer, *offset + done);
  return end_splice(call, done, may_wait);
}

std::int64_t Process::Impl::sys_tee(Call& call) {
  const auto from = files.find(call.i32(0)), to = files.find(call.i32(1));
  if ((call.u32(3) & ~kSpliceFlags) != 0) return -EINVAL;
  if (call.a[2] == 0) return 0;
  if (!from || !to || !from->can_read() || !to->can_write()) return -EBADF;
  PipeEnd *const source = pipe_of(from), *const target = pipe_of(to);
  if (source == nullptr || target == nullptr || source->is_same(*target)) return -EINVAL;
  const bool may_wait =
      (call.u32(3) & kSpliceNonBlock) == 0 && ((from->flags | to->flags) & abi::kNonBlock) == 0;
  std::vector<std::byte> buffer(std::min<std::uint64_t>(call.a[2], PipeBuffer::kMostCapacity));
  const std::int64_t there = source->peek(buffer), room = target->room();
  if (there <= 0) return end_splice(call, there, may_wait);
  if (room <= 0) return end_splice(call, room, may_wait);
  const std::int64_t n = std::min(there, room);
  target->put(std::span(buffer).first(static_cast<std::size_t>(n)));
  return end_splice(call, n, may_wait);
}

std::int64_t Process::Impl::sys_vmsplice(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if ((call.u32(3) & ~kSpliceFlags) != 0) return -EINVAL;
  if (pipe_of(file) == nullptr) return -EBADF;
  std::vector<abi::Iovec> ranges;
  if (const auto error = read_iovecs(call.a[1], call.a[2], ranges); error < 0) return error;
  return file->can_write() ? transfer_out(call, file, ranges, std::nullopt)
                           : transfer_in(call, file, ranges, std::nullopt);
}

}  // namespace rubato::chip
