// Guest memory on the host: two anonymous mappings without reserve (memory, page attributes) and the list of
// mapped ranges, from which free ones are found.
// SPDX-License-Identifier: MIT
#include "chip/memory/address_space.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/check.hpp"
#include "base/error.hpp"
#include "chip/memory/lost_pages.hpp"

namespace rubato::chip {
namespace {

// A page behind the end: loads and stores are checked by their first and last byte, but a host compiler may
// legally touch no further than that; the page only makes a bug here fault instead of corrupt.
constexpr std::uint64_t kGuardBytes = AddressSpace::kPageBytes;
constexpr std::uint64_t kPages = AddressSpace::kSize >> AddressSpace::kPageBits;

void* reserve(std::uint64_t bytes, int protection, const char* what) {
  void* range = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    throw Error(ExitCode::usage, fmt::format("cannot reserve {} MiB of address space for {}: {} (is a ulimit "
                                             "-v set? run.address_bits=35 needs less)",
                                             bytes >> 20, what, std::strerror(errno)));
  return range;
}

bool any_executable(const std::uint8_t* pages, Addr a, std::uint64_t bytes) {
  const std::uint8_t* first = pages + (a >> AddressSpace::kPageBits);
  return std::any_of(first, first + (bytes >> AddressSpace::kPageBits),
                     [](std::uint8_t page) { return (page & Page::kExecute) != 0; });
}

std::uint64_t count_writable(const std::uint8_t* pages, Addr a, std::uint64_t bytes) {
  const std::uint8_t* first = pages + (a >> AddressSpace::kPageBits);
  return static_cast<std::uint64_t>(
      std::count_if(first, first + (bytes >> AddressSpace::kPageBits),
                    [](std::uint8_t page) { return (page & Page::kWrite) != 0; }));
}

}  // namespace

AddressSpace::AddressSpace(std::uint64_t size) : size_(size) {
  RUBATO_CHECK(std::has_single_bit(size) && size >> kLeastBits != 0 && size <= kSize);
  base_ = static_cast<std::byte*>(reserve(size_ + kGuardBytes, PROT_READ | PROT_WRITE, "guest memory"));
  try {
    pages_ = static_cast<std::uint8_t*>(reserve(kPages, PROT_READ | PROT_WRITE, "page attributes"));
  } catch (...) {
    munmap(base_, size_ + kGuardBytes);
    throw;
  }
  mprotect(base_ + size_, kGuardBytes, PROT_NONE);
  // A core dump of the simulator need not hold the guest's reserve.
  madvise(base_, size_, MADV_DONTDUMP);
}

AddressSpace::~AddressSpace() {
  LostPages::forget(base_);
  munmap(pages_, kPages);
  munmap(base_, size_ + kGuardBytes);
}

bool AddressSpace::allows_range(Addr a, std::uint64_t bytes, std::uint8_t rights) const {
  if (bytes == 0) return true;
  if (a >= size_ || bytes > size_ - a) return false;
  const Addr last = (a + bytes - 1) >> kPageBits;
  for (Addr page = a >> kPageBits; page <= last; ++page)
    if ((pages_[page] & rights) != rights) return false;
  return true;
}

void AddressSpace::map(Addr a, std::uint64_t bytes, std::uint8_t attributes) {
  RUBATO_CHECK(is_page_range(a, bytes));
  if (bytes == 0) return;
  unmap(a, bytes);
  attributes &= kept_;
  std::memset(pages_ + (a >> kPageBits), attributes | Page::kMapped, bytes >> kPageBits);
  mapped_pages_ += bytes >> kPageBits;
  if (attributes & Page::kWrite) writable_pages_ += bytes >> kPageBits;
  peak_pages_ = std::max(peak_pages_, mapped_pages_);
  ++generation_;
  if (attributes & Page::kExecute) ++code_generation_;

  Addr begin = a, end = a + bytes;
  auto next = regions_.lower_bound(begin);
  if (next != regions_.end() && next->first == end) {
    end = next->second;
    next = regions_.erase(next);
  }
  if (next != regions_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    regions_.emplace(begin, end);
  }
  if (kernel_observer_ != nullptr) kernel_observer_->on_map(a, bytes, attributes);
}

void AddressSpace::unmap(Addr a, std::uint64_t bytes) {
  RUBATO_CHECK(is_page_range(a, bytes));
  if (!none_mapped(a, bytes)) announce(a, bytes);
  const Addr limit = a + bytes;
  auto region = regions_.upper_bound(a);
  if (region != regions_.begin() && std::prev(region)->second > a) --region;
  while (region != regions_.end() && region->first < limit) {
    const auto [begin, end] = *region;
    const Addr from = std::max(begin, a), to = std::min(end, limit);
    region = regions_.erase(region);
    if (begin < from) regions_.emplace(begin, from);
    if (to < end) region = regions_.emplace(to, end).first;
    if (any_executable(pages_, from, to - from)) ++code_generation_;
    writable_pages_ -= count_writable(pages_, from, to - from);
    std::memset(pages_ + (from >> kPageBits), 0, (to - from) >> kPageBits);
    for (const auto& range : file_views_.take(from, to))
      if (range.view.file) reserve_again(range.begin, range.shown_end);
    madvise(base_ + from, to - from, MADV_DONTNEED);
    mapped_pages_ -= (to - from) >> kPageBits;
    ++generation_;
    note_change(from, to);
  }
  if (kernel_observer_ != nullptr) kernel_observer_->on_unmap(a, bytes);
}

void AddressSpace::protect(Addr a, std::uint64_t bytes, std::uint8_t attributes) {
  RUBATO_CHECK(is_page_range(a, bytes) && all_mapped(a, bytes));
  if (bytes == 0) return;
  announce(a, bytes);
  attributes &= kept_;
  if ((attributes & Page::kExecute) || any_executable(pages_, a, bytes)) ++code_generation_;
  set_attributes(a, a + bytes, attributes);
  file_views_.change(a, a + bytes, [&](FileViews::Range& range) {
    range.attributes = attributes;
    withhold(range);
  });
  ++generation_;
  note_change(a, a + bytes);
  if (kernel_observer_ != nullptr) kernel_observer_->on_protect(a, bytes, attributes);
}

void AddressSpace::set_attributes(Addr begin, Addr end, std::uint8_t attributes) {
  if (begin == end) return;
  writable_pages_ -= count_writable(pages_, begin, end - begin);
  if ((attributes & Page::kWrite) != 0) writable_pages_ += (end - begin) >> kPageBits;
  std::memset(pages_ + (begin >> kPageBits), attributes | Page::kMapped, (end - begin) >> kPageBits);
}

std::uint64_t AddressSpace::writable_bytes(Addr a, std::uint64_t bytes) const {
  RUBATO_CHECK(is_page_range(a, bytes));
  return count_writable(pages_, a, bytes) * kPageBytes;
}

// Fast-forward may change mappings without end: beyond some ranges, one that covers them all does.
void AddressSpace::note_change(Addr begin, Addr end) {
  constexpr std::size_t kMost = 1024;
  changes_.emplace_back(begin, end);
  if (changes_.size() <= kMost) return;
  std::pair<Addr, Addr> all = changes_.front();
  for (const auto& [b, e] : changes_) all = {std::min(all.first, b), std::max(all.second, e)};
  changes_.assign(1, all);
}

void AddressSpace::mark_worker_stack(Addr low, Addr high, bool is_worker_stack) {
  if (is_worker_stack) {
    worker_stacks_[low] = high;
  } else {
    worker_stacks_.erase(low);
  }
  for (Addr page = low >> kPageBits; page <= (high - 1) >> kPageBits; ++page) {
    if (is_worker_stack) {
      pages_[page] |= Page::kWorkerStack;
    } else {
      pages_[page] &= static_cast<std::uint8_t>(~Page::kWorkerStack);
    }
  }
}

bool AddressSpace::is_in_worker_stack(Addr a) const {
  if ((attributes(a) & Page::kWorkerStack) == 0) return false;
  auto stack = worker_stacks_.upper_bound(a);
  return stack != worker_stacks_.begin() && a < std::prev(stack)->second;
}

bool AddressSpace::all_mapped(Addr a, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  auto region = regions_.upper_bound(a);
  if (region == regions_.begin()) return false;
  --region;
  return region->second > a && bytes <= region->second - a;
}

bool AddressSpace::none_mapped(Addr a, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  auto region = regions_.upper_bound(a);
  if (region != regions_.begin() && std::prev(region)->second > a) return false;
  return region == regions_.end() || region->first - a >= bytes;
}

Addr AddressSpace::find_free(std::uint64_t bytes, Addr from, Addr limit) const {
  limit = std::min(limit, size_);
  if (bytes == 0 || from >= limit) return 0;
  Addr candidate = from;
  auto region = regions_.upper_bound(from);
  if (region != regions_.begin() && std::prev(region)->second > from) candidate = std::prev(region)->second;
  for (; region != regions_.end() && region->first - candidate < bytes; ++region) candidate = region->second;
  return candidate < limit && bytes <= limit - candidate ? candidate : 0;
}

void AddressSpace::discard(Addr a, std::uint64_t bytes) {
  RUBATO_CHECK(is_page_range(a, bytes));
  announce(a, bytes);
  if (any_executable(pages_, a, bytes)) ++code_generation_;
  const auto drop = [this](Addr begin, Addr end) {
    if (begin == end) return;
    madvise(base_ + begin, end - begin, MADV_DONTNEED);
    if (kernel_observer_ != nullptr) kernel_observer_->on_discard(begin, end - begin);
  };
  Addr from = a;
  for (const auto& range : file_views_.in(a, a + bytes)) {
    drop(from, range.view.is_shared ? range.begin : range.end);
    if (!range.view.is_shared) note_kernel_write(range.begin, range.shown_end - range.begin);
    from = range.end;
  }
  drop(from, a + bytes);
}

void AddressSpace::reserve_again(Addr begin, Addr end) {
  if (begin == end) return;
  void* hole = mmap(base_ + begin, end - begin, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  RUBATO_CHECK(hole == base_ + begin, "cannot reserve guest memory again");
  madvise(base_ + begin, end - begin, MADV_DONTDUMP);
}

void AddressSpace::move_contents(Addr from, Addr to, std::uint64_t bytes) {
  RUBATO_CHECK(is_page_range(from, bytes) && is_page_range(to, bytes));
  announce(from, bytes);
  if (kernel_observer_ != nullptr) kernel_observer_->on_move(from, to, bytes);
  Addr next = from;
  for (auto& range : file_views_.in(from, from + bytes)) {
    move_anonymous(next, to + (next - from), range.begin - next);
    next = range.end;
    const Addr target = to + (range.begin - from);
    move_view(std::move(range), target);
  }
  move_anonymous(next, to + (next - from), from + bytes - next);
}

void AddressSpace::move_anonymous(Addr from, Addr to, std::uint64_t bytes) {
  if (bytes == 0) return;
  constexpr std::uint64_t kWorthRemapping = std::uint64_t{1} << 20;
  // Moving page tables neither copies nor commits untouched pages; the hole it leaves is reserved again. The
  // host may refuse when it has too many mappings: then the bytes are copied.
  if (bytes >= kWorthRemapping &&
      mremap(base_ + from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, base_ + to) != MAP_FAILED) {
    reserve_again(from, from + bytes);
    return;
  }
  std::memcpy(base_ + to, base_ + from, bytes);
}

}  // namespace rubato::chip
