// inotify: queues of changes to files. The guest's files are the host's, so a queue is one of the host's: the
// events, their order and how equal ones are merged are Linux's. The numbers of moves are the run's own,
// since the host counts those of all programs.
//
// Changes that the program makes itself are in the queue when its call returns. Those of other programs of
// the host come whenever they come, and a thread that waits for them sees them after the program's next call.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "chip/os/open_file.hpp"
#include "chip/os/path_resolver.hpp"

namespace rubato::chip {

/// All queues of a run.
struct InotifyQueues {
  static constexpr std::size_t kMostMoves = 1024;

  /// The run's number of a move that the host has numbered; both halves of a move have one.
  std::uint32_t number_of(std::uint32_t host_cookie);

  int open = 0;  ///< while any is, each call may have made waiting threads ready
  std::uint32_t next = 1;
  std::map<std::uint32_t, std::uint32_t> moves;
};

class InotifyFile final : public OpenFile {
 public:
  /// @param queue a descriptor of the host's that does not block. `queues` outlives it.
  InotifyFile(OwnedFd queue, std::uint32_t open_flags, InotifyQueues& queues);
  ~InotifyFile() override;
  InotifyFile(const InotifyFile&) = delete;
  InotifyFile& operator=(const InotifyFile&) = delete;

  /// -errno, or the number of the watch.
  std::int64_t add(const ResolvedPath& where, std::uint32_t mask);
  std::int64_t remove(std::int32_t watch);

  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t seek(std::int64_t, int) override { return 0; }
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::int64_t available() override { return queued(); }
  /// Bytes of events so far.
  std::optional<Edges> edges() const override {
    return Edges{bytes_read_ + static_cast<std::uint64_t>(queued()), 0};
  }

 private:
  std::int64_t queued() const;

  OwnedFd queue_;
  InotifyQueues& queues_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace rubato::chip
