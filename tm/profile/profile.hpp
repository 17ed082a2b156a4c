// A thread's notes about its transactions. While profiling is off a thread has no Profile, and no step of a
// transaction tests for one. Begin looks at bits that it needs anyway. Commit looks at a mask by which it
// does its upkeep now and then, with a profile each time (T60).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "tm/profile/table.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {

class Profile {
 public:
  explicit Profile(profile::Word thread) : sites_(thread), stacks_(thread), conflicts_(thread) {}
  /// False: not even the first places have room, so the thread has no profile. Called once, before all else.
  bool has_room() { return sites_.grow(); }

  /// An attempt of the transaction of this place begins.
  void begin(Thread& thread);
  void commit(const Thread& thread, Mode mode);
  void abort(Cause cause, std::uintptr_t address, const Thread* other);
  void cancel();
  void cancel_nested() { ++site_->aborted[static_cast<int>(Cause::nested)]; }
  /// The attempt becomes serial at the place from which this is called. `subject`: a function without clone.
  void serialize(Serialization why, const void* subject);
  /// The reasons of a thread's waits: to be let in, for a holder of the hourglass, after a commit for older
  /// transactions, or because its manager says so.
  enum class Wait : std::uint8_t { gate, hourglass, quiescence, manager };
  void wait(Wait why, std::uint64_t ticks) { site_->ticks_waited[static_cast<int>(why)] += ticks; }
  /// The entries in the logs of the attempt that is about to commit.
  struct Sizes {
    std::uint64_t reads, writes;
  };
  void note(Sizes sizes) { sizes_ = sizes; }

  /// Transactions that were serial because the algorithm is.
  std::uint64_t chosen() const;

 private:
  profile::Site& site(std::uintptr_t key);
  void add_aborted(std::uint64_t ticks);
  void add_hardware_aborts(const Thread& thread);
  void add_conflict(Cause cause, std::uintptr_t address, std::uintptr_t other_site);

  profile::Sites sites_;
  profile::Stacks stacks_;
  profile::Conflicts conflicts_;
  profile::Site* site_ = nullptr;
  /// Sites that were looked up lately, by a hash of their key: the table's rows are many cache lines apart.
  struct Known {
    std::uintptr_t key = 0;
    profile::Site* site = nullptr;
  };
  static constexpr int kKnownBits = 6;
  Known known_[1 << kKnownBits];
  std::atomic<std::uintptr_t> shown_site_{0};  ///< by which other threads name this one in a conflict
  std::uint64_t began_ = 0, serializations_ = 0;
  Sizes sizes_{};
  std::uint64_t retries_ = 0;
  std::uint64_t hardware_[kHardwareAborts]{};  ///< the thread's counts, as far as they are in a site
  bool is_counted_ = false;                    ///< this transaction as serial, with its reason
};

/// If a profile is asked for: the first call of backtrace(), which takes the loader's lock to load the
/// unwinder. The caller is outside of transactions and holds no lock.
void load_unwinder_for_profile();
/// Reads RUBATO_ITM_PROFILE, _STATS and _STACKS.
void set_up_profile();
/// With profiling on gives the thread its Profile. The caller holds the registry's lock.
void profile_thread(Thread& thread);
/// In the child of a fork, whose thread is `self` or none yet.
void profile_after_fork(Thread* self);

/// Runs wait(), and with a profile notes how long it took.
template <class F>
void timed(Thread& thread, Profile::Wait why, F wait) {
  if (__builtin_expect(thread.profile == nullptr, true)) {
    wait();
    return;
  }
  const std::uint64_t before = profile::ticks();
  wait();
  thread.profile->wait(why, profile::ticks() - before);
}

/// Counts in any case, and notes why if there is a profile.
void count_serialization(Thread& thread, Serialization why, const void* subject = nullptr);

}  // namespace rubato::tm
