// Advisory locks of files: of ranges of bytes (fcntl) and of whole files (flock). The two kinds do not see
// each other, as on Linux. An owner is a process, or an open file, whose locks end with its last descriptor.
// Invariant: no two locks of one owner and kind overlap.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "chip/memory/file_views.hpp"
#include "chip/os/open_file.hpp"

namespace rubato::chip {

/// Nothing: a file without an identity on the host, which no other process locks.
std::optional<FileId> id_of(const OpenFile& file);

class FileLocks {
 public:
  static constexpr std::uint64_t kEnd = std::uint64_t{1}
                                        << 63;  ///< behind the last byte that a file can have

  enum class Kind : std::uint8_t { range, whole };
  struct Lock {
    Kind kind = Kind::range;
    FileId file{};
    int pid = 0;                                ///< the owner; 0: an open file
    std::weak_ptr<const OpenFile> open_file{};  ///< the owner, if that is one
    std::uint64_t begin = 0, end = kEnd;        ///< not empty
    bool is_exclusive = false;
  };

  /// The first lock of another owner that `wanted` cannot be beside, or null. Valid until the next call.
  const Lock* conflict(const Lock& wanted);
  /// Its owner has it now, in place of what it had in that range. There is no conflict.
  void put(const Lock& lock);
  /// The owner of `lock` has none in its range. @returns true if it had.
  bool remove(const Lock& lock);
  /// The process has closed a descriptor of the file, or has ended: its own locks go.
  void release(int pid, FileId file);
  void release(int pid);
  bool empty() const { return locks_.empty(); }
  /// Whether anything of the file is locked, by whatever owner.
  bool is_locked(FileId file);

 private:
  static bool is_of_same(const Lock& a, const Lock& b);
  void forget_closed();

  std::vector<Lock> locks_;
};

}  // namespace rubato::chip
