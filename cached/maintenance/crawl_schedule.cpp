// SPDX-License-Identifier: MIT
#include "cached/maintenance/crawl_schedule.hpp"

#include <algorithm>

namespace rubato::cached {

std::uint64_t CrawlSchedule::due(std::uint32_t now) {
  std::uint64_t bits = 0;
  for (unsigned c = 1; c < kMaxClasses; ++c) {
    if (now <= classes_[c].next) continue;
    bits |= std::uint64_t{1} << c;
    classes_[c].next = now + kRetry;
  }
  return bits;
}

void CrawlSchedule::note(const CrawlCensus& census, std::uint64_t classes, std::uint32_t now) {
  for (unsigned c = 1; c < kMaxClasses; ++c) {
    if (!(classes >> c & 1)) continue;
    Class& k = classes_[c];
    const CrawlCensus::Class& seen = census.classes[c];
    const std::uint64_t worth = (seen.alive - seen.without_expiry) / 100 + 1;
    std::uint64_t expiring = 0;
    for (std::uint32_t minute = 0; minute < CrawlCensus::kMinutes; ++minute) {
      expiring += seen.by_minute[minute];
      if (expiring <= worth) continue;
      // The wait approaches the minute in which enough of them will have expired.
      if (k.wait < minute * 60)
        k.wait += kStep;
      else if (k.wait >= kStep)
        k.wait -= kStep;
      break;
    }
    if (expiring == 0) k.wait += kStep;
    k.wait = std::min(k.wait, kMost);
    k.next = now + k.wait + kMargin;
  }
}

}  // namespace rubato::cached
