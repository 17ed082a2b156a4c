// Program order for the observers of a pipeline. A deferred access (K11) is reported when it performs, and
// later actions of the core wait for that report. Invariant: the first waiting report is that of a deferred
// access.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>

#include "chip/core/execution_observer.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class InOrderObserver final : public ExecutionObserver {
 public:
  explicit InOrderObserver(ExecutionObserver& observer) : observer_(&observer) {}

  /// A deferred access takes its place. @returns the number to perform() it by.
  std::uint64_t defer(CoreId core, Addr address, unsigned bytes, bool is_store) {
    waiting_.push_back({is_store ? Kind::store : Kind::load, false, bytes, core, address, 0});
    return first_ + waiting_.size() - 1;
  }
  void perform(std::uint64_t number, std::uint64_t value) {
    waiting_[number - first_].value = value;
    waiting_[number - first_].is_known = true;
    for (; !waiting_.empty() && waiting_.front().is_known; waiting_.pop_front(), ++first_)
      pass(waiting_.front());
  }
  /// The task is aborted: what it did was for nothing.
  void cancel() {
    first_ += waiting_.size();
    waiting_.clear();
  }

  void on_begin(CoreId core, const HartState& hart) override { observer_->on_begin(core, hart); }
  void on_load(CoreId core, Addr address, unsigned bytes, std::uint64_t value) override {
    see({Kind::load, true, bytes, core, address, value});
  }
  void on_store(CoreId core, Addr address, unsigned bytes) override {
    see({Kind::store, true, bytes, core, address, 0});
  }
  void on_atomic(CoreId core, Addr address, unsigned bytes, std::uint64_t old_value) override {
    observer_->on_atomic(core, address, bytes, old_value);
  }
  void on_store_conditional(CoreId core, Addr address, unsigned bytes, bool stored) override {
    see({Kind::store_conditional, true, bytes, core, address, stored});
  }
  void on_counter(CoreId core, std::uint64_t value) override {
    see({Kind::counter, true, 0, core, 0, value});
  }
  void on_task_read(CoreId core, unsigned selector, std::uint64_t value) override {
    see({Kind::task_read, true, selector, core, 0, value});
  }
  void on_handler(CoreId core, const TaskDescriptor& handler) override {
    observer_->on_handler(core, handler);
  }
  void on_kernel_exit(CoreId core, const HartState& hart) override { observer_->on_kernel_exit(core, hart); }

 private:
  enum class Kind : std::uint8_t { load, store, store_conditional, counter, task_read };
  struct Seen {
    Kind kind;
    bool is_known;
    unsigned bytes;  // of task.read: the selector
    CoreId core;
    Addr address;
    std::uint64_t value;
  };
  void see(const Seen& seen) {
    if (waiting_.empty()) return pass(seen);
    waiting_.push_back(seen);
  }
  void pass(const Seen& s) {
    switch (s.kind) {
      case Kind::load:
        return observer_->on_load(s.core, s.address, s.bytes, s.value);
      case Kind::store:
        return observer_->on_store(s.core, s.address, s.bytes);
      case Kind::store_conditional:
        return observer_->on_store_conditional(s.core, s.address, s.bytes, s.value != 0);
      case Kind::counter:
        return observer_->on_counter(s.core, s.value);
      case Kind::task_read:
        return observer_->on_task_read(s.core, s.bytes, s.value);
    }
  }

  ExecutionObserver* observer_;
  std::deque<Seen> waiting_;
  std::uint64_t first_ = 0;
};

}  // namespace rubato::chip
