// Guest memory: one reserved host range, guest address a at host base + a, and a flat table of one permission
// byte a page. No translation, no copies: a checked access is one table look-up and one host load or store.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "chip/memory/file_views.hpp"
#include "chip/memory/kernel_observer.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CheckpointReader;  // chip/memory/checkpoint_file.hpp
class CheckpointWriter;

/// Page attributes, or-ed together; 0: not mapped.
struct Page {
  static constexpr std::uint8_t kRead = 1, kWrite = 2, kExecute = 4;
  static constexpr std::uint8_t kUntracked = 8;  ///< neither versioned nor conflict-checked (capsules.md P1)
  static constexpr std::uint8_t kWorkerStack =
      32;  ///< of a worker in a task region: others must not touch it (C7)
  static constexpr std::uint8_t kMapped = 16;  ///< mapped, perhaps without any right (PROT_NONE)
  static constexpr std::uint8_t kBehindEnd =
      64;  ///< shows a file that ends before: no rights until it grows (SIGBUS)
};

class AddressSpace {
 public:
  static constexpr unsigned kBits = 38;       ///< like Sv39 user space
  static constexpr unsigned kLeastBits = 32;  ///< of a smaller one
  static constexpr std::uint64_t kSize = std::uint64_t{1} << kBits;
  static constexpr unsigned kPageBits = 12;
  static constexpr std::uint64_t kPageBytes = std::uint64_t{1} << kPageBits;
  static constexpr std::uint64_t kPageMask = kPageBytes - 1;

  /// Sees what becomes of mapped pages, before it does.
  class Observer {
   public:
    virtual ~Observer() = default;
    /// Pages of [begin, end) lose their contents, their mapping or their rights.
    virtual void before_change(Addr begin, Addr end) = 0;
  };

  /// Reserves the range; nothing is committed. Pages from `size` on can never be mapped: a smaller size is
  /// for hosts that cannot reserve kSize, as valgrind.
  /// @param size a power of two, from 1 << kLeastBits to kSize. @throws Error if the host refuses.
  explicit AddressSpace(std::uint64_t size = kSize);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// From now on nothing is untracked, whatever is asked for (task.capsules=false).
  void track_all() { kept_ = static_cast<std::uint8_t>(~Page::kUntracked); }
  bool tracks_all() const { return (kept_ & Page::kUntracked) == 0; }

  /// Null: no observer. Outlives its use.
  void observe(Observer* observer) { observer_ = observer; }

  std::uint64_t size() const { return size_; }

  /// Attributes of the page of `a`; 0 outside the address space.
  std::uint8_t attributes(Addr a) const { return a < kSize ? pages_[a >> kPageBits] : std::uint8_t{0}; }
  /// True if [a, a + bytes) may be accessed with all of `rights`. bytes in [1, kPageBytes].
  bool allows(Addr a, std::uint64_t bytes, std::uint8_t rights) const {
    return (attributes(a) & rights) == rights && (attributes(a + bytes - 1) & rights) == rights;
  }
  /// True if any length of range is allowed.
  bool allows_range(Addr a, std::uint64_t bytes, std::uint8_t rights) const;

  /// Host address of a guest address. The caller has checked it.
  std::byte* host(Addr a) { return base_ + a; }
  const std::byte* host(Addr a) const { return base_ + a; }
  template <class T>
  T load(Addr a) const {
    T value;
    std::memcpy(&value, base_ + a, sizeof value);
    return value;
  }
  template <class T>
  void store(Addr a, T value) {
    std::memcpy(base_ + a, &value, sizeof value);
  }

