// Epoch-based reclamation for tasks: it decides when a removed object can be freed. R7; MxTasking, Sec.
// 4.4. Two differences to the paper:
// - A handle may travel from task to task. So pending tasks hold back reclamation too, by their birth epochs,
//   if they are annotated with a resource (others do not; remove() says so).
// - There is no thread or timer: epochs advance when a thread has garbage that waits for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "native/fault.hpp"
#include "native/pool/atomics.hpp"
#include "rubato/engine/native_epochs.hpp"

namespace rubato::inline v0::native {

using engine::EpochMember;
using engine::ResourceHeader;

/// The rules of correct reclamation. Tests derive from it to build mutants, which they must catch.
struct EpochRules {
  static constexpr bool kWaitsForEarlierEpochOnly =
      true;  ///< an object removed in e is freed when all exceed e
  static constexpr bool kCountsBirths = true;
  static constexpr bool kWaitsForLocals = true;
};

/// Words:  global epoch   grows by one, when a member has garbage that no smaller step can free
///         local epoch    a member's: the global one at its last refresh; infinite while it is parked
///         birth epoch    a task's: its creator's birth epoch, or its creator's local epoch if that has none
///         tag            a removed object's: the global epoch when its member refreshed after the removal
///         horizon        no local or birth epoch is below it, now or ever: objects with smaller tags can be
///         freed
/// Invariant: all local and birth epochs are in (global - kBirthWindow, global]; the global epoch waits for
/// it.
///
/// Why a member whose local epoch exceeds an object's tag cannot reach the object: tagging is a
/// read-modify-write of the global epoch after the object was unlinked, advancing another one after that, and
/// the member's refresh reads the result with acquire. So the unlinking happens before all that the member
/// does afterwards. Why no protection is missed while it moves: it moves from a local epoch to a task's birth
/// epoch (the task is counted before the creator refreshes; the horizon reads locals first, then births), and
/// from a task to its children (counted before the parent is finished; the horizon sums `finished` first,
/// then `created`).
///
/// Thread-safe: each member is used by one thread at a time, quiesce() while no member is in use.
template <class Rules>
class BasicEpochs {
 public:
  struct Options {
    unsigned members = 1;
    /// A member with garbage looks for a new horizon at every so many refreshes: looking reads all members'
    /// lines.
    unsigned refreshes_a_look = 1;
  };
  explicit BasicEpochs(const Options& options)
      : options_(options), members_(std::make_unique<EpochMember[]>(options.members)) {}
  /// Frees everything.
  ~BasicEpochs() { quiesce(); }
  BasicEpochs(const BasicEpochs&) = delete;
  BasicEpochs& operator=(const BasicEpochs&) = delete;

  EpochMember& member(unsigned index) { return members_[index]; }

  /// A refresh point: between two tasks, the member holds no handle but through tasks that are counted.
  /// Before every task or every few tasks; the more rarely, the longer garbage waits.
  void refresh(EpochMember& self) {
    const std::uint64_t global = global_.load(std::memory_order_acquire);
    if (global != self.local_.load(std::memory_order_relaxed)) {
      self.local_.store(global, std::memory_order_release);
    }
    if (self.oldest_ != nullptr || orphans_.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
      collect(self);
    }
  }

  /// Before a member stops running tasks for a while, also if it only spins. It holds nothing back from here
  /// on, and leaves garbage that cannot be freed yet to the others.
  void park(EpochMember& self);
  /// Before the member touches shared data again. Members start parked.
  void unpark(EpochMember& self);

  /// `header` was unlinked by the task that `self` runs; it is destroyed once no task can reach it.
  void retire(EpochMember& self, ResourceHeader* header);

  /// Frees everything. Precondition: no thread runs tasks, and none are pending.
  void quiesce();

  std::uint64_t global() const { return global_.load(std::memory_order_relaxed); }
  /// Removed but not yet freed; exact while nothing runs.
  std::uint64_t unreclaimed_bytes() const;

