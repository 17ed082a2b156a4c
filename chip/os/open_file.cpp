// Files of the host and the standard streams.
// SPDX-License-Identifier: MIT
#include "chip/os/open_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rubato::chip {
namespace {

void convert(const struct stat& from, abi::Stat& to) {
  to = {};
  const std::uint32_t host_user = ::getuid(), host_group = ::getgid();
  to.dev = from.st_dev;
  to.ino = from.st_ino;
  to.mode = from.st_mode;
  to.nlink = static_cast<std::uint32_t>(from.st_nlink);
  to.uid = from.st_uid == host_user ? kGuestUser : from.st_uid;
  to.gid = from.st_gid == host_group ? kGuestUser : from.st_gid;
  to.rdev = from.st_rdev;
  to.size = from.st_size;
  to.blksize = 4096;
  to.blocks = from.st_blocks;
  to.atime = from.st_atim.tv_sec;
  to.atime_nsec = static_cast<std::uint64_t>(from.st_atim.tv_nsec);
  to.mtime = from.st_mtim.tv_sec;
  to.mtime_nsec = static_cast<std::uint64_t>(from.st_mtim.tv_nsec);
  to.ctime = from.st_ctim.tv_sec;
  to.ctime_nsec = static_cast<std::uint64_t>(from.st_ctim.tv_nsec);
}

std::uint32_t host_poll(int fd, std::uint32_t events) {
  pollfd request{fd, static_cast<short>(events), 0};
  if (::poll(&request, 1, 0) <= 0) return 0;
  return static_cast<std::uint32_t>(request.revents);
}

}  // namespace

std::int64_t stat_of_host_fd(int fd, abi::Stat& result) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return -errno;
  convert(info, result);
  return 0;
}

std::int64_t stat_of_made_up(std::uint64_t device, std::uint64_t inode, std::uint32_t mode,
                             abi::Stat& result) {
  result = {};
  result.dev = device;
  result.ino = inode;
  result.mode = mode;
  result.nlink = 1;
  result.uid = result.gid = kGuestUser;
  result.blksize = 4096;
  return 0;
}

std::int64_t stat_of_host_path(int parent, const char* name, abi::Stat& result) {
  struct stat info {};
  if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  convert(info, result);
  return 0;
}

void fill_random(Rng& rng, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = rng();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, bytes.size() - i));
  }
}

int host_open_flags(std::uint32_t flags) {
  int host = O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
  switch (flags & abi::kAccessMask) {
    case abi::kReadOnly:
      host |= O_RDONLY;
      break;
    case abi::kWriteOnly:
      host |= O_WRONLY;
      break;
    default:
      host |= O_RDWR;
      break;
  }
  if ((flags & abi::kCreate) != 0) host |= O_CREAT;
  if ((flags & abi::kExclusive) != 0) host |= O_EXCL;
  if ((flags & abi::kTruncate) != 0) host |= O_TRUNC;
  if ((flags & abi::kAppend) != 0) host |= O_APPEND;
  if ((flags & abi::kDirectory) != 0) host |= O_DIRECTORY;
  if ((flags & abi::kPath) != 0) host = O_PATH | O_CLOEXEC | O_NOFOLLOW | (host & O_DIRECTORY);
  return host;
}

// --- OpenFile: what most kinds of files answer
// ---------------------------------------------------------------

std::int64_t OpenFile::read(std::span<std::byte>) { return -EINVAL; }
std::int64_t OpenFile::write(std::span<const std::byte>) { return -EINVAL; }
std::int64_t OpenFile::pread(std::span<std::byte>, std::int64_t) { return -ESPIPE; }
std::int64_t OpenFile::pwrite(std::span<const std::byte>, std::int64_t) { return -ESPIPE; }
std::int64_t OpenFile::seek(std::int64_t, int) { return -ESPIPE; }
std::int64_t OpenFile::truncate(std::int64_t) { return -EINVAL; }
std::int64_t OpenFile::punch_hole(std::int64_t, std::int64_t) { return -EOPNOTSUPP; }
std::int64_t OpenFile::next_entry(const ListedFile*&) { return -ENOTDIR; }

// --- HostFile
// ------------------------------------------------------------------------------------------------

