// Guest memory in checkpoints: runs of pages with the same attributes, then the pages that are not all zero.
// Pages that show files: Process saves which; of private ones all contents are here, of shared ones none.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "chip/memory/address_space.hpp"
#include "chip/memory/checkpoint_file.hpp"

namespace rubato::chip {
namespace {

constexpr Addr kEnd = ~Addr{0};

/// Pages that the host has memory for, here or swapped out; all others are zero. A read of those would make
/// the host map them, and a reserve can be gigabytes. If the host does not say, every page is read.
class TouchedPages {
 public:
  explicit TouchedPages(const AddressSpace& memory)
      : memory_(memory), file_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~TouchedPages() {
    if (file_ >= 0) ::close(file_);
  }
  TouchedPages(const TouchedPages&) = delete;
  TouchedPages& operator=(const TouchedPages&) = delete;

  bool has(Addr page) {
    if (page < begin_ || page >= end_) ask(page);
    return page >= end_ || (entries_[(page - begin_) >> AddressSpace::kPageBits] >> 62) != 0;
  }

 private:
  static constexpr std::size_t kAsked = 4096;

  void ask(Addr page) {
    begin_ = end_ = page;
    const auto number = reinterpret_cast<std::uintptr_t>(memory_.host(page)) >> AddressSpace::kPageBits;
    const ssize_t got = file_ < 0 ? -1
                                  : ::pread(file_, entries_.data(), sizeof entries_,
                                            static_cast<off_t>(number * sizeof(std::uint64_t)));
    if (got > 0) end_ = page + static_cast<Addr>(got) / sizeof(std::uint64_t) * AddressSpace::kPageBytes;
  }

  const AddressSpace& memory_;
  int file_;
  Addr begin_ = 0, end_ = 0;
  std::array<std::uint64_t, kAsked> entries_{};
};

bool is_zero(const std::byte* page) {
  return page[0] == std::byte{0} && std::memcmp(page, page + 1, AddressSpace::kPageBytes - 1) == 0;
}

}  // namespace

void AddressSpace::save(CheckpointWriter& file) const {
  for (const auto& [begin, end] : regions_) {
    for (Addr run = begin; run < end;) {
      Addr to = run + kPageBytes;
      while (to < end && attributes(to) == attributes(run)) to += kPageBytes;
      file.number(run);
      file.number(to - run);
      file.number(attributes(run));
      run = to;
    }
  }
  file.number(kEnd);
  TouchedPages touched(*this);
  for (const auto& [begin, end] : regions_) {
    for (Addr page = begin; page < end; page += kPageBytes) {
      if (const FileViews::Range* const range = file_views_.at(page); range != nullptr && range->view.file) {
        if (range->view.is_shared || page >= range->shown_end) continue;
      } else if (!touched.has(page) || is_zero(host(page))) {
        continue;
      }
      file.number(page);
      file.bytes(std::span(host(page), kPageBytes));
    }
  }
  file.number(kEnd);
  file.number(peak_pages_);
}

void AddressSpace::restore(CheckpointReader& file) {
  const auto address = [&] {
    const Addr a = file.number();
    if (a != kEnd && (a >= size_ || (a & kPageMask) != 0)) file.refuse_damaged();
    return a;
  };
  const std::map<Addr, Addr> before = regions_;
  for (const auto& [begin, end] : before) unmap(begin, end - begin);
  for (Addr run = address(); run != kEnd; run = address()) {
    const std::uint64_t size = file.number(), rights = file.number();
    if ((size & kPageMask) != 0 || size > size_ - run || rights > 0xff) file.refuse_damaged();
    map(run, size, static_cast<std::uint8_t>(rights));
  }
  for (Addr page = address(); page != kEnd; page = address()) {
    if (attributes(page) == 0) file.refuse_damaged();
    file.bytes(std::span(host(page), kPageBytes));
  }
  peak_pages_ = file.number();
  take_changes();
}

}  // namespace rubato::chip
