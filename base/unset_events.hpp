// OutsideEvents that are not set (rubato/outside_event.hpp), of a host engine: they keep run() open.
// A mutex guards the list: an event is a call of another library at least, and takes microseconds anyway.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>

namespace rubato::inline v0::engine {

/// An OutsideEvent that is not set. Each engine derives its own from it; the OutsideEvent owns it.
struct UnsetEvent {
  UnsetEvent(const char* file_name, unsigned line_number, bool is_set_by_clock)
      : file(file_name), line(line_number), is_timed(is_set_by_clock) {}

  const char* const file;  ///< the place where it was made
  const unsigned line;
  const bool is_timed;       ///< the clock sets it
  std::uint64_t number = 0;  ///< in the order in which they were made, from 1
  bool is_listed = false;
  UnsetEvent* before = nullptr;
  UnsetEvent* behind = nullptr;
};

class UnsetEvents {
 public:
  UnsetEvents() = default;
  UnsetEvents(const UnsetEvents&) = delete;
  UnsetEvents& operator=(const UnsetEvents&) = delete;

  /// How many there are. Ordered by seq_cst: behind a 0 is seen what was done before the last was removed.
  unsigned count() const { return count_.load(std::memory_order_seq_cst); }
  /// The number of those that the clock sets.
  unsigned timed() const { return timed_.load(std::memory_order_seq_cst); }

  void add(UnsetEvent& event) {
    const std::lock_guard lock(mutex_);
    event.number = ++last_number_;
    event.is_listed = true;
    event.before = newest_;
    (newest_ != nullptr ? newest_->behind : oldest_) = &event;
    newest_ = &event;
    change_counts(event.is_timed, 1);
  }
  /// Removes the event and calls `use()`, after which the event may be gone, and is counted no more then;
  /// remove_all() waits meanwhile. False: its run has failed, and it is in the list no more.
  template <class Use>
  bool remove(UnsetEvent& event, Use use) {
    const std::lock_guard lock(mutex_);
    if (!event.is_listed) return false;
    const bool is_timed = event.is_timed;
    unlist(event);
    use();
    change_counts(is_timed, -1);
    return true;
  }
  /// Calls `begin()`, then use(event) for each, and removes it. Meanwhile none is made, and remove() waits.
  template <class Begin, class Use>
  void remove_all(Begin begin, Use use) {
    const std::lock_guard lock(mutex_);
    begin();
    while (oldest_ != nullptr) {
      UnsetEvent& event = *oldest_;
      use(event);
      unlist(event);
      change_counts(event.is_timed, -1);
    }
  }

  /// Whether a wait for them may be for ever: no clock sets one, and it has not been said yet.
  bool is_silent() const {
    return count() != 0 && timed() == 0 && !has_said_.load(std::memory_order_relaxed);
  }
  /// Says, once in a process, for which events run() waits. `remedy`: how to be spared this.
  void say(unsigned seconds, const char* remedy) {
    const std::lock_guard lock(mutex_);
    if (oldest_ == nullptr || has_said_.exchange(true, std::memory_order_relaxed)) return;
    const unsigned count = count_.load(std::memory_order_relaxed);
    std::fprintf(stderr,
                 "rubato: for %u s run() has waited for nothing but %u OutsideEvent%s, made at %s:%u%s: it "
                 "goes on when set() is called%s\n",
                 seconds, count, count == 1 ? "" : "s", oldest_->file, oldest_->line,
                 count == 1 ? "" : " the first", remedy);
  }

 private:
  void unlist(UnsetEvent& event) {
    (event.before != nullptr ? event.before->behind : oldest_) = event.behind;
    (event.behind != nullptr ? event.behind->before : newest_) = event.before;
    event.is_listed = false;
  }
  void change_counts(bool is_timed, int change) {
    if (is_timed) timed_.fetch_add(static_cast<unsigned>(change), std::memory_order_seq_cst);
    count_.fetch_add(static_cast<unsigned>(change), std::memory_order_seq_cst);
  }

  std::mutex mutex_;
  UnsetEvent* oldest_ = nullptr;
  UnsetEvent* newest_ = nullptr;
  std::uint64_t last_number_ = 0;
  std::atomic<unsigned> count_{0}, timed_{0};
  std::atomic<bool> has_said_{false};
};

}  // namespace rubato::inline v0::engine
