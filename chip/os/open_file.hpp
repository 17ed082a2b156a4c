// Files behind guest file descriptors: a host file or directory, a standard stream, a pipe, an event counter,
// random bytes, or a made-up file. Results are those of Linux: a count, or -errno. kWouldBlock means that the
// call has to wait for another guest thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/os/linux_abi.hpp"
#include "chip/os/path_resolver.hpp"

namespace rubato::chip {

inline constexpr std::int64_t kWouldBlock = std::numeric_limits<std::int64_t>::min();

/// The result of a host call, as the guest gets it: -errno if it failed.
inline std::int64_t or_error(std::int64_t result) { return result < 0 ? -errno : result; }

/// Questions and answers of poll(): the bits of POLLIN and friends.
struct PollBits {
  static constexpr std::uint32_t kIn = 1, kOut = 4, kError = 8, kHangUp = 16, kInvalid = 32, kReadNormal = 64,
                                 kWriteNormal = 256, kReadHangUp = 0x2000;
};

/// How often a file has become readable, and writable, anew: an edge-triggered interest is reported once for
/// each.
struct Edges {
  std::uint64_t in = 0, out = 0;
  bool operator==(const Edges&) const = default;
};

/// The process or thread that gets a signal when the file becomes ready (O_ASYNC).
struct FileOwner {
  enum class Kind : std::uint8_t { thread, process, group };
  Kind kind = Kind::process;
  std::int32_t id = 0;      ///< 0: none
  std::int32_t signal = 0;  ///< 0: SIGIO
  Edges seen{};             ///< that the owner has heard of
};

class Socket;

/// A name in a folder, as getdents64() lists it.
struct ListedFile {
  std::uint64_t ino;
  std::uint8_t type;
  std::string name;
};

class OpenFile {
 public:
  explicit OpenFile(std::uint32_t open_flags, std::string file_path = {})
      : flags(open_flags), path(std::move(file_path)) {}
  virtual ~OpenFile() = default;

  virtual std::int64_t read(std::span<std::byte> to);
  virtual std::int64_t write(std::span<const std::byte> from);
  virtual std::int64_t pread(std::span<std::byte> to, std::int64_t offset);
  virtual std::int64_t pwrite(std::span<const std::byte> from, std::int64_t offset);
  virtual std::int64_t seek(std::int64_t offset, int whence);
  virtual std::int64_t stat(abi::Stat& result) = 0;
  virtual std::int64_t truncate(std::int64_t bytes);
  /// Bytes [offset, offset + bytes) become zeros; the length stays.
  virtual std::int64_t punch_hole(std::int64_t offset, std::int64_t bytes);
  virtual std::int64_t sync() { return 0; }
  /// Bytes that can be read without waiting (FIONREAD).
  virtual std::int64_t available() { return -kNotATerminal; }
  /// The bytes that a transfer moves before an address that the program may not use. Linux copies each kind
  /// of data in its own parts: nothing moves, the whole pages before the address, or all bytes before it.
  enum class AtFault : std::uint8_t { nothing, pages, bytes };
  virtual AtFault at_fault() const { return AtFault::nothing; }
  /// The bits of `events` (and always error and hang-up) that are true now.
  virtual std::uint32_t poll(std::uint32_t events) = 0;
  /// Nothing: the host knows, and does not tell.
  virtual std::optional<Edges> edges() const { return std::nullopt; }
  virtual Socket* as_socket() { return nullptr; }
  /// True if poll() may change without any guest thread's doing: the host decides (a terminal, a pipe on
  /// stdin).
  virtual bool waits_for_host() const { return false; }
  /// Next directory entry at or behind the position, or null at the end; advance() goes to the next.
  virtual std::int64_t next_entry(const ListedFile*& entry);
  virtual void advance() {}
  virtual std::int64_t position() const { return 0; }
  virtual int host_fd() const { return -1; }  ///< of host files, whose contents it has
  /// The file of the host whose mode and times are this one's; it may be open for nothing else. -1: none.
  virtual int place_fd() const { return host_fd(); }

