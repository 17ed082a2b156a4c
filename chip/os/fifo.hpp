// FIFOs: pipes that a file of the host stands for, so that paths lead to them. Their bytes never reach the
// host: it knows the name, the mode and the times only.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "chip/memory/file_views.hpp"
#include "chip/os/open_file.hpp"
#include "chip/os/path_resolver.hpp"

namespace rubato::chip {

/// The FIFOs that the run has made. What an open one holds goes when its last end is closed.
class Fifos {
 public:
  void add(FileId id) { pipes_[id].reset(); }
  bool empty() const { return pipes_.empty(); }
  bool has(FileId id) const { return pipes_.contains(id); }
  /// The pipe of a FIFO that has(); `number`: of a new one.
  std::shared_ptr<PipeBuffer> pipe_of(FileId id, std::uint64_t number);

 private:
  std::map<FileId, std::weak_ptr<PipeBuffer>> pipes_;
};

/// An end of a FIFO.
class FifoEnd final : public PipeEnd {
 public:
  /// @param place the host's file, open for nothing (O_PATH).
  FifoEnd(std::shared_ptr<PipeBuffer> pipe, OwnedFd place, std::uint32_t open_flags, std::string file_path);
  /// As Linux, an open is done when the other end is open, or has been since this one waits for it.
  bool is_open() const;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::shared_ptr<PipeEnd> open_again(std::uint32_t open_flags) const override;
  int place_fd() const override { return place_.get(); }

 private:
  OwnedFd place_;
  const std::uint64_t reader_opens_, writer_opens_;  // of others, when this end was made
};

}  // namespace rubato::chip
