// System calls on descriptors: closing, copies, flags, and new ones without a path (pipes, counters, memory).
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {

std::int64_t Process::Impl::install(std::shared_ptr<OpenFile> file, bool cloexec) {
  return files.install(std::move(file), cloexec);
}

std::int64_t Process::Impl::sys_close(Call& call) {
  const auto file = files.find(call.i32(0));
  files_changed = true;
  if (!files.close(call.i32(0))) return -EBADF;
  note_close(*file);
  return 0;
}

std::int64_t Process::Impl::sys_close_range(Call& call) {
  constexpr std::uint32_t kCloexec = 4;
  if (call.u32(0) > call.u32(1) || (call.u32(2) & ~(kCloexec | 2u)) != 0) return -EINVAL;
  for (std::int64_t fd = call.u32(0); fd < files.size() && fd <= static_cast<std::int64_t>(call.u32(1));
       ++fd) {
    if ((call.u32(2) & kCloexec) == 0) {
      if (const auto file = files.find(fd)) note_close(*file);
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
  if (const auto before = files.find(call.i32(1))) note_close(*before);
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
    add_seals = 1033,
    get_seals = 1034,
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
      if (((file->flags ^ call.u32(2)) & abi::kAsync) != 0)
        set_asynchronous(file, (call.u32(2) & abi::kAsync) != 0);  // of other files nothing, as Linux
      return 0;
    }
    case getlk:
    case ofd_getlk:
      return lock_range(call, file, RangeLockCommand::ask, call.i32(1) == ofd_getlk);
    case setlk:
    case ofd_setlk:
      return lock_range(call, file, RangeLockCommand::try_once, call.i32(1) == ofd_setlk);
    case setlkw:
    case ofd_setlkw:
      return lock_range(call, file, RangeLockCommand::wait, call.i32(1) == ofd_setlkw);
    case setpipe_size:
    case getpipe_size: {
      auto* const pipe = dynamic_cast<PipeEnd*>(file.get());
      if (pipe == nullptr) return -EBADF;
      if (call.i32(1) == getpipe_size) return static_cast<std::int64_t>(pipe->capacity());
      files_changed = true;
      return pipe->resize(call.u32(2));
    }
    case add_seals:
    case get_seals:
      if (file->host_fd() < 0) return -EINVAL;
      return or_error(::fcntl(file->host_fd(), call.i32(1), call.u32(2)));
    default:
      return control_owner(call, *file);
  }
}

// No descriptor is a terminal: see StandardStream.
std::int64_t Process::Impl::sys_ioctl(Call& call) {
  constexpr std::uint32_t kReadable = 0x541b, kUnsent = 0x5411, kNonBlocking = 0x5421, kAsynchronous = 0x5452,
                          kCloexec = 0x5451, kNoCloexec = 0x5450;
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
    case kAsynchronous: {
      const auto on = user.get<std::int32_t>(call.a[2]);
      return on ? set_asynchronous(entry->file, *on != 0) : -EFAULT;
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
  const unsigned sealing = (call.u32(1) & 2) != 0 ? MFD_ALLOW_SEALING : 0;
  OwnedFd fd(::memfd_create(name->c_str(), MFD_CLOEXEC | sealing));
  if (!fd) return -errno;
  auto file = std::make_shared<HostFile>(std::move(fd), abi::kReadWrite, "/memfd:" + *name);
  file->may_modify = true;
  return install(std::move(file), (call.u32(1) & 1) != 0);
}

}  // namespace rubato::chip
