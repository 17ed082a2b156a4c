// The server's access log: lines of text in a shared buffer, which is written out when it is full: here it is
// counted. So --verify can compare the lines and their characters with what threads have appended.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/common/latch.hpp"

namespace rubato::workloads::web {

struct LogCount {
  std::uint64_t lines = 0, characters = 0;  ///< characters: their sum
  void add(std::string_view text);
  bool operator==(const LogCount&) const = default;
};

class AccessLog {
 public:
  explicit AccessLog(std::size_t bytes) : buffer_(bytes) {}
  /// A line without its end. `appended`: the thread's own count.
  void append(std::string_view line, LogCount& appended);
  /// All that was appended.
  [[nodiscard]] LogCount count() const;

 private:
  alignas(64) DataLatch latch_;
  std::size_t used_ = 0;
  LogCount written_;
  std::vector<char> buffer_;
};

}  // namespace rubato::workloads::web
