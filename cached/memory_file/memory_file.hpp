// The file of -e, in which items outlive a graceful stop (T102). FILE has the items, FILE.meta says that they
// are whole: it appears last, by a rename, and is gone before the first request of the next server. So a
// server that ends in any other way leaves nothing that could be taken for its items.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "base/owned_fd.hpp"
#include "cached/core/engine.hpp"
#include "cached/memory_file/meta.hpp"

namespace rubato::cached {

/// Calls in this order: `take_back`, `forget`, and `save` at a graceful stop. Errors are an Error with exit
/// code 71. What is not an error, such as a damaged file, is said on standard error.
class MemoryFile {
 public:
  /// Locks the file, and opens all that `save` will need. An error if that is not possible, if another server
  /// has it, or if a file of that name is not rubato-cached's.
  explicit MemoryFile(const std::string& name);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Gives the engine the items that the last graceful stop has left, and the clock their time. Returns how
  /// many. The files stay as they are.
  std::uint64_t take_back(CacheEngine& engine, Clock& clock, HashFunction hash);
  /// From here on no later start takes those items back.
  void forget();
  /// Writes what the engine has.
  void save(CacheEngine& engine, Clock& clock);

 private:
  void open_files();
  void look_at_meta();
  void start_empty(const std::string& reason);
  /// Whether the time since the stop is known; then the clock goes on.
  bool resume(Clock& clock) const;
  Meta write_items(CacheEngine& engine, Clock& clock);
  void write_meta(const Meta& meta);
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_, meta_name_, new_meta_name_;
  OwnedFd file_, folder_, new_meta_;
  bool has_items_ = false;  ///< of an earlier process, as `meta_` says
  bool has_new_meta_ = false;
  Meta meta_;
};

}  // namespace rubato::cached
