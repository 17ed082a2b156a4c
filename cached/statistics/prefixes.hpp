// Counts a prefix of keys, for `stats detail`: what is before the first delimiter (-D) of a key. Keys without
// one are not counted. Off unless asked for, since each count takes a lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace rubato::cached {

class PrefixCounts {
 public:
  explicit PrefixCounts(char delimiter) : delimiter_(delimiter) {}

  void get(std::string_view key, bool hit) {
    add(key, [hit](Counts& counts) { ++counts.gets, counts.hits += hit; });
  }
  void set(std::string_view key) {
    add(key, [](Counts& counts) { ++counts.sets; });
  }
  void remove(std::string_view key) {
    add(key, [](Counts& counts) { ++counts.deletes; });
  }
  void reset() {
    std::lock_guard guard(mutex_);
    prefixes_.clear();
  }
  /// A line each, `PREFIX name get n hit n set n del n`, by name.
  std::string dump();

 private:
  struct Counts {
    std::uint64_t gets = 0, hits = 0, sets = 0, deletes = 0;
  };
  template <class F>
  void add(std::string_view key, F&& f) {
    const std::size_t end = key.find(delimiter_);
    if (end == key.npos) return;
    const std::string_view prefix = key.substr(0, end);
    std::lock_guard guard(mutex_);
    auto found = prefixes_.find(prefix);
    if (found == prefixes_.end()) found = prefixes_.emplace(prefix, Counts{}).first;
    f(found->second);
  }

  char delimiter_;
  std::mutex mutex_;
  std::map<std::string, Counts, std::less<>> prefixes_;
};

}  // namespace rubato::cached
