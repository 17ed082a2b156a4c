// Contents of files, shared by all event loops: a latch a file, and a clock hand that frees files which were
// not used since it last came by. A use writes to the file's own entry alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/common/latch.hpp"
#include "workloads/web/site.hpp"

namespace rubato::workloads::web {

class ClockCache {
 public:
  ClockCache(const Site& site, std::uint64_t bytes)
      : site_(site), words_(bytes / 8), entries_(site.files()) {}

  /// The file's words; they stay until release().
  const std::uint64_t* acquire(unsigned file);
  void release(unsigned file);

  /// @param users how many have acquired files now. @throws WrongResult
  void verify(std::uint64_t users) const;

 private:
  struct alignas(64) Entry {
    Latch latch;
    bool was_used = false;
    unsigned users = 0;
    std::unique_ptr<std::uint64_t[]> content;
  };
  void make_room();

  const Site& site_;
  std::uint64_t words_;
  std::vector<Entry> entries_;
  alignas(64) std::atomic<std::uint64_t> used_words_{0};
  alignas(64) Latch hand_latch_;
  unsigned hand_ = 0;
};

}  // namespace rubato::workloads::web