HostFile::HostFile(OwnedFd fd, std::uint32_t open_flags, std::string file_path)
    : OpenFile(open_flags, std::move(file_path)), fd_(std::move(fd)) {
  struct stat info {};
  is_directory = ::fstat(fd_.get(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::int64_t HostFile::read(std::span<std::byte> to) {
  if (is_directory) return -EISDIR;
  return or_error(::read(fd_.get(), to.data(), to.size()));
}
std::int64_t HostFile::write(std::span<const std::byte> from) {
  return or_error(::write(fd_.get(), from.data(), from.size()));
}
std::int64_t HostFile::pread(std::span<std::byte> to, std::int64_t offset) {
  if (is_directory) return -EISDIR;
  return or_error(::pread(fd_.get(), to.data(), to.size(), offset));
}
std::int64_t HostFile::pwrite(std::span<const std::byte> from, std::int64_t offset) {
  return or_error(::pwrite(fd_.get(), from.data(), from.size(), offset));
}

std::int64_t HostFile::seek(std::int64_t offset, int whence) {
  if (!is_directory) return or_error(::lseek(fd_.get(), offset, whence));
  std::int64_t target = offset;
  if (whence == SEEK_CUR) target += static_cast<std::int64_t>(position_);
  if ((whence != SEEK_SET && whence != SEEK_CUR) || target < 0) return -EINVAL;
  if (target == 0) has_entries_ = false;  // rewinddir() sees what changed
  position_ = static_cast<std::size_t>(target);
  return target;
}

std::int64_t HostFile::stat(abi::Stat& result) { return stat_of_host_fd(fd_.get(), result); }
std::int64_t HostFile::truncate(std::int64_t bytes) { return or_error(::ftruncate(fd_.get(), bytes)); }
std::int64_t HostFile::punch_hole(std::int64_t offset, std::int64_t bytes) {
  return or_error(::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes));
}
std::int64_t HostFile::sync() { return or_error(::fsync(fd_.get())); }
std::uint32_t HostFile::poll(std::uint32_t events) { return host_poll(fd_.get(), events); }

std::int64_t HostFile::available() {
  int bytes = 0;
  return ::ioctl(fd_.get(), FIONREAD, &bytes) == 0 ? bytes : -errno;
}

void HostFile::read_directory() {
  entries_.clear();
  has_entries_ = true;
  // The same open file: inotify would tell of another open().
  const int copy = ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return;
  DIR* directory = ::fdopendir(copy);
  if (directory == nullptr) {
    ::close(copy);
    return;
  }
  ::rewinddir(directory);
  while (const dirent* entry = ::readdir(directory))
    entries_.push_back({entry->d_ino, entry->d_type, entry->d_name});
  ::closedir(directory);
  std::sort(entries_.begin(), entries_.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.name < b.name; });
}

std::int64_t HostFile::next_entry(const ListedFile*& entry) {
  if (!is_directory) return -ENOTDIR;
  if (!has_entries_) read_directory();
  entry = position_ < entries_.size() ? &entries_[position_] : nullptr;
  return 0;
}

// --- StandardStream
// ------------------------------------------------------------------------------------------

StandardStream::StandardStream(int host_fd, std::uint32_t open_flags, Listener listener)
    : OpenFile(open_flags), fd_(host_fd), listener_(std::move(listener)) {
  struct stat info {};
  is_regular_ = can_read() && ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode);
}

std::int64_t StandardStream::read(std::span<std::byte> to) {
  if (!can_read()) return -EBADF;
  was_read_ = true;
  while (true) {
    const ssize_t n = ::read(fd_, to.data(), to.size());
    if (n >= 0 || (errno != EAGAIN && errno != EINTR)) return or_error(n);
    pollfd request{fd_, POLLIN, 0};  // the host's descriptor may be non-blocking; the guest's is not
    ::poll(&request, 1, -1);
  }
}

std::int64_t StandardStream::write(std::span<const std::byte> from) {
  if (!can_write()) return -EBADF;
  // All of it, so that the host's pipe sizes do not show in the guest.
  std::size_t done = fd_ < 0 ? from.size() : 0;
  int error = 0;
  while (done < from.size() && error == 0) {
    const ssize_t n = ::write(fd_, from.data() + done, from.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      pollfd request{fd_, POLLOUT, 0};
      ::poll(&request, 1, -1);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (listener_) listener_(from.first(done));
  if (keeps_written_) written_.append(reinterpret_cast<const char*>(from.data()), done);
  return done == 0 && error != 0 ? -error : static_cast<std::int64_t>(done);
}

std::int64_t StandardStream::pread(std::span<std::byte> to, std::int64_t offset) {
  if (!is_regular_) return -ESPIPE;
  was_read_ = true;
  return or_error(::pread(fd_, to.data(), to.size(), offset));
}

std::int64_t StandardStream::seek(std::int64_t offset, int whence) {
  if (!is_regular_) return -ESPIPE;
  was_read_ = true;
  return or_error(::lseek(fd_, offset, whence));
}

std::int64_t StandardStream::stat(abi::Stat& result) {
  if (is_regular_) return stat_of_host_fd(fd_, result);
  return stat_of_made_up(12, 100 + (can_read() ? 0u : 1u), S_IFIFO | 0600, result);
}

std::uint32_t StandardStream::poll(std::uint32_t events) {
  if (fd_ < 0) return events & PollBits::kOut;
  return host_poll(fd_, events);
}

std::int64_t StandardStream::available() {
  int bytes = 0;
  return ::ioctl(fd_, FIONREAD, &bytes) == 0 ? bytes : -errno;
}

}  // namespace rubato::chip
