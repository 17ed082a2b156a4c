// epoll_create1(): the descriptors that a program watches. Every ready one is reported at every call, also
// those registered as edge-triggered: programs that are written for edges read and write until they would
// wait, and take one report too many for what it is.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "chip/os/open_file.hpp"

namespace rubato::chip {

class EpollSet : public OpenFile {
 public:
  static constexpr std::uint32_t kOneShot = 1u << 30;

  struct Interest {
    std::weak_ptr<OpenFile> file;  ///< gone: its last descriptor was closed, which ends the interest
    std::uint32_t events = 0;      ///< 0: a one-shot interest that has been reported
    std::uint64_t data = 0;        ///< the program's
  };
  using OpenFile::OpenFile;

  /// Each 0 or -errno.
  std::int64_t add(std::int32_t fd, Interest interest);
  std::int64_t modify(std::int32_t fd, const std::shared_ptr<OpenFile>& file, Interest interest);
  std::int64_t remove(std::int32_t fd, const std::shared_ptr<OpenFile>& file);
  /// The watched descriptors, in ascending order.
  std::vector<std::pair<std::int32_t, Interest>> interests();
  /// The descriptor was reported.
  void reported(std::int32_t fd);

  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;

 private:
  std::map<std::int32_t, Interest> interests_;
};

}  // namespace rubato::chip
