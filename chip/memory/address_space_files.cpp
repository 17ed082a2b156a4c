// Guest memory that shows files: the host maps the file itself over the pages, so that a shared view is
// coherent with reads and writes of the file by construction.
// Invariant: a range of file_views_ is mapped; its pages before shown_end are the host's mapping of the file,
// those from there on are anonymous memory without rights (Page::kBehindEnd), which no access reaches.
// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/memory/lost_pages.hpp"

namespace rubato::chip {
namespace {

std::uint8_t without_rights(std::uint8_t attributes) { return attributes & Page::kUntracked; }

}  // namespace

Addr AddressSpace::shown_end(const FileViews::Range& range) const {
  if (!range.view.file) return range.end;
  const std::uint64_t bytes = range.view.file->bytes();
  if (bytes <= range.view.offset) return range.begin;
  const std::uint64_t pages = (bytes - range.view.offset + kPageMask) & ~kPageMask;
  return range.begin + std::min<std::uint64_t>(pages, range.end - range.begin);
}

int AddressSpace::show(const FileViews::Range& range, Addr begin, Addr end) {
  if (begin == end || !range.view.file) return 0;
  LostPages::watch(base_, size_);
  const bool is_read_only = range.view.is_shared && !range.view.file->is_writable();
  void* shown = mmap(base_ + begin, end - begin, is_read_only ? PROT_READ : PROT_READ | PROT_WRITE,
                     (range.view.is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE) | MAP_FIXED,
                     range.view.file->fd(), static_cast<off_t>(range.view.offset + (begin - range.begin)));
  if (shown == MAP_FAILED) return errno;
  madvise(base_ + begin, end - begin, MADV_DONTDUMP);
  return 0;
}

void AddressSpace::withhold(const FileViews::Range& range) {
  set_attributes(range.shown_end, range.end, without_rights(range.attributes) | Page::kBehindEnd);
}

int AddressSpace::map_file(Addr a, std::uint64_t bytes, std::uint8_t attributes, const FileView& view) {
  map(a, bytes, attributes);
  FileViews::Range range{a, a + bytes, a, static_cast<std::uint8_t>(attributes & kept_), view};
  range.shown_end = shown_end(range);
  if (const int error = show(range, a, range.shown_end); error != 0) {
    unmap(a, bytes);
    return error;
  }
  withhold(range);
  if (range.shown_end != range.end && kernel_observer_ != nullptr)
    kernel_observer_->on_protect(range.shown_end, range.end - range.shown_end, without_rights(attributes));
  if (view.file) note_kernel_write(a, range.shown_end - a);
  file_views_.add(std::move(range));
  return 0;
}

int AddressSpace::put_under(Addr a, std::uint64_t bytes, std::uint8_t attributes, const FileView& view) {
  RUBATO_CHECK(all_mapped(a, bytes));
  if (!view.file) {
    file_views_.add({a, a + bytes, a + bytes, attributes, view});
    return 0;
  }
  if (view.is_shared) return map_file(a, bytes, attributes, view);
  std::vector<std::byte> kept(bytes);
  std::memcpy(kept.data(), host(a), bytes);
  if (const int error = map_file(a, bytes, attributes, view); error != 0) return error;
  const Addr end = file_views_.at(a)->shown_end;
  for (Addr page = a; page < end; page += kPageBytes)
    if (std::memcmp(host(page), kept.data() + (page - a), kPageBytes) != 0)
      std::memcpy(host(page), kept.data() + (page - a), kPageBytes);
  return 0;
}

void AddressSpace::file_resized(FileId id) {
  std::vector<std::pair<FileViews::Range, Addr>> changed;
  file_views_.change(0, kSize, [&](FileViews::Range& range) {
    if (!range.view.file || range.view.file->id() != id) return;
    const Addr now = shown_end(range);
    if (now != range.shown_end) changed.emplace_back(range, now);
  });
  for (auto& [range, now] : changed) {
    const Addr before = range.shown_end;
    const auto [from, to] = std::minmax(before, now);
    announce(from, to - from);
    if ((range.attributes & Page::kExecute) != 0) ++code_generation_;
    // Pages that the host cannot show stay behind the end.
    if (now > before && show(range, before, now) != 0) continue;
    if (now < before) reserve_again(now, before);
    range.shown_end = now;
    set_attributes(range.begin, now, range.attributes);
    withhold(range);
    file_views_.change(range.begin, range.end, [now = now](FileViews::Range& r) { r.shown_end = now; });
    ++generation_;
    note_change(from, to);
    if (kernel_observer_ != nullptr)
      kernel_observer_->on_protect(from, to - from,
                                   now > before ? range.attributes : without_rights(range.attributes));
    if (now > before) note_kernel_write(from, to - from);
  }
}

void AddressSpace::move_view(FileViews::Range range, Addr to) {
  const Addr from = range.begin;
  const std::uint64_t shown = range.shown_end - from;
  range.shown_end = to + shown;
  range.end = to + (range.end - from);
  range.begin = to;
  if (!range.view.file) {
    move_anonymous(from, to, shown);
  } else if (shown != 0) {
    // Private copies of pages move with the host's mapping. If the host refuses, they are copied once more.
    if (!range.view.is_shared &&
        mremap(base_ + from, shown, shown, MREMAP_MAYMOVE | MREMAP_FIXED, base_ + to) != MAP_FAILED) {
      reserve_again(from, from + shown);
    } else {
      RUBATO_CHECK(show(range, to, range.shown_end) == 0, "the host does not show a file a second time");
      if (!range.view.is_shared) std::memcpy(host(to), host(from), shown);
    }
  }
  set_attributes(to, range.end, range.attributes);
  withhold(range);
  file_views_.add(std::move(range));
}

std::uint8_t AddressSpace::asked_attributes(Addr a) const {
  const std::uint8_t seen = attributes(a);
  if ((seen & Page::kBehindEnd) == 0) return seen;
  const FileViews::Range* const range = file_views_.at(a);
  return range != nullptr ? static_cast<std::uint8_t>(range->attributes | Page::kMapped) : seen;
}

bool AddressSpace::host_can_write(Addr a, std::uint64_t bytes) const {
  const auto ranges = file_views_.in(a & ~kPageMask, (a + bytes + kPageMask) & ~kPageMask);
  return std::none_of(ranges.begin(), ranges.end(), [](const FileViews::Range& range) {
    return range.view.file && range.view.is_shared && !range.view.file->is_writable();
  });
}

std::optional<Addr> AddressSpace::take_lost_page() {
  if (file_views_.empty()) return std::nullopt;
  const std::byte* const page = LostPages::take(base_);
  if (page == nullptr) return std::nullopt;
  return static_cast<Addr>(page - base_);
}

}  // namespace rubato::chip
