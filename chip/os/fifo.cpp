// SPDX-License-Identifier: MIT
#include "chip/os/fifo.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {

std::shared_ptr<PipeBuffer> Fifos::pipe_of(FileId id, std::uint64_t number) {
  std::weak_ptr<PipeBuffer>& known = pipes_.at(id);
  auto pipe = known.lock();
  if (pipe == nullptr) {
    pipe = std::make_shared<PipeBuffer>();
    pipe->ino = number;
    known = pipe;
  }
  return pipe;
}

FifoEnd::FifoEnd(std::shared_ptr<PipeBuffer> pipe, OwnedFd place, std::uint32_t open_flags,
                 std::string file_path)
    : PipeEnd(std::move(pipe), open_flags, std::move(file_path)),
      place_(std::move(place)),
      reader_opens_(this->pipe().reader_opens),
      writer_opens_(this->pipe().writer_opens) {}

bool FifoEnd::is_open() const {
  if (can_read() && can_write()) return true;
  // A writer that does not wait has been refused before.
  if ((flags & abi::kNonBlock) != 0) return true;
  return can_read() ? pipe().writers != 0 || pipe().writer_opens != writer_opens_
                    : pipe().readers != 0 || pipe().reader_opens != reader_opens_;
}

std::int64_t FifoEnd::stat(abi::Stat& result) { return stat_of_host_fd(place_.get(), result); }

// A reader that did not wait for the first writer sees no end of the writers before it.
std::uint32_t FifoEnd::poll(std::uint32_t events) {
  const std::uint32_t ready = PipeEnd::poll(events);
  const bool is_before_writers = can_read() && pipe().writers == 0 && pipe().writer_opens == writer_opens_;
  return is_before_writers ? ready & ~PollBits::kHangUp : ready;
}

std::shared_ptr<PipeEnd> FifoEnd::open_again(std::uint32_t open_flags) const {
  OwnedFd place(::fcntl(place_.get(), F_DUPFD_CLOEXEC, 0));
  return std::make_shared<FifoEnd>(shared_pipe(), std::move(place), open_flags, path);
}

// --- system calls
// --------------------------------------------------------------------------------------------

std::int64_t Process::Impl::open_fifo(Call& call, const ResolvedPath& where, FileId id, std::uint32_t flags) {
  if ((flags & abi::kCreate) != 0 && (flags & abi::kExclusive) != 0) return -EEXIST;
  if ((flags & abi::kDirectory) != 0 || where.wants_directory) return -ENOTDIR;
  const std::uint32_t access = flags & abi::kAccessMask;
  const int asked = (access != abi::kWriteOnly ? R_OK : 0) | (access != abi::kReadOnly ? W_OK : 0);
  abi::Stat info{};
  if (const auto error = stat_of_host_path(where.parent.get(), where.name.c_str(), info); error < 0)
    return error;
  if (const auto error = check_access(where, info, static_cast<std::uint32_t>(asked)); error < 0)
    return error;
  OwnedFd place(::openat(where.parent.get(), where.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!place) return -errno;
  auto pipe = kernel.fifos.pipe_of(id, next_pipe++);
  const bool waits = (flags & abi::kNonBlock) == 0;
  if (access == abi::kWriteOnly && !waits && pipe->readers == 0) return -ENXIO;
  const std::uint32_t kept = flags & (abi::kAccessMask | abi::kAppend | abi::kNonBlock | abi::kDirect);
  Opening opening{std::make_shared<FifoEnd>(std::move(pipe), std::move(place), kept, where.absolute),
                  (flags & abi::kCloseOnExec) != 0};
  opening.end->may_modify = resolver.may_write(where);
  files_changed = true;  // an open of the other end may wait for this one
  return finish_open(call, opening);
}

std::int64_t Process::Impl::finish_open(Call& call, const Opening& opening) {
  if (opening.end->is_open()) return install(opening.end, opening.closes_on_exec);
  Wait wait;
  wait.kind = WaitKind::files;
  wait.opening = opening;
  return block(call, wait);
}

}  // namespace rubato::chip
