// SPDX-License-Identifier: MIT
#include "workloads/web_events/clock_cache.hpp"

#include <mutex>

#include "workloads/common/workload.hpp"

namespace rubato::workloads::web {

const std::uint64_t* ClockCache::acquire(unsigned file) {
  Entry& e = entries_[file];
  bool is_new = false;
  const std::uint64_t* content = nullptr;
  {
    const std::lock_guard<Latch> guard(e.latch);
    ++e.users;
    is_new = e.content == nullptr;
    if (is_new) {
      e.content.reset(new std::uint64_t[site_.words(file)]);
      site_.read(file, e.content.get());
    }
    if (!e.was_used) e.was_used = true;
    content = e.content.get();
  }
  if (is_new && used_words_.fetch_add(site_.words(file)) + site_.words(file) > words_) make_room();
  return content;
}

void ClockCache::release(unsigned file) {
  const std::lock_guard<Latch> guard(entries_[file].latch);
  --entries_[file].users;
}

void ClockCache::make_room() {
  const std::lock_guard<Latch> guard(hand_latch_);
  for (unsigned tries = 0; tries < 2 * entries_.size() && used_words_.load() > words_; ++tries) {
    const unsigned file = hand_;
    hand_ = hand_ + 1 == entries_.size() ? 0 : hand_ + 1;
    Entry& e = entries_[file];
    const std::lock_guard<Latch> entry_guard(e.latch);
    if (e.users > 0 || e.content == nullptr) continue;
    if (e.was_used) {
      e.was_used = false;
      continue;
    }
    e.content.reset();
    used_words_.fetch_sub(site_.words(file));
  }
}

void ClockCache::verify(std::uint64_t users) const {
  std::uint64_t words = 0;
  for (unsigned file = 0; file < entries_.size(); ++file) {
    const Entry& e = entries_[file];
    if (e.content != nullptr) words += site_.words(file);
    if (e.users > users) throw WrongResult("the cache has more users than there are");
    users -= e.users;
  }
  if (words != used_words_.load())
    throw WrongResult("the cached files and the cache's count of words do not agree");
  if (users != 0) throw WrongResult("the cache has fewer users than there are");
}

}  // namespace rubato::workloads::web
