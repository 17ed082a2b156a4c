// epoll_create1(): the descriptors that a program watches. Every ready one is reported at every call; an
// edge-triggered one again only when it has become readable or writable anew. Of what the host decides
// (standard input) edges are not known: it is reported at every call.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chip/os/open_file.hpp"

namespace rubato::chip {

class EpollSet : public OpenFile {
 public:
  static constexpr std::uint32_t kOneShot = 1u << 30, kEdgeTriggered = 1u << 31;

  struct Interest {
    std::weak_ptr<OpenFile> file;  ///< gone: its last descriptor was closed, which ends the interest
    std::uint32_t events = 0;      ///< 0: a one-shot interest that has been reported
    std::uint64_t data = 0;        ///< the program's
    std::optional<Edges> seen{};   ///< those of its last report

    /// Null: nothing of it is to be reported now, whether it is ready or not.
    std::shared_ptr<OpenFile> watched() const;
  };
  using OpenFile::OpenFile;

  /// Each 0 or -errno.
  std::int64_t add(std::int32_t fd, Interest interest);
  std::int64_t modify(std::int32_t fd, const std::shared_ptr<OpenFile>& file, Interest interest);
  std::int64_t remove(std::int32_t fd, const std::shared_ptr<OpenFile>& file);
  /// The watched descriptors, in ascending order from the one on with which the last report had to end.
  std::vector<std::pair<std::int32_t, Interest>> interests();
  /// The next report begins at or behind the descriptor: it had no room for it.
  void begin_with(std::int32_t fd) { first_ = fd; }
  /// The descriptor was reported.
  void reported(std::int32_t fd);

  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;

 private:
  std::map<std::int32_t, Interest> interests_;
  std::int32_t first_ = 0;
};

}  // namespace rubato::chip
