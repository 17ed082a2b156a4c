// How system calls touch guest memory: the one place through which every user buffer goes. Each access names
// a range, is checked as a whole before any byte moves, and reports EFAULT by returning false; under
// speculation these become checked accesses of the calling task (C18).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "chip/memory/address_space.hpp"

namespace rubato::chip {

class UserMemory {
 public:
  /// Sees what system calls read and write, before they do: whatever it does to memory, the call finds.
  class Observer {
   public:
    virtual ~Observer() = default;
    /// The range is mapped with the right it takes; bytes >= 1.
    virtual void before_access(Addr a, std::uint64_t bytes, bool write) = 0;
  };

  explicit UserMemory(AddressSpace& memory) : memory_(memory) {}
  /// Null: no observer. Outlives its use.
  void observe(Observer* observer) { observer_ = observer; }
  /// For an access that does not go through this class.
  void announce(Addr a, std::uint64_t bytes, bool write) const {
    if (observer_ != nullptr && bytes != 0) observer_->before_access(a, bytes, write);
  }

  /// Until unbind() calls reach only memory that no attempt has versions of:
  /// - untracked memory;
  /// - the stack [low, high) of the caller;
  /// - for reads, memory that no code may write to (capsules.md P49).
  void bind(Addr low, Addr high) { is_bound_ = true, stack_ = {low, high}; }
  void unbind() { is_bound_ = false; }
  bool is_bound() const { return is_bound_; }
  /// The stack of the caller, if is_bound().
  std::pair<Addr, Addr> bound_stack() const { return stack_; }

  bool readable(Addr a, std::uint64_t bytes) const {
    return memory_.allows_range(a, bytes, Page::kRead) && (!is_bound_ || is_unversioned(a, bytes));
  }
  bool writable(Addr a, std::uint64_t bytes) const {
    return memory_.allows_range(a, bytes, Page::kWrite) && (!is_bound_ || is_unversioned(a, bytes));
  }

  /// Bytes from `a` on, at most `bytes`, in front of the first page that the call may not read (write). A
  /// bound call has all or none of them.
  std::uint64_t readable_bytes(Addr a, std::uint64_t bytes) const {
    return allowed_bytes(a, bytes, Page::kRead);
  }
  std::uint64_t writable_bytes(Addr a, std::uint64_t bytes) const {
    return allowed_bytes(a, bytes, Page::kWrite);
  }

  /// No attempt has versions of the range, which is mapped: for a call that is bound.
  bool is_unversioned(Addr a, std::uint64_t bytes) const {
    if (a >= stack_.first && a < stack_.second && bytes <= stack_.second - a) return true;
    for (Addr page = a & ~AddressSpace::kPageMask; page < a + bytes; page += AddressSpace::kPageBytes) {
      const std::uint8_t attributes = memory_.attributes(page);
      if ((attributes & Page::kUntracked) == 0 && (attributes & Page::kWrite) != 0) return false;
    }
    return true;
  }

  /// Copies from the guest; false (and nothing done) unless all of the range is readable.
  bool read(Addr a, void* to, std::uint64_t bytes) const {
    if (!readable(a, bytes)) return false;
    announce(a, bytes, false);
    if (bytes == 0) return true;
    std::memcpy(to, memory_.host(a), bytes);
    memory_.note_kernel_read(a, bytes);
    return true;
  }
  /// Copies to the guest; false (and nothing done) unless all of the range is writable.
  bool write(Addr a, const void* from, std::uint64_t bytes) {
    if (!writable(a, bytes)) return false;
    announce(a, bytes, true);
    if (bytes == 0) return true;
    std::memcpy(memory_.host(a), from, bytes);
    memory_.note_kernel_write(a, bytes);
    return true;
  }

  template <class T>
  std::optional<T> get(Addr a) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    if (!read(a, &value, sizeof value)) return std::nullopt;
    return value;
  }
  template <class T>
  bool put(Addr a, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return write(a, &value, sizeof value);
  }

  /// A string that ends within `limit` bytes, terminator included. Nothing: unreadable; longer strings come
  /// back with limit bytes.
  std::optional<std::string> string(Addr a, std::uint64_t limit) const {
    std::string text;
    while (text.size() < limit) {
      const Addr at = a + text.size();
      if (!readable(at, 1)) return std::nullopt;
      const std::uint64_t page_left = AddressSpace::kPageBytes - (at & (AddressSpace::kPageBytes - 1));
      const std::uint64_t n = std::min<std::uint64_t>(page_left, limit - text.size());
      const char* from = reinterpret_cast<const char*>(memory_.host(at));
      std::uint64_t length = strnlen(from, n);
      // An announcement may change what is there, and with it how far the string goes.
      for (std::uint64_t announced = 0; announced < std::min(length + 1, n); length = strnlen(from, n)) {
        announced = std::min(length + 1, n);
        announce(at, announced, false);
      }
      text.append(from, length);
      memory_.note_kernel_read(at, std::min(length + 1, n));
      if (length < n) return text;
    }
    return text;
  }

 private:
  std::uint64_t allowed_bytes(Addr a, std::uint64_t bytes, std::uint8_t rights) const {
    if (is_bound_) return memory_.allows_range(a, bytes, rights) && is_unversioned(a, bytes) ? bytes : 0;
    std::uint64_t n = 0;
    while (n < bytes) {
      const std::uint64_t in_page = AddressSpace::kPageBytes - ((a + n) & AddressSpace::kPageMask);
      const std::uint64_t piece = std::min(in_page, bytes - n);
      if (!memory_.allows_range(a + n, piece, rights)) break;
      n += piece;
    }
    return n;
  }

  AddressSpace& memory_;
  Observer* observer_ = nullptr;
  bool is_bound_ = false;
  std::pair<Addr, Addr> stack_{};
};

}  // namespace rubato::chip
