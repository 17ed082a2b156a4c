// Memory that shows files: what is mapped for mmap(), and what system calls on files owe to it. The contents
// are one, as the host maps the file itself; rights at the end of the file, conflicts of attempts and the
// replay of tasks have to be told.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::int32_t kBusAddress = 2;  // BUS_ADRERR

// A mapping keeps its file open, also when the program has closed it: a program may have more of them than
// the host lets this process open at first.
int duplicate(int fd) {
  int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  rlimit limit{};
  if (copy < 0 && errno == EMFILE && ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  }
  return copy;
}

// A file that the simulator makes up: its text, as a file of the host.
std::int64_t copy_to_host(OpenFile& file, OwnedFd& result) {
  constexpr std::size_t kPiece = 65536;
  result = OwnedFd(::memfd_create("rubato-text", MFD_CLOEXEC));
  if (!result) return -errno;
  std::vector<std::byte> piece(kPiece);
  for (std::int64_t at = 0;;) {
    const std::int64_t got = file.pread(piece, at);
    if (got <= 0) return got;
    if (::pwrite(result.get(), piece.data(), static_cast<std::size_t>(got), at) != got) return -EIO;
    at += got;
  }
}

FileId id_of(const struct stat& info) { return {info.st_dev, info.st_ino}; }

}  // namespace

std::int64_t Process::Impl::mapped_file(OpenFile& file, std::shared_ptr<const MappedFile>& result) {
  abi::Stat about{};
  if (const auto error = file.stat(about); error < 0) return error;
  if (!S_ISREG(about.mode)) return -ENODEV;
  OwnedFd text;
  if (file.host_fd() < 0)
    if (const auto error = copy_to_host(file, text); error < 0) return error;
  const int fd = text ? text.get() : file.host_fd();
  struct stat info {};
  if (::fstat(fd, &info) != 0) return -errno;
  if ((result = memory.file_views().find(id_of(info), file.can_write()))) return 0;
  const int copy = text ? text.release() : duplicate(fd);
  if (copy < 0) return -errno;
  result = std::make_shared<MappedFile>(copy, id_of(info), file.can_write(), file.path);
  return 0;
}

bool Process::Impl::begin_file_access(OpenFile& file, std::optional<std::int64_t> offset, std::uint64_t bytes,
                                      bool writes) {
  if (memory.file_views().empty() || bytes == 0 || file.host_fd() < 0) return true;
  struct stat info {};
  if (::fstat(file.host_fd(), &info) != 0) return true;
  if (!offset) {
    const bool appends = writes && (file.flags & abi::kAppend) != 0;
    offset = appends ? info.st_size : file.seek(0, SEEK_CUR);
    if (*offset < 0) return true;
  }
  for (const auto& [begin, end] :
       memory.file_views().of(id_of(info), static_cast<std::uint64_t>(*offset), bytes)) {
    if (user.is_bound() && !user.is_unversioned(begin, end - begin)) return false;
    user.announce(begin, end - begin, writes);
  }
  return true;
}

void Process::Impl::file_changed(OpenFile& file) {
  if ((memory.file_views().empty() && kernel.processes.size() == 1) || file.host_fd() < 0) return;
  struct stat info {};
  if (::fstat(file.host_fd(), &info) == 0) file_changed(id_of(info));
}

void Process::Impl::file_changed(FileId id) {
  memory.file_resized(id);
  for (const auto& [begin, end] : memory.file_views().of(id, 0, ~std::uint64_t{0}))
    memory.note_kernel_write(begin, end - begin);
  for (const auto& [other, process] : kernel.processes)
    if (&process->memory != &memory) process->memory.file_resized(id);
}

bool Process::Impl::has_grown(Addr a) {
  const FileViews::Range* const range = memory.file_views().at(a);
  if (range == nullptr || !range->view.file) return false;
  memory.file_resized(FileId{range->view.file->id()});
  return (memory.attributes(a) & Page::kBehindEnd) == 0;
}

void Process::Impl::report_lost_page(Thread& thread) {
  const auto page = memory.take_lost_page();
  if (!page) return;
  if (const FileViews::Range* const range = memory.file_views().at(*page);
      range != nullptr && range->view.file) {
    log(
        fmt::format("{}: the host cannot show a page of the file that thread {} has mapped at {:#x}: another "
                    "process has shortened the file, or its disk is full",
                    range->view.file->path(), thread.tid, *page));
    memory.file_resized(FileId{range->view.file->id()});
  }
  abi::Siginfo siginfo{};
  siginfo.signo = abi::kSigBus;
  siginfo.code = kBusAddress;
  siginfo.address = *page;
  thread.signal_mask &= ~(std::uint64_t{1} << (abi::kSigBus - 1));  // as Linux does with those that must come
  send_signal(&thread, siginfo);
}

// MADV_REMOVE: a hole in the file, or zeros in shared memory without one.
std::int64_t Process::Impl::remove_contents(Addr a, std::uint64_t bytes) {
  const auto ranges = memory.file_views().in(a, a + bytes);
  Addr covered = a;
  for (const auto& range : ranges) {
    if (range.begin != covered) return -EINVAL;
    if (!range.view.is_shared || (range.attributes & Page::kWrite) == 0) return -EACCES;
    covered = range.end;
  }
  if (covered != a + bytes) return -EINVAL;
  if (is_kept(a, bytes)) return -EPERM;
  for (const auto& range : ranges) {
    user.announce(range.begin, range.end - range.begin, true);
    if (!range.view.file) {
      std::fill(memory.host(range.begin), memory.host(range.end), std::byte{0});
      memory.note_kernel_write(range.begin, range.end - range.begin);
      continue;
    }
    if (::fallocate(range.view.file->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(range.view.offset), static_cast<off_t>(range.end - range.begin)) != 0)
      return -errno;
    file_changed(FileId{range.view.file->id()});
  }
  return 0;
}

}  // namespace rubato::chip