  bool can_read() const { return (flags & abi::kPath) == 0 && (flags & abi::kAccessMask) != abi::kWriteOnly; }
  bool can_write() const { return (flags & abi::kPath) == 0 && (flags & abi::kAccessMask) != abi::kReadOnly; }

  std::uint32_t flags;  ///< access mode and status flags, guest encoding
  std::string path;     ///< absolute, when opened; empty: none
  FileOwner owner;
  bool is_directory = false;
  bool may_modify = false;  ///< metadata may be changed: the file lies where the guest may write

 private:
  static constexpr std::int64_t kNotATerminal = 25;  // ENOTTY
};

/// A regular file, directory or device of the host.
class HostFile : public OpenFile {
 public:
  HostFile(OwnedFd fd, std::uint32_t open_flags, std::string file_path);
  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t write(std::span<const std::byte> from) override;
  std::int64_t pread(std::span<std::byte> to, std::int64_t offset) override;
  std::int64_t pwrite(std::span<const std::byte> from, std::int64_t offset) override;
  std::int64_t seek(std::int64_t offset, int whence) override;
  std::int64_t stat(abi::Stat& result) override;
  std::int64_t truncate(std::int64_t bytes) override;
  std::int64_t punch_hole(std::int64_t offset, std::int64_t bytes) override;
  std::int64_t sync() override;
  std::uint32_t poll(std::uint32_t events) override;
  std::int64_t available() override;
  std::int64_t next_entry(const ListedFile*& entry) override;
  void advance() override { ++position_; }
  std::int64_t position() const override { return static_cast<std::int64_t>(position_); }
  int host_fd() const override { return fd_.get(); }
  AtFault at_fault() const override { return AtFault::bytes; }

 private:
  void read_directory();
  OwnedFd fd_;
  // Entries sorted by name: the host's order depends on its file system.
  std::vector<ListedFile> entries_;
  std::size_t position_ = 0;
  bool has_entries_ = false;
};

/// Standard input, output or error: passes bytes through to a host descriptor. To the guest it is a pipe, so
/// that a run prints the same on a terminal and in a pipeline. Exception: a regular file on standard input
/// shows as one (it is an input, and may be mapped and sought).
class StandardStream : public OpenFile {
 public:
  using Listener = std::function<void(std::span<const std::byte>)>;
  /// @param host_fd -1: what is written goes nowhere.
  /// @param listener if set, receives the written bytes.
  StandardStream(int host_fd, std::uint32_t open_flags, Listener listener);
  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t write(std::span<const std::byte> from) override;
  std::int64_t pread(std::span<std::byte> to, std::int64_t offset) override;
  std::int64_t seek(std::int64_t offset, int whence) override;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::int64_t available() override;
  bool waits_for_host() const override { return can_read() && !is_regular_; }
  /// All that was written so far, if it is kept: for checkpoints.
  void keep_written() { keeps_written_ = true; }
  const std::string& written() const { return written_; }
  bool was_read() const { return was_read_; }
  int host_fd() const override { return is_regular_ ? fd_ : -1; }
  AtFault at_fault() const override { return is_regular_ ? AtFault::bytes : AtFault::pages; }

