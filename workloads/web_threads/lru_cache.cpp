// SPDX-License-Identifier: MIT
#include "workloads/web_threads/lru_cache.hpp"

#include <mutex>
#include <string>

#include "workloads/common/workload.hpp"

namespace rubato::workloads::web {

void LruCache::unlink(unsigned file) {
  const Entry& e = entries_[file];
  (e.newer == kNone ? newest_ : entries_[e.newer].older) = e.older;
  (e.older == kNone ? oldest_ : entries_[e.older].newer) = e.newer;
}

void LruCache::link(unsigned file) {
  Entry& e = entries_[file];
  e.newer = kNone;
  e.older = newest_;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = file;
  newest_ = file;
}

void LruCache::make_room() {
  for (unsigned file = oldest_; file != kNone && used_words_ > words_;) {
    Entry& e = entries_[file];
    const unsigned next = e.newer;
    if (e.users == 0) {
      unlink(file);
      e.is_in = false;
      e.content.reset();
      used_words_ -= site_.words(file);
    }
    file = next;
  }
}

const std::uint64_t* LruCache::acquire(unsigned file) {
  Entry& e = entries_[file];
  bool is_new = false;
  {
    const std::lock_guard<Latch> guard(latch_);
    is_new = !e.is_in;
    ++e.users;
    ++e.uses;
    if (is_new) {
      e.is_in = true;
      used_words_ += site_.words(file);
      link(file);
      make_room();
      e.loading.lock();  // free: no other thread has known of the file
    } else if (newest_ != file) {
      unlink(file);
      link(file);
    }
  }
  if (is_new) {
    e.content.reset(new std::uint64_t[site_.words(file)]);
    site_.read(file, e.content.get());
    e.loading.unlock();
  } else {
    const std::lock_guard<Latch> guard(e.loading);
  }
  return e.content.get();
}

void LruCache::release(unsigned file) {
  const std::lock_guard<Latch> guard(latch_);
  --entries_[file].users;
}

void LruCache::verify() const {
  std::uint64_t words = 0, files = 0;
  for (unsigned file = newest_; file != kNone; file = entries_[file].older) {
    const Entry& e = entries_[file];
    if (!e.is_in || e.users != 0 || e.content == nullptr)
      throw WrongResult("file " + std::to_string(file) +
                        " is in the cache's list, but not in the cache at rest");
    words += site_.words(file);
    if (++files > entries_.size()) throw WrongResult("the cache's list goes in a circle");
  }
  for (const Entry& e : entries_) files -= e.is_in ? 1 : 0;
  if (words != used_words_ || files != 0)
    throw WrongResult("the cache's list and its count of words do not agree");
}

}  // namespace rubato::workloads::web
