// A copy of an address space, for a process that another one forks.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.hpp"
#include "chip/memory/address_space.hpp"

namespace rubato::chip {
namespace {

/// The host's record of which of its own pages hold something: others read as zero, and need no copy.
class HostPages {
 public:
  HostPages() : fd_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~HostPages() {
    if (fd_ >= 0) ::close(fd_);
  }
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  /// False only for a page that nothing has written to.
  bool may_hold(const std::byte* page) {
    if (::sysconf(_SC_PAGESIZE) != static_cast<long>(AddressSpace::kPageBytes)) return true;
    constexpr std::uint64_t kPresentOrSwapped = std::uint64_t{3} << 62;
    const std::uint64_t number = reinterpret_cast<std::uintptr_t>(page) / AddressSpace::kPageBytes;
    if (number - first_ >= count_) {
      const ssize_t got = ::pread(fd_, entries_.data(), sizeof entries_, static_cast<off_t>(number * 8));
      first_ = number;
      count_ = got > 0 ? static_cast<std::uint64_t>(got) / 8 : 0;
      if (count_ == 0) return true;
    }
    return (entries_[number - first_] & kPresentOrSwapped) != 0;
  }

 private:
  int fd_;
  std::uint64_t first_ = 0, count_ = 0;
  std::array<std::uint64_t, 512> entries_{};
};

/// Shared memory without a file, one view, gets a file without a name.
bool share_by_file(AddressSpace& memory, Addr begin, Addr end) {
  const FileViews::Range range = *memory.file_views().at(begin);
  const int fd = ::memfd_create("rubato-shared", MFD_CLOEXEC);
  struct stat status {};
  const std::uint64_t bytes = end - begin;
  if (fd < 0 || ::fstat(fd, &status) != 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    if (fd >= 0) ::close(fd);
    return false;
  }
  const FileView view{std::make_shared<MappedFile>(fd, FileId{status.st_dev, status.st_ino}, true, ""), 0,
                      true};
  HostPages pages;
  for (Addr page = begin; page < end; page += AddressSpace::kPageBytes)
    if (pages.may_hold(memory.host(page)) &&
        ::pwrite(fd, memory.host(page), AddressSpace::kPageBytes, static_cast<off_t>(page - begin)) !=
            static_cast<ssize_t>(AddressSpace::kPageBytes))
      return false;
  return memory.put_under(begin, bytes, range.attributes, view) == 0;
}

/// The number of writable pages among those with these attributes.
std::uint64_t count_writable(const std::uint8_t* first, std::uint64_t pages) {
  return static_cast<std::uint64_t>(
      std::count_if(first, first + pages, [](std::uint8_t page) { return (page & Page::kWrite) != 0; }));
}

}  // namespace

bool AddressSpace::copy_from(AddressSpace& parent) {
  RUBATO_CHECK(size_ == parent.size_ && regions_.empty());
  kept_ = parent.kept_;
  const auto views = parent.file_views_.in(0, size_);
  for (const auto& range : views)
    if (range.view.is_shared && !range.view.file && !share_by_file(parent, range.begin, range.end))
      return false;

  HostPages pages;
  for (const auto& [begin, end] : parent.regions_) {
    map(begin, end - begin, Page::kRead | Page::kWrite);
    for (Addr page = begin; page < end; page += kPageBytes) {
      const FileViews::Range* const shown = parent.file_views_.at(page);
      if (shown == nullptr && pages.may_hold(parent.host(page)))
        std::memcpy(host(page), parent.host(page), kPageBytes);
    }
    std::uint8_t* const first = pages_ + (begin >> kPageBits);
    const std::uint64_t count = (end - begin) >> kPageBits;
    writable_pages_ -= count_writable(first, count);
    std::memcpy(first, parent.pages_ + (begin >> kPageBits), count);
    writable_pages_ += count_writable(first, count);
  }
  for (const auto& range : parent.file_views_.in(0, size_)) {
    if (map_file(range.begin, range.end - range.begin, range.attributes, range.view) != 0) return false;
    const Addr shown_end = file_views_.at(range.begin)->shown_end;
    for (Addr page = range.begin; !range.view.is_shared && page < std::min(shown_end, range.shown_end);
         page += kPageBytes)
      if (std::memcmp(host(page), parent.host(page), kPageBytes) != 0)
        std::memcpy(host(page), parent.host(page), kPageBytes);
  }
  ++generation_;
  ++code_generation_;
  changes_.clear();
  return true;
}

}  // namespace rubato::chip