 private:
  int fd_;  // not owned
  Listener listener_;
  std::string written_;
  bool is_regular_ = false, keeps_written_ = false, was_read_ = false;
};

/// The bytes between the two ends of a pipe.
struct PipeBuffer {
  static constexpr std::size_t kUsualCapacity = 65536, kMostCapacity = 1 << 20;
  static constexpr std::size_t kAtomic = 4096;  ///< PIPE_BUF: writes up to here are not split
  std::deque<std::byte> bytes;
  std::size_t capacity = kUsualCapacity;
  int readers = 0, writers = 0;
  std::uint64_t reader_opens = 0, writer_opens = 0;  ///< ends made so far: an open of a FIFO waits for one
  Edges edges;
  std::uint64_t ino = 0;
};

class PipeEnd : public OpenFile {
 public:
  PipeEnd(std::shared_ptr<PipeBuffer> pipe, std::uint32_t open_flags, std::string file_path = {});
  ~PipeEnd() override;
  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t write(std::span<const std::byte> from) override;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::optional<Edges> edges() const override { return pipe_->edges; }
  bool is_same(const PipeEnd& other) const { return pipe_ == other.pipe_; }
  /// Another end, as an open of the pipe by its descriptor's path gives.
  virtual std::shared_ptr<PipeEnd> open_again(std::uint32_t open_flags) const {
    return std::make_shared<PipeEnd>(pipe_, open_flags);
  }
  /// As read(), and the bytes stay.
  std::int64_t peek(std::span<std::byte> to) const;
  /// Bytes that put() takes, kWouldBlock if none, or -EPIPE: nothing reads.
  std::int64_t room() const;
  void put(std::span<const std::byte> from);
  std::size_t capacity() const { return pipe_->capacity; }
  /// F_SETPIPE_SZ. @returns the capacity, which may be more than asked for, or -errno.
  std::int64_t resize(std::uint32_t bytes);
  std::int64_t available() override { return static_cast<std::int64_t>(pipe_->bytes.size()); }
  AtFault at_fault() const override { return AtFault::pages; }

 protected:
  const PipeBuffer& pipe() const { return *pipe_; }
  const std::shared_ptr<PipeBuffer>& shared_pipe() const { return pipe_; }

 private:
  std::shared_ptr<PipeBuffer> pipe_;
};

/// eventfd2().
class EventCounter : public OpenFile {
 public:
  EventCounter(std::uint64_t count, bool is_semaphore, std::uint32_t open_flags);
  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t write(std::span<const std::byte> from) override;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::optional<Edges> edges() const override { return edges_; }

 private:
  std::uint64_t count_;
  Edges edges_;
  bool is_semaphore_;
};

/// /dev/random and /dev/urandom: bytes from the run's seed.
class RandomFile : public OpenFile {
 public:
  RandomFile(Rng& rng, std::uint32_t open_flags, std::string file_path);
  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t write(std::span<const std::byte> from) override;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override { return events & (PollBits::kIn | PollBits::kOut); }
  AtFault at_fault() const override { return AtFault::bytes; }

 private:
  Rng& rng_;
};

/// A made-up file of fixed text (/proc/cpuinfo and the like).
class TextFile : public OpenFile {
 public:
  TextFile(std::string text, std::uint32_t open_flags, std::string file_path);
  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t pread(std::span<std::byte> to, std::int64_t offset) override;
  std::int64_t seek(std::int64_t offset, int whence) override;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override { return events & (PollBits::kIn | PollBits::kOut); }
  AtFault at_fault() const override { return AtFault::bytes; }

 private:
  std::string text_;
  std::size_t position_ = 0;
};

/// The flags by which the host opens what the guest opens with `flags`.
int host_open_flags(std::uint32_t flags);

/// Fills bytes with random ones, in the order every consumer (getrandom, /dev/urandom) uses.
void fill_random(Rng& rng, std::span<std::byte> bytes);

/// The guest's stat of a host one; the host's user appears as the guest's.
inline constexpr std::uint32_t kGuestUser = 1000;
std::int64_t stat_of_host_fd(int fd, abi::Stat& result);
/// The answer for a file that exists in the guest only; `device` tells kinds of such files apart. @returns 0.
std::int64_t stat_of_made_up(std::uint64_t device, std::uint64_t inode, std::uint32_t mode,
                             abi::Stat& result);
std::int64_t stat_of_host_path(int parent, const char* name, abi::Stat& result);

/// Whether the owner's bits of a mode allow all that is asked: bits of R_OK, W_OK and X_OK.
inline bool owner_may(std::uint32_t mode, std::uint32_t asked) { return (asked & ~(mode >> 6) & 7) == 0; }
/// The bits that an open with these flags asks, but for what O_TRUNC asks.
inline std::uint32_t rights_of_access(std::uint32_t flags) {
  const std::uint32_t access = flags & abi::kAccessMask;
  return (access != abi::kWriteOnly ? 4u : 0u) | (access != abi::kReadOnly ? 2u : 0u);
}

}  // namespace rubato::chip
