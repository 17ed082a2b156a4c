// The guest's file descriptors.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

#include "chip/os/open_file.hpp"

namespace rubato::chip {

class FileTable {
 public:
  static constexpr std::int64_t kLimit = 1024;  ///< RLIMIT_NOFILE at the start

  /// RLIMIT_NOFILE, soft and hard. Invariant: most <= most_hard <= kLimit. New descriptors are below `most`.
  /// Open ones stay open.
  std::uint64_t most = kLimit, most_hard = kLimit;

  struct Entry {
    std::shared_ptr<OpenFile> file;
    bool closes_on_exec = false;
  };

  /// The open file of a descriptor, or null.
  std::shared_ptr<OpenFile> find(std::int64_t fd) const {
    return fd >= 0 && fd < size() ? entries_[static_cast<std::size_t>(fd)].file : nullptr;
  }
  Entry* entry(std::int64_t fd) {
    return find(fd) != nullptr ? &entries_[static_cast<std::size_t>(fd)] : nullptr;
  }
  /// Lowest free descriptor at or above `from`, or -EMFILE.
  std::int64_t install(std::shared_ptr<OpenFile> file, bool closes_on_exec, std::int64_t from = 0) {
    std::int64_t fd = from;
    while (fd < size() && entries_[static_cast<std::size_t>(fd)].file) ++fd;
    if (fd >= static_cast<std::int64_t>(most)) return -EMFILE;
    put(fd, {std::move(file), closes_on_exec});
    return fd;
  }
  bool has_room() const {
    const auto end = entries_.begin() + std::min(size(), static_cast<std::int64_t>(most));
    return size() < static_cast<std::int64_t>(most) ||
           std::any_of(entries_.begin(), end, [](const Entry& entry) { return entry.file == nullptr; });
  }
  /// As an exec does.
  void close_on_exec() {
    for (Entry& entry : entries_)
      if (entry.closes_on_exec) entry = {};
  }
  /// fd in [0, kLimit).
  void put(std::int64_t fd, Entry entry) {
    if (fd >= size()) entries_.resize(static_cast<std::size_t>(fd) + 1);
    entries_[static_cast<std::size_t>(fd)] = std::move(entry);
  }
  bool close(std::int64_t fd) {
    if (find(fd) == nullptr) return false;
    entries_[static_cast<std::size_t>(fd)] = {};
    return true;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace rubato::chip
