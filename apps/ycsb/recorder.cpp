// SPDX-License-Identifier: MIT
#include "apps/ycsb/recorder.hpp"

#include <algorithm>

namespace rubato::apps::ycsb {

std::vector<std::uint64_t> Recorder::latencies() const {
  std::vector<std::uint64_t> result;
  for (const Event& event : events_) {
    if (event.responded != 0) result.push_back(event.responded - event.invoked);
  }
  std::sort(result.begin(), result.end());
  return result;
}

void Recorder::keep_scan(std::uint64_t request, const Answer& answer, const ScanBuffer& scan) {
  for (unsigned i = 0; i < answer.value; ++i) {
    scans_[request].push_back({scan.pairs[i].key, scan.pairs[i].value});
  }
}

}  // namespace rubato::apps::ycsb
