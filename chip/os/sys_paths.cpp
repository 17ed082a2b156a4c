// System calls on paths. Every path goes through PathResolver; a change of anything outside of the working
// directory or sandbox is refused. Every host call acts on a walked directory and does not follow links.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

using Follow = PathResolver::Follow;

constexpr std::uint32_t kModes = 07777, kSetIds = 06000, kSticky = 01000;
constexpr std::uint32_t kNoAutomount = 0x800;  // of calls by path: nothing is mounted by its use

Follow follow_unless(bool no_follow) { return no_follow ? Follow::no : Follow::yes; }

// The owner's bits tell what the guest may do with its own files, on every host: one where Rubato runs as
// root would refuse nothing. For other files the host tells.
bool lacks_right(const abi::Stat& info, std::uint32_t asked) {
  return info.uid == kGuestUser && !S_ISLNK(info.mode) && !owner_may(info.mode, asked);
}

std::uint32_t rights_of_open(std::uint32_t flags) {
  return rights_of_access(flags) | ((flags & abi::kTruncate) != 0 ? W_OK : 0u);
}

// The canonical path of an open directory, which may have been renamed since.
std::string current_path(const OpenFile& file) {
  std::array<char, PATH_MAX> text;
  const std::string link = "/proc/self/fd/" + std::to_string(file.host_fd());
  const ssize_t length = ::readlink(link.c_str(), text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : file.path;
}

}  // namespace

std::int64_t Process::Impl::resolve(std::int32_t from, std::string_view path, Follow follow,
                                    ResolvedPath& result) {
  if (path.empty()) return -ENOENT;
  if (path.front() == '/' || from == abi::kAtCwd) return resolver.resolve(directory, path, follow, result);
  const auto file = files.find(from);
  if (!file) return -EBADF;
  if (!file->is_directory) return -ENOTDIR;
  return resolver.resolve(current_path(*file), path, follow, result);
}

std::int64_t Process::Impl::resolve(Call& call, unsigned from, unsigned path, Follow follow,
                                    ResolvedPath& result) {
  const auto text = user.string(call.a[path], PATH_MAX);
  if (!text) return -EFAULT;
  return resolve(call.i32(from), *text, follow, result);
}

std::int64_t Process::Impl::resolve_for_change(Call& call, unsigned from, unsigned path, Follow follow,
                                               ResolvedPath& result) {
  if (const auto error = resolve(call, from, path, follow, result); error < 0) return error;
  if (result.is_virtual) return -EACCES;
  if (result.is_device || !resolver.may_write(result)) return resolver.refuse("change", result.absolute);
  return 0;
}

// --- open
// ----------------------------------------------------------------------------------------------------