  /// Maps whole pages with `attributes` (kMapped is added); they read as zero, also where pages were mapped
  /// before. Here and below a and bytes are multiples of the page size, inside the address space.
  void map(Addr a, std::uint64_t bytes, std::uint8_t attributes);
  /// Likewise, but they show `view`. Rights and contents follow file_resized() where the file ends before.
  /// @returns 0, or an error of the host (errno): nothing is mapped there then.
  int map_file(Addr a, std::uint64_t bytes, std::uint8_t attributes, const FileView& view);
  /// As map_file(), under pages that are mapped; those of a private view keep their contents.
  int put_under(Addr a, std::uint64_t bytes, std::uint8_t attributes, const FileView& view);
  /// The length of a file may have changed: the pages that show it follow.
  void file_resized(FileId id);
  /// Guest memory that shows files, and shared memory without one.
  const FileViews& file_views() const { return file_views_; }
  /// The attributes that were asked for: of pages behind the end of a file the table has no rights.
  std::uint8_t asked_attributes(Addr a) const;
  /// A page whose file the host could not show when it was accessed: another process had truncated the file,
  /// or its disk was full. It reads zero since then. Nothing: none since the last call.
  std::optional<Addr> take_lost_page();
  /// True if the host can write [a, a + bytes): not where it shows a file that is open for reading only.
  bool host_can_write(Addr a, std::uint64_t bytes) const;
  /// Unmaps and returns the memory to the host; pages that are not mapped are left alone.
  void unmap(Addr a, std::uint64_t bytes);
  /// Changes the attributes of mapped pages, kMapped stays set. All of the range must be mapped.
  void protect(Addr a, std::uint64_t bytes, std::uint8_t attributes);
  /// Makes [low, high) a worker's stack, or no longer; not a change of mappings. Pages it shares with other
  /// data are marked too, so ask is_in_worker_stack() where the mark is seen.
  void mark_worker_stack(Addr low, Addr high, bool is_worker_stack);
  bool is_in_worker_stack(Addr a) const;
  /// Ranges unmapped or changed since the last call: a cache of their lines drops those.
  std::vector<std::pair<Addr, Addr>> take_changes() { return std::exchange(changes_, {}); }
  bool has_changes() const { return !changes_.empty(); }
  /// True if every (or no) page of the range is mapped.
  bool all_mapped(Addr a, std::uint64_t bytes) const;
  bool none_mapped(Addr a, std::uint64_t bytes) const;
  /// Lowest free range of `bytes` at or above `from` that ends at or below `limit` and size(), or 0.
  Addr find_free(std::uint64_t bytes, Addr from, Addr limit = kSize) const;
  /// Gives the host's memory of mapped pages back (MADV_DONTNEED): then they read as zero, those of a private
  /// view as the file. Shared ones keep their contents.
  void discard(Addr a, std::uint64_t bytes);
  /// Moves the contents of `from`, and what files it shows, to the (mapped, disjoint) range at `to`; what is
  /// left at `from` is unspecified.
  void move_contents(Addr from, Addr to, std::uint64_t bytes);
  /// For a new process: the mappings, rights and contents of `parent`, of the same size. Shared memory
  /// without a file becomes a file in both. Nothing is mapped here before. @returns false if the host refuses
  /// memory.
  bool copy_from(AddressSpace& parent);
  /// All mapped pages, their attributes and what is in them; restore() maps exactly those.
  void save(CheckpointWriter& file) const;
  void restore(CheckpointReader& file);
  /// The guest wrote code and says so (riscv_flush_icache): counts as a change of executable ranges.
  void code_changed() { ++code_generation_; }

  /// From now on `observer` sees the kernel's accesses and mappings; null: no observer. Outlives its use.
  void watch_kernel(KernelObserver* observer) { kernel_observer_ = observer; }
  /// The kernel read, or wrote, a buffer of the guest.
  void note_kernel_read(Addr a, std::uint64_t bytes) const {
    if (kernel_observer_ != nullptr) kernel_observer_->on_kernel_read(a, bytes);
  }
  void note_kernel_write(Addr a, std::uint64_t bytes) const {
    if (kernel_observer_ != nullptr) kernel_observer_->on_kernel_write(a, bytes);
  }

  /// Counts changes of mappings and rights: a cache of rights compares it (the cores' filters do).
  std::uint64_t generation() const { return generation_; }
  /// Counts only changes of ranges that are executable before or after: a cache of decoded code compares it.
  std::uint64_t code_generation() const { return code_generation_; }
  /// attributes() of every page below kSize, by page number: for loops that hold it in a register.
  const std::uint8_t* attribute_table() const { return pages_; }
  /// Mapped ranges, begin to end, disjoint and never adjacent.
  const std::map<Addr, Addr>& regions() const { return regions_; }
  /// Bytes of guest memory mapped now, and at most so far.
  std::uint64_t mapped_bytes() const { return mapped_pages_ * kPageBytes; }
  std::uint64_t peak_mapped_bytes() const { return peak_pages_ * kPageBytes; }
  /// Bytes that may be written now: of all guest memory, and of [a, a + bytes), whole pages.
  std::uint64_t writable_bytes() const { return writable_pages_ * kPageBytes; }
  std::uint64_t writable_bytes(Addr a, std::uint64_t bytes) const;

 private:
  bool is_page_range(Addr a, std::uint64_t bytes) const {
    return ((a | bytes) & kPageMask) == 0 && a <= size_ && bytes <= size_ - a;
  }
  void announce(Addr begin, std::uint64_t bytes) const {
    if (observer_ != nullptr && bytes != 0) observer_->before_change(begin, begin + bytes);
  }
  void note_change(Addr begin, Addr end);
  /// The host's memory of [begin, end) is reserved again, which shows no file then.
  void reserve_again(Addr begin, Addr end);
  /// Lets the host show `view` at [begin, end) of `range`. @returns errno or 0.
  int show(const FileViews::Range& range, Addr begin, Addr end);
  Addr shown_end(const FileViews::Range& range) const;
  /// Attributes of mapped pages, and the counts that depend on them.
  void set_attributes(Addr begin, Addr end, std::uint8_t attributes);
  /// Pages behind the end of their file lose their rights in the table.
  void withhold(const FileViews::Range& range);
  void move_view(FileViews::Range range, Addr to);
  void move_anonymous(Addr from, Addr to, std::uint64_t bytes);

  const std::uint64_t size_;
  FileViews file_views_;
  std::map<Addr, Addr> worker_stacks_;          // low -> high
  std::vector<std::pair<Addr, Addr>> changes_;  // [begin, end)
  std::uint8_t kept_ = 0xff;                    // of the attributes asked for
  Observer* observer_ = nullptr;
  KernelObserver* kernel_observer_ = nullptr;
  std::byte* base_ = nullptr;
  std::uint8_t* pages_ = nullptr;
  std::map<Addr, Addr> regions_;
  std::uint64_t generation_ = 0, code_generation_ = 0, mapped_pages_ = 0, peak_pages_ = 0;
  std::uint64_t writable_pages_ = 0;
};

}  // namespace rubato::chip
