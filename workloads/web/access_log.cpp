// SPDX-License-Identifier: MIT
#include "workloads/web/access_log.hpp"

#include <algorithm>
#include <mutex>

namespace rubato::workloads::web {

void LogCount::add(std::string_view text) {
  for (const char c : text) {
    lines += c == '\n' ? 1 : 0;
    characters += static_cast<unsigned char>(c);
  }
}

void AccessLog::append(std::string_view line, LogCount& appended) {
  {
    const std::lock_guard<DataLatch> guard(latch_);
    std::size_t at = used_;
    if (at + line.size() + 1 > buffer_.size()) {
      written_.add({buffer_.data(), at});
      at = 0;
    }
    std::copy(line.begin(), line.end(), buffer_.begin() + static_cast<std::ptrdiff_t>(at));
    buffer_[at + line.size()] = '\n';
    used_ = at + line.size() + 1;
  }
  appended.add(line);
  appended.add("\n");
}

LogCount AccessLog::count() const {
  LogCount all = written_;
  all.add({buffer_.data(), used_});
  return all;
}

}  // namespace rubato::workloads::web
