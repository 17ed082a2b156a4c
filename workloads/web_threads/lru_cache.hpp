// Contents of files, shared by all threads: the least recently used ones go when there are more bytes than
// allowed. One latch guards the list and all counts, and every use moves a file to the front: as simple
// servers do it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/common/latch.hpp"
#include "workloads/web/site.hpp"

namespace rubato::workloads::web {

class LruCache {
 public:
  LruCache(const Site& site, std::uint64_t bytes) : site_(site), words_(bytes / 8), entries_(site.files()) {}

  /// The file's words; they stay until release().
  const std::uint64_t* acquire(unsigned file);
  void release(unsigned file);

  /// Compares the list with the words that are cached, and with the entries. @throws WrongResult
  void verify() const;

 private:
  static constexpr unsigned kNone = ~0U;
  struct alignas(64) Entry {
    Latch loading;  ///< of the thread that reads the file, while others wait
    std::unique_ptr<std::uint64_t[]> content;
    std::uint64_t uses = 0;
    unsigned users = 0, newer = kNone, older = kNone;
    bool is_in = false;
  };
  void unlink(unsigned file);
  void link(unsigned file);
  void make_room();

  const Site& site_;
  std::uint64_t words_;
  std::vector<Entry> entries_;
  alignas(64) Latch latch_;  // of all but contents
  std::uint64_t used_words_ = 0;
  unsigned newest_ = kNone, oldest_ = kNone;
};

}  // namespace rubato::workloads::web
