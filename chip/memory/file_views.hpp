// Files that guest memory shows (mmap): which range shows which bytes of which file. The host's own mappings
// keep a shared view coherent with reads and writes of the file by any process.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Device and inode: two descriptors of one file have the same.
using FileId = std::pair<std::uint64_t, std::uint64_t>;

/// A file of the host that guest memory shows. Its descriptor outlives the guest's.
class MappedFile {
 public:
  /// @param fd becomes its own. @param is_writable it was opened for reading and writing.
  MappedFile(int fd, FileId id, bool is_writable, std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  int fd() const { return fd_; }
  FileId id() const { return id_; }
  bool is_writable() const { return is_writable_; }
  const std::string& path() const { return path_; }
  /// Its length now.
  std::uint64_t bytes() const;

 private:
  int fd_;
  FileId id_;
  bool is_writable_;
  std::string path_;
};

/// The contents of a range of guest memory: bytes of a file from `offset` on.
struct FileView {
  std::shared_ptr<const MappedFile> file;  ///< null: shared memory without a file
  std::uint64_t offset = 0;                ///< of the range's first byte
  bool is_shared = false;  ///< writes go to the file; else pages that are written become private copies
};

/// All views, disjoint. Ranges are whole pages.
class FileViews {
 public:
  struct Range {
    Addr begin = 0, end = 0;
    Addr shown_end = 0;           ///< pages from here on lie behind the end of the file
    std::uint8_t attributes = 0;  ///< those asked for: pages behind the end of the file have no rights
    FileView view;
  };

  bool empty() const { return ranges_.empty(); }
  void add(Range range);
  /// Ranges in [begin, end), cut to it.
  std::vector<Range> in(Addr begin, Addr end) const;
  /// Likewise, and forgets them.
  std::vector<Range> take(Addr begin, Addr end);
  /// Null: the page of `a` shows no file.
  const Range* at(Addr a) const;
  /// at(), if other memory may show the file, too, and see its changes.
  const Range* shared_at(Addr a) const {
    const Range* const range = ranges_.empty() ? nullptr : at(a);
    return range != nullptr && range->view.is_shared && range->view.file != nullptr ? range : nullptr;
  }
  /// Changes each range in [begin, end), after cutting it to that.
  void change(Addr begin, Addr end, const std::function<void(Range&)>& change);
  /// The mapped file with this identity and these rights, or null.
  std::shared_ptr<const MappedFile> find(FileId id, bool is_writable) const;
  /// Guest addresses that show bytes [offset, offset + bytes) of the file, as pairs of begin and end.
  std::vector<std::pair<Addr, Addr>> of(FileId id, std::uint64_t offset, std::uint64_t bytes) const;

 private:
  /// No range lies on both sides of `a` then.
  void cut(Addr a);

  std::map<Addr, Range> ranges_;  // by begin
};

}  // namespace rubato::chip
