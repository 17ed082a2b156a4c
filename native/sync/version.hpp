// Optimistic versions in the synchronization word of a resource: readers run without writing anything shared,
// and find out afterwards whether a writer was at work. R4; MxTasking, Sec. 4.1. Other than in the
// paper's Fig. 5 the version is odd while a writer works: else a reader that begins and ends within one write
// passes.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "native/fault.hpp"
#include "native/sync/spin.hpp"

namespace rubato::inline v0::native {

/// The rules of a correct version. Tests derive from it to build mutants, which they must catch.
struct VersionRules {
  static constexpr bool kOddWhileWriting = true;
  static constexpr bool kValidates = true;
  static constexpr bool kIncrementsWithUnlock = true;
  /// ThreadSanitizer does not know fences; there the reader's second look is an addition of 0 (see below).
#if defined(__SANITIZE_THREAD__)
  static constexpr bool kUsesFences = false;
#elif defined(__has_feature)
  static constexpr bool kUsesFences = !__has_feature(thread_sanitizer);
#else
  static constexpr bool kUsesFences = true;
#endif
};

/// Word: even, no writer is at work; odd, a writer is at work. Grows by 2 a write.
///
/// The data between begin() and validate() is read and written by relaxed atomic accesses (tracked<T>). Proof
/// that a reader which saw a writer's data never validates:
/// - With fences: the writer makes the version odd, executes fence(release), then writes data. A reader that
///   reads such data executes fence(acquire) before its second look. The fences synchronize, and the second
///   look sees the odd version or a later one.
/// - Without fences: the reader's second look is a read-modify-write R (release), the writer's first step one
///   too, W (acquire). If R still finds the old version, it precedes W in the word's modification order, and
///   W synchronizes with R. So all the reader's reads happen before the writer's writes: it cannot have seen
///   them. (Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012, Sec. 4.)
template <class Atomics, class Rules = VersionRules>
class Version {
 public:
  using Word = typename Atomics::template atomic<std::uint64_t>;
  explicit Version(Word& word) : word_(word) {}

  /// The version that a reader starts with. Empty: a writer was at work all the time; try again later.
  std::optional<std::uint64_t> begin(unsigned tries = kSpinTries) const {
    std::uint64_t seen = 0;
    if (!spin<Atomics>(tries, [&] { return is_even(seen = word_.load(std::memory_order_acquire)); }))
      return {};
    return seen;
  }
  /// Whether no writer was at work since begin() returned `seen`.
  bool validate(std::uint64_t seen) const {
    if (!Rules::kValidates || has_fault(Fault::unvalidated_reads)) return true;
    if constexpr (Rules::kUsesFences) {
      Atomics::fence(std::memory_order_acquire);
      return word_.load(std::memory_order_relaxed) == seen;
    } else {
      return word_.fetch_add(0, std::memory_order_acq_rel) == seen;
    }
  }

  /// For writers that exclude each other by this word (`optimistic_latch`).
  bool try_lock() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    if (!is_even(seen) || !word_.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel,
                                                         std::memory_order_relaxed)) {
      return false;
    }
    if constexpr (Rules::kUsesFences) Atomics::fence(std::memory_order_release);
    return true;
  }
  /// False: another writer was at work all the time; try again later.
  bool lock(unsigned tries = kSpinTries) {
    return spin<Atomics>(tries, [this] { return try_lock(); });
  }
  void unlock() { end_write(); }
  /// After lock() by a reader that wrote nothing: other readers' work stays valid.
  void unlock_unchanged() {
    word_.store(word_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }

  /// For writers that run one at a time anyway, in the resource's pool (`optimistic_pool`).
  void begin_write() {
    if (!Rules::kOddWhileWriting || has_fault(Fault::even_while_writing)) return;
    if constexpr (Rules::kUsesFences) {
      word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      Atomics::fence(std::memory_order_release);
    } else {
      word_.fetch_add(1, std::memory_order_acq_rel);
    }
  }
  void end_write() {
    const std::uint64_t seen = word_.load(std::memory_order_relaxed);
    if constexpr (!Rules::kIncrementsWithUnlock) word_.store(seen - 1, std::memory_order_release);
    word_.store((seen | 1) + 1, std::memory_order_release);
  }

 private:
  static constexpr bool is_even(std::uint64_t version) { return (version & 1) == 0; }

  Word& word_;
};

}  // namespace rubato::inline v0::native
