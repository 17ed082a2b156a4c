// SPDX-License-Identifier: MIT
#include "chip/os/inotify_file.hpp"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {

std::uint32_t InotifyQueues::number_of(std::uint32_t host_cookie) {
  const auto [known, is_new] = moves.try_emplace(host_cookie, next);
  const std::uint32_t number = known->second;
  if (is_new) ++next;
  if (moves.size() > kMostMoves) moves.erase(moves.begin());
  return number;
}

InotifyFile::InotifyFile(OwnedFd queue, std::uint32_t open_flags, InotifyQueues& queues)
    : OpenFile(open_flags), queue_(std::move(queue)), queues_(queues) {
  ++queues_.open;
}
InotifyFile::~InotifyFile() { --queues_.open; }

// The walk to the file has followed links already, as far as the guest wants that.
std::int64_t InotifyFile::add(const ResolvedPath& where, std::uint32_t mask) {
  if (where.wants_directory) mask |= IN_ONLYDIR;
  const std::string walked = fmt::format("/proc/self/fd/{}/{}", where.parent.get(), where.name);
  return or_error(::inotify_add_watch(queue_.get(), walked.c_str(), mask | IN_DONT_FOLLOW));
}

std::int64_t InotifyFile::remove(std::int32_t watch) {
  return or_error(::inotify_rm_watch(queue_.get(), watch));
}

std::int64_t InotifyFile::read(std::span<std::byte> to) {
  const ssize_t bytes = ::read(queue_.get(), to.data(), to.size());
  if (bytes < 0) return errno == EAGAIN ? kWouldBlock : -errno;
  const auto end = static_cast<std::size_t>(bytes);
  bytes_read_ += end;
  inotify_event event;
  for (std::size_t at = 0; at < end; at += sizeof event + event.len) {
    std::memcpy(&event, to.data() + at, sizeof event);
    if (event.cookie == 0) continue;
    event.cookie = queues_.number_of(event.cookie);
    std::memcpy(to.data() + at, &event, sizeof event);
  }
  return bytes;
}

std::int64_t InotifyFile::stat(abi::Stat& result) {
  result = {};
  result.mode = 0600;
  result.nlink = 1;
  return 0;
}

std::uint32_t InotifyFile::poll(std::uint32_t events) {
  return queued() != 0 ? events & (PollBits::kIn | PollBits::kReadNormal) : 0;
}

std::int64_t InotifyFile::queued() const {
  int bytes = 0;
  return ::ioctl(queue_.get(), FIONREAD, &bytes) == 0 ? bytes : 0;
}

// --- system calls
// --------------------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_inotify_init1(Call& call) {
  static_assert(IN_CLOEXEC == abi::kCloseOnExec && IN_NONBLOCK == abi::kNonBlock);
  const std::uint32_t flags = call.u32(0);
  if ((flags & ~(abi::kCloseOnExec | abi::kNonBlock)) != 0) return -EINVAL;
  if (!files.has_room()) return -EMFILE;
  OwnedFd queue(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!queue) return -errno;
  return install(std::make_shared<InotifyFile>(std::move(queue), abi::kReadOnly | (flags & abi::kNonBlock),
                                               kernel.inotify_queues),
                 (flags & abi::kCloseOnExec) != 0);
}

std::int64_t Process::Impl::sys_inotify_add_watch(Call& call) {
  constexpr std::uint32_t kKnown = IN_ALL_EVENTS | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED | IN_ONLYDIR |
                                   IN_DONT_FOLLOW | IN_EXCL_UNLINK | IN_MASK_CREATE | IN_MASK_ADD | IN_ISDIR |
                                   IN_ONESHOT;
  const std::uint32_t mask = call.u32(2);
  if ((mask & kKnown) == 0) return -EINVAL;
  const auto found = files.find(call.i32(0));
  if (!found) return -EBADF;
  const auto file = std::dynamic_pointer_cast<InotifyFile>(found);
  if (!file || ((mask & IN_MASK_ADD) != 0 && (mask & IN_MASK_CREATE) != 0)) return -EINVAL;
  const auto path = user.string(call.a[1], PATH_MAX);
  if (!path) return -EFAULT;
  const auto follow = (mask & IN_DONT_FOLLOW) != 0 ? PathResolver::Follow::no : PathResolver::Follow::yes;
  ResolvedPath where;
  if (const auto error = resolve(abi::kAtCwd, *path, follow, where); error < 0) return error;
  if (!where.is_virtual) return file->add(where, mask);
  log(fmt::format("refused to watch {}: files of /proc and /sys tell of no changes", where.absolute));
  return -EACCES;
}

std::int64_t Process::Impl::sys_inotify_rm_watch(Call& call) {
  const auto found = files.find(call.i32(0));
  if (!found) return -EBADF;
  const auto file = std::dynamic_pointer_cast<InotifyFile>(found);
  return file ? file->remove(call.i32(1)) : -EINVAL;
}

}  // namespace rubato::chip
