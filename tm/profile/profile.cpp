// SPDX-License-Identifier: MIT
#include "tm/profile/profile.hpp"

#include <execinfo.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "tm/abi/barrier.hpp"
#include "tm/failure.hpp"
#include "tm/profile/statistics.hpp"

namespace rubato::tm {
namespace {

using profile::Word;

Word mixed(Word hash, Word word) { return (hash ^ word) * 0x9e3779b97f4a7c15u + (hash >> 29); }

/// Counts an event at the entry of `key`, which describe(entry) fills if it is new. Without room for one more
/// the least frequent makes room, and what it counted is lost.
template <class Table, class Describe>
void count_at(Table& table, Word key, Word& lost, Describe describe) {
  auto* entry = table.find(key);
  if (entry == nullptr) {
    entry = table.least_frequent(key);
    if (entry == nullptr) {
      ++lost;
      return;
    }
    lost += entry->count;
    std::memset(entry, 0, sizeof *entry);
  }
  if (entry->key == 0) {
    describe(*entry);
    entry->key = key;  // last: then the row counts
  }
  ++entry->count;
}

/// A key is not 0.
Word with_frames(Word key, void* const* frames, int depth) {
  for (int i = 0; i < depth; ++i) key = mixed(key, reinterpret_cast<std::uintptr_t>(frames[i]));
  return key | 1;
}

void copy_frames(Word* to, void* const* frames, int depth) {
  for (int i = 0; i < depth; ++i) to[i] = profile::place_of(reinterpret_cast<std::uintptr_t>(frames[i]));
}

/// An algorithm's barriers, counted: eight bytes are one access.
template <const Algorithm& original>
struct CountedAccess {
  static constexpr std::size_t accesses(std::size_t bytes) { return (bytes + 7) / 8; }
  template <Load kind, class T>
  static T load(const void* p, Thread* thread) {
    ++thread->loads;
    return loads<T>(original.barriers)[static_cast<std::size_t>(kind)](p, thread);
  }
  template <Store kind, class T>
  static void store(void* p, T value, Thread* thread) {
    ++thread->stores;
    stores<T>(original.barriers)[static_cast<std::size_t>(kind)](p, value, thread);
  }
  static void read(void* to, const void* from, std::size_t bytes, Load kind, Thread* thread) {
    thread->loads += accesses(bytes);
    original.barriers.read(to, from, bytes, kind, thread);
  }
  static void write(void* to, const void* from, std::size_t bytes, Store kind, Thread* thread) {
    thread->stores += accesses(bytes);
    original.barriers.write(to, from, bytes, kind, thread);
  }
  static void fill(void* to, int byte, std::size_t bytes, Store kind, Thread* thread) {
    thread->stores += accesses(bytes);
    original.barriers.fill(to, byte, bytes, kind, thread);
  }
  static void save(const void* address, std::size_t bytes, Thread* thread) {
    original.barriers.save(address, bytes, thread);
  }
};

/// Records or words that the transaction writes; old values by tml, which keeps nothing else.
std::size_t writes_of(Thread& thread) {
  if (!thread.writes.empty()) return thread.writes.size();
  return thread.holds_sequence && thread.locked.empty() ? thread.undo.count() : thread.locked.size();
}

/// The algorithms of a thread that has a profile: their barriers count, and their commits note how much the
/// logs hold, which is not there any more when the transaction has ended.
template <const Algorithm& original>
bool commit_noted(Thread& thread) {
  thread.profile->note({thread.reads.size() + thread.values.size(), writes_of(thread)});
  return original.commit(thread);
}
template <const Algorithm& original>
const Algorithm* noted() {
  static Algorithm copy = original;
  copy.barriers = barriers_of<CountedAccess<original>>();
  copy.commit = commit_noted<original>;
  return &copy;
}
/// Its transactions run alone: there is nothing to explain by the size of their logs.
template <>
const Algorithm* noted<kSerial>() {
  return &kSerial;
}
const Algorithm* const* noted_algorithms() {
#define RUBATO_TM_NOTED(name, table) noted<table>(),
  static const Algorithm* const all[] = {RUBATO_TM_ALGORITHMS(RUBATO_TM_NOTED)};
#undef RUBATO_TM_NOTED
  return all;
}

const char* setting(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool is_profile_wanted() { return setting("RUBATO_ITM_PROFILE") != nullptr || is_summary_wanted(); }

// When the library is loaded. A thread that holds the loader's lock may wait for the process's first
// transaction, as a constructor does that starts a thread and joins it.
[[gnu::constructor]] void load_unwinder_early() { load_unwinder_for_profile(); }

}  // namespace

void load_unwinder_for_profile() {
  if (!is_profile_wanted()) return;
  void* frame = nullptr;
  ::backtrace(&frame, 1);
}

profile::Site& Profile::site(std::uintptr_t key) {
  Known& known = known_[(key * 0x9e3779b97f4a7c15u) >> (64 - kKnownBits)];
  if (known.key == key) return *known.site;
  profile::Site* site = sites_.find(key);
  if (site == nullptr) {  // counted at another place
    ++sites_.head().lost_sites;
    return *profile::rows_of<profile::Site>(sites_.head());
  }
  if (site->key == 0) {
    site->place = profile::place_of(key);
    site->key = key;
  }
  known = {key, site};
  return *site;
}

void Profile::begin(Thread& thread) {
  const std::uintptr_t key = thread.checkpoints[0].return_to;
  thread.loads = thread.stores = 0;
  if (site_ == nullptr || site_->key != key) site_ = &site(key);
  shown_site_.store(key, std::memory_order_relaxed);
  began_ = profile::ticks();
}

void Profile::commit(const Thread& thread, Mode mode) {
  const Word ticks = profile::ticks() - began_;
  ++site_->committed;
  site_->ticks_committed += ticks;
  ++site_->committed_by[profile::bucket(ticks, profile::kTimes)];
  ++site_->retries[profile::bucket(retries_, profile::kSizes)];
  retries_ = 0;
  add_hardware_aborts(thread);
  if (mode == Mode::concurrent) {
    if (thread.was_read_only) ++site_->read_only;
    ++site_->reads[profile::bucket(sizes_.reads, profile::kSizes)];
    ++site_->writes[profile::bucket(sizes_.writes, profile::kSizes)];
    ++site_->loads[profile::bucket(thread.loads, profile::kSizes)];
    ++site_->stores[profile::bucket(thread.stores, profile::kSizes)];
  } else if (mode != Mode::hardware && !is_counted_) {
    ++site_->serialized[static_cast<int>(Serialization::chosen)];
  }
  is_counted_ = false;
}

void Profile::cancel() {
  ++site_->cancelled;
  add_aborted(profile::ticks() - began_);
  retries_ = 0;
  is_counted_ = false;
}

void Profile::abort(Cause cause, std::uintptr_t address, const Thread* other) {
  ++site_->aborted[static_cast<int>(cause)];
  ++retries_;
  add_aborted(profile::ticks() - began_);
  if (cause == Cause::retry || cause == Cause::mode_change || cause == Cause::memory) return;
  const Profile* const met = other != nullptr ? other->profile : nullptr;
  add_conflict(cause, address, met != nullptr ? met->shown_site_.load(std::memory_order_relaxed) : 0);
}

void Profile::add_conflict(Cause cause, std::uintptr_t address, std::uintptr_t other_site) {
  void* frames[profile::kAccessFrames];
  const int depth = ::backtrace(frames, profile::kAccessFrames);
  Word key = mixed(mixed(mixed(static_cast<Word>(cause) + 1, site_->key), other_site), address);
  key = with_frames(key, frames, depth);
  count_at(conflicts_, key, sites_.head().lost_conflicts, [&](profile::Conflict& entry) {
    entry.cause = static_cast<Word>(cause);
    entry.site = site_->place;
    entry.other_site = profile::place_of(other_site);
    entry.address = profile::place_of(address);
    copy_frames(entry.frames, frames, depth);
  });
}

void Profile::serialize(Serialization why, const void* subject) {
  is_counted_ = true;
  ++site_->serialized[static_cast<int>(why)];
  if (serializations_++ % profile::header().stacks_every != 0) return;
  void* frames[profile::kFrames];
  const int depth = ::backtrace(frames, profile::kFrames);
  const auto function = reinterpret_cast<std::uintptr_t>(subject);
  const Word key = with_frames(mixed(mixed(static_cast<Word>(why) + 1, site_->key), function), frames, depth);
  count_at(stacks_, key, sites_.head().lost_stacks, [&](profile::Stack& entry) {
    entry.serialization = static_cast<Word>(why);
    entry.site = site_->place;
    entry.subject = profile::place_of(function);
    entry.depth = static_cast<Word>(depth);
    copy_frames(entry.frames, frames, depth);
  });
}

void Profile::add_aborted(std::uint64_t ticks) {
  site_->ticks_aborted += ticks;
  ++site_->aborted_by[profile::bucket(ticks, profile::kTimes)];
}

void Profile::add_hardware_aborts(const Thread& thread) {
  for (std::size_t i = 0; i < kHardwareAborts; ++i) {
    const std::uint64_t now = thread.hardware_aborts[i].load(std::memory_order_relaxed);
    site_->hardware[i] += now - hardware_[i];
    hardware_[i] = now;
  }
}

std::uint64_t Profile::chosen() const {
  std::uint64_t sum = 0;
  sites_.for_each(
      [&sum](const profile::Site& site) { sum += site.serialized[static_cast<int>(Serialization::chosen)]; });
  return sum;
}

void set_up_profile() {
  if (!is_profile_wanted()) return;
  std::uint64_t every = 1;
  if (const char* const value = setting("RUBATO_ITM_STACKS")) {
    char* end = nullptr;
    every = std::strtoull(value, &end, 10);
    if (*value < '1' || *value > '9' || *end != '\0') {
      warn("RUBATO_ITM_STACKS is '%s', expected a number from 1; it is ignored", value);
      every = 1;
    }
  }
  profile::open(setting("RUBATO_ITM_PROFILE"), every);
}

void profile_thread(Thread& thread) {
  if (!profile::is_open()) return;
  profile::note_time();
  if (thread.profile != nullptr) return;  // of a thread that has ended
  void* const memory = std::malloc(sizeof(Profile));
  if (memory == nullptr) return;
  auto* const made = new (memory) Profile(profile::add_thread());
  if (!made->has_room()) {
    std::free(memory);
    return;
  }
  thread.profile = made;
  thread.algorithms = noted_algorithms();
  thread.start |= Start::kProfiled;
  thread.upkeep_mask = 0;
}

void profile_after_fork(Thread* self) {
  if (!profile::is_open()) return;
  // The segments are the parent's memory.
  for_each_thread([](Thread& thread) {
    thread.profile = nullptr;
    thread.algorithms = all_algorithms();
    thread.start &= static_cast<std::uint8_t>(~Start::kProfiled);
    thread.upkeep_mask = kUpkeepMask;
  });
  profile::reopen_in_child();
  if (self == nullptr) return;
  profile_thread(*self);
  if (self->profile != nullptr && self->nesting != 0) self->profile->begin(*self);
}

void count_serialization(Thread& thread, Serialization why, const void* subject) {
  add_one(thread.serialized[static_cast<int>(why)]);
  if (thread.profile != nullptr) thread.profile->serialize(why, subject);
}

}  // namespace rubato::tm