std::int64_t Process::Impl::open_path(Call* call, std::int32_t from, const std::string& path,
                                      std::uint32_t flags, std::uint32_t mode) {
  if ((flags & abi::kAccessMask) == 3) return -EINVAL;
  if ((flags & abi::kTemporary) != 0) return -EOPNOTSUPP;
  if (!files.has_room()) return -EMFILE;  // before a file is made or cut
  const bool no_follow =
      (flags & abi::kNoFollow) != 0 || ((flags & abi::kCreate) != 0 && (flags & abi::kExclusive) != 0);
  const bool is_cloexec = (flags & abi::kCloseOnExec) != 0;
  const std::uint32_t kept = flags & (abi::kAccessMask | abi::kAppend | abi::kNonBlock | abi::kDirect |
                                      abi::kPath | abi::kDirectory);
  ResolvedPath where;
  if (const auto error = resolve(from, path, follow_unless(no_follow), where); error < 0) return error;
  if (where.is_virtual) {
    std::int64_t error = -ENOENT;
    auto file = open_made_up(where.absolute, flags, error);
    return file ? install(std::move(file), is_cloexec) : error;
  }

  abi::Stat info{};
  const std::int64_t missing = stat_of_host_path(where.parent.get(), where.name.c_str(), info);
  if (missing < 0 && (missing != -ENOENT || (flags & abi::kCreate) == 0)) return missing;
  if (where.wants_directory && (flags & abi::kCreate) != 0) return -EISDIR;
  if (where.wants_directory) flags |= abi::kDirectory;
  if (where.absolute == "/dev/tty" && (flags & abi::kPath) == 0) return -ENXIO;  // it has no terminal
  const bool may_write = resolver.may_write(where);
  const bool changes = (flags & abi::kPath) == 0 && ((flags & abi::kAccessMask) != abi::kReadOnly ||
                                                     (flags & abi::kTruncate) != 0 || missing < 0);
  if (changes && !may_write) return resolver.refuse("write", where.absolute);
  if (missing == 0) {
    if (where.absolute == "/dev/random" || where.absolute == "/dev/urandom")
      return install(std::make_shared<RandomFile>(rng, kept, where.absolute), is_cloexec);
    if (S_ISFIFO(info.mode) && (flags & abi::kPath) == 0) {
      const FileId id{info.dev, info.ino};
      if (call != nullptr && kernel.fifos.has(id)) return open_fifo(*call, where, id, flags);
      if ((flags & abi::kNonBlock) == 0)
        log(fmt::format(
            "opens the FIFO {}, which this run has not made: the run stands still until a program "
            "of the host has opened its other end",
            where.absolute));
    }
    if ((flags & abi::kPath) == 0 && lacks_right(info, rights_of_open(flags))) return -EACCES;
    const bool is_device = S_ISCHR(info.mode) || S_ISBLK(info.mode);
    if (is_device && !where.is_device && (flags & abi::kPath) == 0) {
      log(fmt::format("refused to open the device {}", where.absolute));
      return -EACCES;
    }
  }
  if (missing < 0)
    if (const auto error = check_mode(S_IFREG, mode, where.absolute); error < 0) return error;
  // For a FIFO of the host: of all other files Rubato's own descriptors wait, if they can.
  const int as_fifo = S_ISFIFO(info.mode) && (flags & abi::kNonBlock) != 0 ? O_NONBLOCK : 0;
  OwnedFd fd(::openat(where.parent.get(), where.name.c_str(), host_open_flags(flags) | as_fifo,
                      mode & ~umask & kModes));
  if (!fd) return -errno;
  auto file = std::make_shared<HostFile>(std::move(fd), kept, where.absolute);
  file->may_modify = may_write && !where.is_device;
  if ((flags & abi::kTruncate) != 0) file_changed(*file);
  return install(std::move(file), is_cloexec);
}

std::int64_t Process::Impl::sys_openat(Call& call) {
  if (const auto& opening = call.info.wait.opening) return finish_open(call, *opening);
  const auto path = user.string(call.a[1], PATH_MAX);
  if (!path) return -EFAULT;
  return open_path(&call, call.i32(0), *path, call.u32(2), call.u32(3));
}

// --- status
// --------------------------------------------------------------------------------------------------

std::int64_t Process::Impl::stat_at(Call& call, unsigned from, unsigned path, std::uint32_t flags,
                                    abi::Stat& result) {
  const auto text = user.string(call.a[path], PATH_MAX);
  if (!text) return -EFAULT;
  if (text->empty() && (flags & abi::kAtEmptyPath) != 0) {
    if (call.i32(from) != abi::kAtCwd) {
      const auto file = files.find(call.i32(from));
      return file ? file->stat(result) : -EBADF;
    }
    ResolvedPath here;
    if (const auto error = resolve(abi::kAtCwd, ".", Follow::yes, here); error < 0) return error;
    return stat_of_host_path(here.parent.get(), ".", result);
  }
  ResolvedPath where;
  const bool no_follow = (flags & abi::kAtSymlinkNoFollow) != 0;
  if (const auto error = resolve(call.i32(from), *text, follow_unless(no_follow), where); error < 0)
    return error;
  if (where.is_virtual) {
    std::int64_t error = -ENOENT;
    const auto file = open_virtual(where.absolute, abi::kReadOnly, error);
    return file ? file->stat(result) : error;
  }
  if (const auto error = stat_of_host_path(where.parent.get(), where.name.c_str(), result); error < 0)
    return error;
  return where.wants_directory && !S_ISDIR(result.mode) ? -ENOTDIR : 0;
}