 private:
  void collect(EpochMember& self);
  void tag(EpochMember& self);
  void adopt_orphans(EpochMember& self);
  void look(EpochMember& self);
  void free_tagged(EpochMember& self);
  std::uint64_t oldest_birth(std::uint64_t global) const;

  const Options options_;
  const std::unique_ptr<EpochMember[]> members_;
  // Read at every refresh, written rarely: one line.
  alignas(64) Atomic<std::uint64_t> global_{engine::kBirthWindow};
  Atomic<std::uint64_t> horizon_{0};
  Atomic<ResourceHeader*> orphans_{nullptr};  // tagged, from members that parked
};

extern template class BasicEpochs<EpochRules>;
using Epochs = BasicEpochs<EpochRules>;

template <class Rules>
void BasicEpochs<Rules>::park(EpochMember& self) {
  tag(self);
  perturb();
  self.local_.store(EpochMember::kParked, std::memory_order_release);
  // If no other member holds anything back, none may come by for a long time. So it looks twice, since the
  // first look may have to advance the epoch.
  for (int i = 0; i < 2 && self.oldest_ != nullptr; ++i) {
    look(self);
    free_tagged(self);
  }
  if (self.oldest_ == nullptr) return;
  tag(self);  // what destructors removed
  ResourceHeader* others = orphans_.load(std::memory_order_relaxed);
  do {
    self.newest_->next_retired = others;
  } while (!orphans_.compare_exchange_weak(others, self.oldest_, std::memory_order_release,
                                           std::memory_order_relaxed));
  self.oldest_ = self.newest_ = nullptr;
}

template <class Rules>
void BasicEpochs<Rules>::unpark(EpochMember& self) {
  // Dekker with look(): either it sees this local epoch, or we see every epoch that it advanced to or freed
  // up to.
  std::uint64_t global = global_.load(std::memory_order_seq_cst);
  for (;;) {
    self.local_.store(global, std::memory_order_seq_cst);
    const std::uint64_t again = global_.load(std::memory_order_seq_cst);
    if (again == global) return;
    global = again;
  }
}

template <class Rules>
void BasicEpochs<Rules>::retire(EpochMember& self, ResourceHeader* header) {
  if (has_fault(Fault::freed_at_once)) return header->destroy(header);
  header->next_retired = nullptr;
  if (self.newest_ == nullptr) {
    self.oldest_ = header;
  } else {
    self.newest_->next_retired = header;
  }
  self.newest_ = header;
  if (self.first_untagged_ == nullptr) self.first_untagged_ = header;
  self.retired_bytes_.store(self.retired_bytes_.load(std::memory_order_relaxed) + header->bytes,
                            std::memory_order_relaxed);
}

template <class Rules>
void BasicEpochs<Rules>::collect(EpochMember& self) {
  tag(self);
  adopt_orphans(self);
  if (self.oldest_ == nullptr) return;
  if (++self.refreshes_ >= options_.refreshes_a_look) {
    self.refreshes_ = 0;
    look(self);
  }
  free_tagged(self);
}

/// Gives the objects removed since the last refresh their tag.
template <class Rules>
void BasicEpochs<Rules>::tag(EpochMember& self) {
  if (self.first_untagged_ == nullptr) return;
  self.newest_tag_ = global_.fetch_add(0, std::memory_order_acq_rel);
  for (ResourceHeader* header = self.first_untagged_; header != nullptr; header = header->next_retired) {
    header->retired_in = self.newest_tag_;
  }
  self.first_untagged_ = nullptr;
}

/// Everything of `self` is tagged. Tags need not grow along the list: an early one behind a late one waits
/// longer.
template <class Rules>
void BasicEpochs<Rules>::adopt_orphans(EpochMember& self) {
  if (orphans_.load(std::memory_order_relaxed) == nullptr) return;
  ResourceHeader* const list = orphans_.exchange(nullptr, std::memory_order_acquire);
  if (list == nullptr) return;
  if (self.newest_ == nullptr) {
    self.oldest_ = list;
  } else {
    self.newest_->next_retired = list;
  }
  for (ResourceHeader* header = list; header != nullptr; header = header->next_retired) {
    self.newest_ = header;
    if (header->retired_in > self.newest_tag_) self.newest_tag_ = header->retired_in;
  }
}

/// Finds the horizon, and advances the global epoch if garbage of `self` waits for that.
template <class Rules>
void BasicEpochs<Rules>::look(EpochMember& self) {
  std::uint64_t global = global_.load(std::memory_order_seq_cst);
  std::uint64_t horizon = global;
  if (Rules::kWaitsForLocals && !has_fault(Fault::no_local_epochs)) {
    for (unsigned i = 0; i < options_.members; ++i) {
      perturb();
      const std::uint64_t local = members_[i].local_.load(std::memory_order_seq_cst);
      if (local < horizon) horizon = local;
    }
  }
  if (Rules::kCountsBirths && !has_fault(Fault::no_birth_epochs)) {
    const std::uint64_t birth = oldest_birth(global);
    if (birth < horizon) horizon = birth;
  }
  std::uint64_t known = horizon_.load(std::memory_order_relaxed);
  while (known < horizon && !horizon_.compare_exchange_weak(known, horizon, std::memory_order_acq_rel,
                                                            std::memory_order_relaxed)) {
  }
  if (self.newest_tag_ == global && global + 1 - horizon < engine::kBirthWindow) {
    global_.compare_exchange_strong(global, global + 1, std::memory_order_seq_cst);
  }
}

/// The birth epoch of the oldest pending annotated task; `global` if there is none. Reads a slot that came
/// into use for an epoch after `global` as one of the oldest epoch: too careful, not wrong.
template <class Rules>
std::uint64_t BasicEpochs<Rules>::oldest_birth(std::uint64_t global) const {
  std::uint64_t pending[engine::kBirthWindow] = {};
  for (unsigned i = 0; i < options_.members; ++i) {
    perturb();
    for (unsigned slot = 0; slot < engine::kBirthWindow; ++slot) {
      pending[slot] -= members_[i].finished_[slot].load(std::memory_order_acquire);
    }
  }
  for (unsigned i = 0; i < options_.members; ++i) {
    perturb();
    for (unsigned slot = 0; slot < engine::kBirthWindow; ++slot) {
      pending[slot] += members_[i].created_[slot].load(std::memory_order_relaxed);
    }
  }
  for (std::uint64_t birth = global + 1 - engine::kBirthWindow; birth < global; ++birth) {
    if (pending[birth % engine::kBirthWindow] != 0) return birth;
  }
  return global;
}

/// An object's destructor may remove further ones: they come in at the end, untagged.
template <class Rules>
void BasicEpochs<Rules>::free_tagged(EpochMember& self) {
  const std::uint64_t horizon = horizon_.load(std::memory_order_acquire);
  while (self.oldest_ != nullptr && self.oldest_ != self.first_untagged_) {
    ResourceHeader* const header = self.oldest_;
    if (Rules::kWaitsForEarlierEpochOnly ? header->retired_in >= horizon : header->retired_in > horizon)
      return;
    self.oldest_ = header->next_retired;
    if (self.oldest_ == nullptr) self.newest_ = nullptr;
    self.freed_bytes_.store(self.freed_bytes_.load(std::memory_order_relaxed) + header->bytes,
                            std::memory_order_relaxed);
    header->destroy(header);
  }
}

template <class Rules>
void BasicEpochs<Rules>::quiesce() {
  horizon_.store(EpochMember::kParked, std::memory_order_relaxed);
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (unsigned i = 0; i < options_.members; ++i) {
      EpochMember& member = members_[i];
      tag(member);
      adopt_orphans(member);
      is_done = is_done && member.oldest_ == nullptr;
      free_tagged(member);
    }
  }
  horizon_.store(0, std::memory_order_relaxed);
}

template <class Rules>
std::uint64_t BasicEpochs<Rules>::unreclaimed_bytes() const {
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < options_.members; ++i) {
    bytes -= members_[i].freed_bytes_.load(std::memory_order_relaxed);
    bytes += members_[i].retired_bytes_.load(std::memory_order_relaxed);
  }
  return bytes;
}

}  // namespace rubato::inline v0::native
