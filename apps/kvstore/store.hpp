// The key-value store of Espresso, Sec. VI-D: an index of all tuples, frames for those that are in memory,
// and a file that has the others. Tasks share it (kvstore_tasks.cpp); here is what is done outside tasks:
// filling it before, and reading it afterwards.
//   index    a hash table, four entries a line: a key, and a word {frame or none, dirty, referenced, count}.
//            No key is ever entered or removed by tasks; of an entry only the word changes.
//   frames   of a tuple each, tracked memory. Frame f is of partition f % partitions; `owners` of a
//            partition are touched by its evictions alone, which its locale keeps apart.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/kvstore/tuple.hpp"
#include "base/line_allocator.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::kvstore {

using Word = tracked<std::uint64_t>;

/// The way a query gets a tuple that is not in memory.
enum class Variant : std::uint8_t {
  capsule,  ///< its task, in a capsule; a later task evicts (the publication's `capsule`)
  promote,  ///< its task by itself, which is promoted for that (the publication's `spec`)
  memory,   ///< none: all tuples are in memory
};

struct Size {
  std::uint32_t tuples = 1024;
  std::uint32_t frames = 0;  ///< 0: 15 of 16 tuples, and the free ones
  std::uint32_t free = 32;   ///< frames that are free at first, and I/O buffers
};

/// The word of an entry.
struct Place {
  static constexpr std::uint32_t kNoFrame = ~std::uint32_t{0};
  static constexpr std::uint64_t kDirty = std::uint64_t{1} << 32, kReferenced = kDirty << 1,
                                 kCount = kDirty << 2;
  static std::uint32_t frame(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  static bool has_frame(std::uint64_t word) { return frame(word) != kNoFrame; }
  /// The next word of an entry that had `before`: counts on, so that no word comes twice.
  static std::uint64_t next(std::uint64_t before, std::uint32_t frame, std::uint64_t flags) {
    return ((before & ~(kCount - 1)) + kCount) | flags | frame;
  }
};

struct Entry {
  static constexpr Key kFree = ~Key{0};
  tracked<Key> key = kFree;
  Word word = Place::next(0, Place::kNoFrame, 0);
};

class Store {
 public:
  static constexpr std::uint32_t kMostPartitions = 64;

  /// Fills it. `path`: of the file, which is made anew; empty: a file in memory.
  /// @throws InputError if the file cannot be made or written.
  Store(const Size& size, Variant variant, const std::string& path);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  std::uint32_t tuples() const { return size_.tuples; }
  std::uint32_t frames() const { return size_.frames; }
  std::uint32_t free_frames() const { return size_.free; }
  std::uint32_t in_use() const { return in_use_; }  ///< frames, before tasks
  std::uint32_t partitions() const { return partitions_; }
  int file() const { return file_; }  ///< open with O_DIRECT, if its file system has that; -1: `memory`
  const std::string& path() const { return path_; }

  // For tasks.
  std::uint32_t find(Key key) const {
    for (std::uint64_t at = mix64(key) & mask_;; at = (at + 1) & mask_)
      for (std::uint64_t i = at * kEntriesPerLine; i < (at + 1) * kEntriesPerLine; ++i)
        if (entries_[i].key == key) return static_cast<std::uint32_t>(i);
  }
  Entry& entry(std::uint32_t number) { return entries_[number]; }
  Word* frame(std::uint32_t number) { return frames_.data() + std::uint64_t{number} * kWords; }
  std::uint32_t partition_of(std::uint32_t frame) const { return frame % partitions_; }
  /// The number of a frame's entry and one more; 0: it is free, or about to be given to one.
  tracked<std::uint32_t>& owner(std::uint32_t frame) {
    return owners_[frame % partitions_ * owners_per_partition_ + frame / partitions_];
  }
  /// The clock of a partition: how often it has gone on.
  tracked<std::uint64_t>& hand(std::uint32_t partition) { return hands_[partition * kWordsPerLine]; }

  // After tasks.
  /// Copies a tuple, from where it is. @throws InputError if it cannot be read.
  void read(Key key, std::uint64_t* to);
  /// The file is used without O_DIRECT from now on.
  void leave_disk();

 private:
  static constexpr std::uint32_t kEntriesPerLine = 4, kWordsPerLine = 8;

  void make_file();
  void fill_frames();

  Size size_;
  std::uint32_t in_use_ = 0, partitions_ = 1, owners_per_partition_ = 0;
  std::string path_;
  int file_ = -1;
  std::uint64_t mask_ = 0;  // of lines of entries
  std::vector<Entry, LineAllocator<Entry>> entries_;
  std::vector<Word, LineAllocator<Word>> frames_;
  std::vector<tracked<std::uint32_t>, LineAllocator<tracked<std::uint32_t>>> owners_;
  std::vector<tracked<std::uint64_t>, LineAllocator<tracked<std::uint64_t>>> hands_;
};

/// A failed request of the file in a sentence. @throws InputError always.
[[noreturn]] void fail(const std::string& path, const char* what, Key key, int error);

}  // namespace rubato::apps::kvstore