std::int64_t Process::Impl::sys_newfstatat(Call& call) {
  if ((call.u32(3) & ~(abi::kAtSymlinkNoFollow | abi::kAtEmptyPath | kNoAutomount)) != 0) return -EINVAL;
  abi::Stat info{};
  if (const auto error = stat_at(call, 0, 1, call.u32(3), info); error < 0) return error;
  return user.put(call.a[2], info) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_fstat(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  abi::Stat info{};
  if (const auto error = file->stat(info); error < 0) return error;
  return user.put(call.a[1], info) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_statx(Call& call) {
  constexpr std::uint32_t kSync = 0x6000, kReservedMask = 0x80000000;
  const std::uint32_t flags = call.u32(2), known = abi::kAtSymlinkNoFollow | abi::kAtEmptyPath | kNoAutomount;
  if ((flags & ~(known | kSync)) != 0 || (flags & kSync) == kSync || (call.u32(3) & kReservedMask) != 0)
    return -EINVAL;
  abi::Stat info{};
  if (const auto error = stat_at(call, 0, 1, call.u32(2), info); error < 0) return error;
  constexpr std::uint32_t kBasicStats = 0x7ff;
  const auto major_of = [](std::uint64_t dev) { return static_cast<std::uint32_t>(dev >> 8 & 0xfff); };
  const auto minor_of = [](std::uint64_t dev) {
    return static_cast<std::uint32_t>((dev & 0xff) | (dev >> 12 & 0xfff00));
  };
  abi::Statx result{};
  result.mask = kBasicStats;
  result.blksize = static_cast<std::uint32_t>(info.blksize);
  result.nlink = info.nlink;
  result.uid = info.uid;
  result.gid = info.gid;
  result.mode = static_cast<std::uint16_t>(info.mode);
  result.ino = info.ino;
  result.size = static_cast<std::uint64_t>(info.size);
  result.blocks = static_cast<std::uint64_t>(info.blocks);
  result.atime = {info.atime, static_cast<std::uint32_t>(info.atime_nsec), 0};
  result.mtime = {info.mtime, static_cast<std::uint32_t>(info.mtime_nsec), 0};
  result.ctime = {info.ctime, static_cast<std::uint32_t>(info.ctime_nsec), 0};
  result.rdev_major = major_of(info.rdev);
  result.rdev_minor = minor_of(info.rdev);
  result.dev_major = major_of(info.dev);
  result.dev_minor = minor_of(info.dev);
  return user.put(call.a[4], result) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::check_access(const ResolvedPath& where, const abi::Stat& info,
                                         std::uint32_t asked) const {
  if (lacks_right(info, asked)) return -EACCES;
  return or_error(::faccessat(where.parent.get(), where.name.c_str(), static_cast<int>(asked), 0));
}

std::int64_t Process::Impl::sys_faccessat(Call& call) {
  Call same{call.thread, call.info, call.number, {call.a[0], call.a[1], call.a[2], 0, 0, 0}};
  return sys_faccessat2(same);
}

std::int64_t Process::Impl::sys_faccessat2(Call& call) {
  constexpr std::uint32_t kWritable = 2, kAny = 7, kEffective = 0x200;
  if ((call.u32(2) & ~kAny) != 0) return -EINVAL;
  if ((call.u32(3) & ~(kEffective | abi::kAtSymlinkNoFollow | abi::kAtEmptyPath)) != 0) return -EINVAL;
  ResolvedPath where;
  const bool no_follow = (call.u32(3) & abi::kAtSymlinkNoFollow) != 0;
  if (const auto error = resolve(call, 0, 1, follow_unless(no_follow), where); error < 0) return error;
  const bool writes = (call.u32(2) & kWritable) != 0;
  if (where.is_virtual) {
    std::int64_t error = -ENOENT;
    if (!open_virtual(where.absolute, abi::kReadOnly, error)) return error;
    return writes ? -EACCES : 0;
  }
  abi::Stat info{};
  if (const auto error = stat_of_host_path(where.parent.get(), where.name.c_str(), info); error < 0)
    return error;
  if (where.wants_directory && !S_ISDIR(info.mode)) return -ENOTDIR;
  if (writes && !resolver.may_write(where)) return resolver.may_make_files_in(where.absolute) ? 0 : -EACCES;
  if (S_ISLNK(info.mode)) return 0;
  return check_access(where, info, call.u32(2));
}

std::int64_t Process::Impl::sys_readlinkat(Call& call) {
  if (call.i32(3) <= 0) return -EINVAL;
  const auto text = user.string(call.a[1], PATH_MAX);
  if (!text) return -EFAULT;
  std::array<char, PATH_MAX> target;
  std::int64_t length = -EINVAL;
  ResolvedPath where;
  if (const auto error = resolve(call.i32(0), *text, Follow::no, where); error < 0) return error;
  if (where.is_virtual) {
    std::string link;
    if (where.absolute == "/proc/self/exe") {
      link = own_path(options);
    } else if (where.absolute == "/proc/self/cwd") {
      link = directory;
    } else if (where.absolute.starts_with("/proc/self/fd/")) {
      std::int64_t error = -ENOENT;
      const auto file = open_virtual(where.absolute, abi::kReadOnly, error);
      if (!file) return error;
      Socket* const socket = file->as_socket();
      abi::Stat info{};
      if (const auto failed = file->stat(info); failed < 0) return failed;
      link = socket != nullptr    ? fmt::format("socket:[{}]", socket->number())
             : file->path.empty() ? fmt::format("pipe:[{}]", info.ino)
                                  : file->path;
    }
    std::int64_t error = -ENOENT;
    if (link.empty()) return open_virtual(where.absolute, abi::kReadOnly, error) ? -EINVAL : -ENOENT;
    length = static_cast<std::int64_t>(std::min(link.size(), target.size()));
    std::copy_n(link.begin(), length, target.begin());
  } else {
    length =
        or_error(::readlinkat(where.parent.get(), where.marked_name().c_str(), target.data(), target.size()));
  }
  if (length < 0) return length;
  length = std::min<std::int64_t>(length, call.i32(3));
  return user.write(call.a[2], target.data(), static_cast<std::uint64_t>(length)) ? length : -EFAULT;
}

// A plain file system of a fixed size: the host's numbers change from run to run.
std::int64_t Process::Impl::sys_statfs(Call& call) {
  Call same{
      call.thread, call.info, call.number, {static_cast<std::uint64_t>(abi::kAtCwd), call.a[0], 0, 0, 0, 0}};
  abi::Stat info{};
  if (const auto error = stat_at(same, 0, 1, 0, info); error < 0) return error;
  const std::uint64_t result[15] = {0xef53,   4096,     1u << 24, 1u << 23, 1u << 23,
                                    1u << 20, 1u << 19, 0,        255,      4096};
  return user.write(call.a[1], result, sizeof result) ? 0 : -EFAULT;
}
std::int64_t Process::Impl::sys_fstatfs(Call& call) {
  if (!files.find(call.i32(0))) return -EBADF;
  const std::uint64_t result[15] = {0xef53,   4096,     1u << 24, 1u << 23, 1u << 23,
                                    1u << 20, 1u << 19, 0,        255,      4096};
  return user.write(call.a[1], result, sizeof result) ? 0 : -EFAULT;
}

// --- the working directory
// -----------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_getcwd(Call& call) {
  const std::uint64_t bytes = directory.size() + 1;
  if (call.a[1] < bytes) return call.a[1] == 0 ? -EINVAL : -ERANGE;
  return user.write(call.a[0], directory.c_str(), bytes) ? static_cast<std::int64_t>(bytes) : -EFAULT;
}

std::int64_t Process::Impl::sys_chdir(Call& call) {
  const auto path = user.string(call.a[0], PATH_MAX);
  if (!path) return -EFAULT;
  ResolvedPath where;
  if (const auto error = resolve(abi::kAtCwd, *path, Follow::yes, where); error < 0) return error;
  if (where.is_virtual) return -EACCES;
  abi::Stat info{};
  if (const auto error = stat_of_host_path(where.parent.get(), where.name.c_str(), info); error < 0)
    return error;
  if (!S_ISDIR(info.mode)) return -ENOTDIR;
  if (const auto error = check_access(where, info, X_OK); error < 0) return error;
  directory = where.absolute;
  return 0;
}

std::int64_t Process::Impl::sys_fchdir(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file) return -EBADF;
  if (!file->is_directory) return -ENOTDIR;
  const std::string path = current_path(*file);
  if (!resolver.may_read(path)) return resolver.refuse("enter", path);
  directory = path;
  return 0;
}

std::int64_t Process::Impl::sys_umask(Call& call) {
  const std::uint32_t old = umask;
  umask = call.u32(0) & 0777;
  return old;
}

// --- changes
// -------------------------------------------------------------------------------------------------

// The host drops set-ID bits of the mode that mkdir() gets, and so do programs' own systems.
std::int64_t Process::Impl::sys_mkdirat(Call& call) {
  ResolvedPath where;
  if (const auto error = resolve_for_change(call, 0, 1, Follow::never, where); error < 0) return error;
  return or_error(
      ::mkdirat(where.parent.get(), where.marked_name().c_str(), call.u32(2) & ~umask & (0777 | kSticky)));
}

// Regular files, FIFOs, and files of sockets without one. As under Linux, devices are the superuser's.
std::int64_t Process::Impl::sys_mknodat(Call& call) {
  const std::uint32_t kind = (call.u32(2) & S_IFMT) == 0 ? S_IFREG : call.u32(2) & S_IFMT;
  if (kind == S_IFCHR || kind == S_IFBLK || kind == S_IFDIR) return -EPERM;
  if (kind != S_IFREG && kind != S_IFIFO && kind != S_IFSOCK) return -EINVAL;
  ResolvedPath where;
  if (const auto error = resolve_for_change(call, 0, 1, Follow::never, where); error < 0) return error;
  const std::uint32_t mode = call.u32(2) & ~umask & kModes;
  if (const auto error = check_mode(kind, mode, where.absolute); error < 0) return error;
  if (::mknodat(where.parent.get(), where.marked_name().c_str(), kind | mode, 0) != 0) return -errno;
  abi::Stat info{};
  if (kind == S_IFIFO && stat_of_host_path(where.parent.get(), where.name.c_str(), info) == 0)
    kernel.fifos.add({info.dev, info.ino});
  return 0;
}

std::int64_t Process::Impl::sys_unlinkat(Call& call) {
  if ((call.u32(2) & ~abi::kAtRemoveDirectory) != 0) return -EINVAL;
  ResolvedPath where;
  if (const auto error = resolve_for_change(call, 0, 1, Follow::never, where); error < 0) return error;
  const bool removes_directory = (call.u32(2) & abi::kAtRemoveDirectory) != 0;
  return or_error(
      ::unlinkat(where.parent.get(), where.marked_name().c_str(), removes_directory ? AT_REMOVEDIR : 0));
}

std::int64_t Process::Impl::sys_symlinkat(Call& call) {
  const auto target = user.string(call.a[0], PATH_MAX);
  if (!target) return -EFAULT;
  if (target->empty()) return -ENOENT;
  ResolvedPath where;
  if (const auto error = resolve_for_change(call, 1, 2, Follow::never, where); error < 0) return error;
  return or_error(::symlinkat(target->c_str(), where.parent.get(), where.marked_name().c_str()));
}

// The source must be one the guest may write too: a second name for a file elsewhere would be a way out.
std::int64_t Process::Impl::sys_linkat(Call& call) {
  if ((call.u32(4) & ~abi::kAtSymlinkFollow) != 0) return -EINVAL;
  ResolvedPath from, to;
  const bool follows = (call.u32(4) & abi::kAtSymlinkFollow) != 0;
  if (const auto error = resolve_for_change(call, 0, 1, follow_unless(!follows), from); error < 0)
    return error;
  if (const auto error = resolve_for_change(call, 2, 3, Follow::never, to); error < 0) return error;
  return or_error(
      ::linkat(from.parent.get(), from.marked_name().c_str(), to.parent.get(), to.marked_name().c_str(), 0));
}

std::int64_t Process::Impl::sys_renameat(Call& call) {
  Call same{call.thread, call.info, call.number, {call.a[0], call.a[1], call.a[2], call.a[3], 0, 0}};
  return sys_renameat2(same);
}

std::int64_t Process::Impl::sys_renameat2(Call& call) {
  constexpr std::uint32_t kNoReplace = 1, kExchange = 2;
  if ((call.u32(4) & ~(kNoReplace | kExchange)) != 0) return -EINVAL;
  ResolvedPath from, to;
  if (const auto error = resolve_for_change(call, 0, 1, Follow::never, from); error < 0) return error;
  if (const auto error = resolve_for_change(call, 2, 3, Follow::never, to); error < 0) return error;
  return or_error(::syscall(SYS_renameat2, from.parent.get(), from.marked_name().c_str(), to.parent.get(),
                            to.marked_name().c_str(), call.u32(4)));
}

std::int64_t Process::Impl::sys_truncate(Call& call) {
  if (call.i64(1) < 0) return -EINVAL;
  const auto path = user.string(call.a[0], PATH_MAX);
  if (!path) return -EFAULT;
  ResolvedPath where;
  if (const auto error = resolve(abi::kAtCwd, *path, Follow::yes, where); error < 0) return error;
  if (where.is_virtual) return -EACCES;
  if (!resolver.may_write(where)) return resolver.refuse("truncate", where.absolute);
  abi::Stat info{};
  if (const auto error = stat_of_host_path(where.parent.get(), where.name.c_str(), info); error < 0)
    return error;
  if (where.wants_directory && !S_ISDIR(info.mode)) return -ENOTDIR;
  if (!S_ISREG(info.mode)) return S_ISDIR(info.mode) ? -EISDIR : -EINVAL;
  if (lacks_right(info, W_OK)) return -EACCES;
  // As under Linux no file is opened for the call: inotify tells of the change only.
  OwnedFd fd(::openat(where.parent.get(), where.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return -errno;
  HostFile file(std::move(fd), abi::kPath, where.absolute);
  if (!begin_file_access(file, call.i64(1), AddressSpace::kPageBytes, true)) return -EFAULT;
  const std::string walked = fmt::format("/proc/self/fd/{}", file.host_fd());
  const std::int64_t result = or_error(::truncate(walked.c_str(), call.i64(1)));
  file_changed(file);
  return result;
}

// A regular file with a set-ID bit runs as its owner for all users of the host. If that is root, the program
// could leave one behind that is more than the program itself may be.
std::int64_t Process::Impl::check_mode(std::uint32_t kind, std::uint32_t mode, std::string_view path) const {
  if (kind != S_IFREG || (mode & kSetIds) == 0 || ::geteuid() != 0) return 0;
  log(fmt::format(
      "refused to give {} a set-user-ID or set-group-ID bit: Rubato runs as root, and so would the "
      "file",
      path));
  return -EPERM;
}

std::int64_t Process::Impl::sys_fchmod(Call& call) {
  const auto file = files.find(call.i32(0));
  if (!file || (file->flags & abi::kPath) != 0) return -EBADF;
  if (!file->may_modify || file->place_fd() < 0) return -EPERM;
  abi::Stat info{};
  if (const auto error = file->stat(info); error < 0) return error;
  const std::uint32_t mode = call.u32(1) & kModes;
  if (const auto error = check_mode(info.mode & S_IFMT, mode, file->path); error < 0) return error;
  return or_error(::chmod(fmt::format("/proc/self/fd/{}", file->place_fd()).c_str(), mode));
}

std::int64_t Process::Impl::sys_fchmodat(Call& call) {
  call.a[3] = 0;
  return sys_fchmodat2(call);
}

std::int64_t Process::Impl::sys_fchmodat2(Call& call) {
  const std::uint32_t flags = call.u32(3);
  if ((flags & ~(abi::kAtSymlinkNoFollow | abi::kAtEmptyPath)) != 0) return -EINVAL;
  if ((flags & abi::kAtEmptyPath) != 0 && call.i32(0) != abi::kAtCwd) {
    const auto path = user.string(call.a[1], 1);
    if (path && path->empty()) {
      call.a[1] = call.a[2];
      return sys_fchmod(call);
    }
  }
  ResolvedPath where;
  const Follow follow = follow_unless((flags & abi::kAtSymlinkNoFollow) != 0);
  if (const auto error = resolve_for_change(call, 0, 1, follow, where); error < 0) return error;
  abi::Stat info{};
  if (const auto error = stat_of_host_path(where.parent.get(), where.name.c_str(), info); error < 0)
    return error;
  if (S_ISLNK(info.mode)) return -EOPNOTSUPP;
  const std::uint32_t mode = call.u32(2) & kModes;
  if (const auto error = check_mode(info.mode & S_IFMT, mode, where.absolute); error < 0) return error;
  return or_error(::fchmodat(where.parent.get(), where.marked_name().c_str(), mode, 0));
}

// Ownership does not change; asking for what is so already succeeds.
std::int64_t Process::Impl::sys_fchownat(Call& call) {
  ResolvedPath where;
  const bool no_follow = (call.u32(4) & abi::kAtSymlinkNoFollow) != 0;
  if (const auto error = resolve_for_change(call, 0, 1, follow_unless(no_follow), where); error < 0)
    return error;
  abi::Stat info{};
  if (const auto error = stat_of_host_path(where.parent.get(), where.name.c_str(), info); error < 0)
    return error;
  if (where.wants_directory && !S_ISDIR(info.mode)) return -ENOTDIR;
  const auto is_own = [](std::uint32_t id) { return id == kGuestUser || id == 0xffffffff; };
  return is_own(call.u32(2)) && is_own(call.u32(3)) ? 0 : -EPERM;
}
std::int64_t Process::Impl::sys_fchown(Call& call) {
  if (!files.find(call.i32(0))) return -EBADF;
  const auto is_own = [](std::uint32_t id) { return id == kGuestUser || id == 0xffffffff; };
  return is_own(call.u32(1)) && is_own(call.u32(2)) ? 0 : -EPERM;
}

std::int64_t Process::Impl::sys_utimensat(Call& call) {
  abi::Timespec values[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  if (call.a[2] != 0 && !user.read(call.a[2], values, sizeof values)) return -EFAULT;
  struct timespec times[2];
  for (unsigned i = 0; i < 2; ++i) {
    times[i].tv_sec = values[i].seconds;
    times[i].tv_nsec = values[i].nanoseconds;
  }
  if (call.a[1] == 0) {
    const auto file = files.find(call.i32(0));
    if (!file) return -EBADF;
    if (!file->may_modify || file->place_fd() < 0 || (file->flags & abi::kPath) != 0) return -EPERM;
    const std::string place = fmt::format("/proc/self/fd/{}", file->place_fd());
    return or_error(::utimensat(AT_FDCWD, place.c_str(), times, 0));
  }
  ResolvedPath where;
  const bool no_follow = (call.u32(3) & abi::kAtSymlinkNoFollow) != 0;
  if (const auto error = resolve_for_change(call, 0, 1, follow_unless(no_follow), where); error < 0)
    return error;
  return or_error(::utimensat(where.parent.get(), where.marked_name().c_str(), times, AT_SYMLINK_NOFOLLOW));
}

// --- extended attributes: there are none
// ---------------------------------------------------------------------

std::int64_t Process::Impl::no_attribute(Call& call, bool follows, std::int64_t answer) {
  Call same{
      call.thread, call.info, call.number, {static_cast<std::uint64_t>(abi::kAtCwd), call.a[0], 0, 0, 0, 0}};
  abi::Stat info{};
  const auto error = stat_at(same, 0, 1, follows ? 0 : abi::kAtSymlinkNoFollow, info);
  return error < 0 ? error : answer;
}

std::int64_t Process::Impl::sys_setxattr(Call& call) { return no_attribute(call, true, -EOPNOTSUPP); }
std::int64_t Process::Impl::sys_lsetxattr(Call& call) { return no_attribute(call, false, -EOPNOTSUPP); }
std::int64_t Process::Impl::sys_fsetxattr(Call& call) { return sys_fgetxattr(call); }
std::int64_t Process::Impl::sys_getxattr(Call& call) { return no_attribute(call, true, -EOPNOTSUPP); }
std::int64_t Process::Impl::sys_lgetxattr(Call& call) { return no_attribute(call, false, -EOPNOTSUPP); }
std::int64_t Process::Impl::sys_fgetxattr(Call& call) {
  return files.find(call.i32(0)) ? -EOPNOTSUPP : -EBADF;
}
std::int64_t Process::Impl::sys_listxattr(Call& call) { return no_attribute(call, true, 0); }
std::int64_t Process::Impl::sys_llistxattr(Call& call) { return no_attribute(call, false, 0); }
std::int64_t Process::Impl::sys_flistxattr(Call& call) { return files.find(call.i32(0)) ? 0 : -EBADF; }
std::int64_t Process::Impl::sys_removexattr(Call& call) { return no_attribute(call, true, -EOPNOTSUPP); }
std::int64_t Process::Impl::sys_lremovexattr(Call& call) { return no_attribute(call, false, -EOPNOTSUPP); }
std::int64_t Process::Impl::sys_fremovexattr(Call& call) { return sys_fgetxattr(call); }

}  // namespace rubato::chip
