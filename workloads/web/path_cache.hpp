// From paths to files, shared by all threads: a table of chains, with a latch and a count of uses each.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "workloads/common/latch.hpp"
#include "workloads/web/site.hpp"

namespace rubato::workloads::web {

class PathCache {
 public:
  explicit PathCache(const Site& site) : site_(site), chains_(1024) {}
  PathCache(const PathCache&) = delete;
  PathCache& operator=(const PathCache&) = delete;
  ~PathCache();

  /// The file of a path, or Site::kNotFound.
  unsigned find(std::string_view path);
  [[nodiscard]] std::uint64_t uses() const;

 private:
  struct Entry {
    std::array<char, 32> path;
    unsigned size, file;
    std::uint64_t uses;
    Entry* next;
  };
  struct alignas(64) Chain {
    Latch latch;
    Entry* first = nullptr;
  };

  const Site& site_;
  std::vector<Chain> chains_;
};

}  // namespace rubato::workloads::web
