// SPDX-License-Identifier: MIT
#include "chip/coherence/prefetcher.hpp"

#include <algorithm>
#include <cstdlib>

#include "chip/cache/l1_cache.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

Prefetcher::Prefetcher(const CacheSection& l1d)
    : is_stride_(l1d.prefetcher == "stride"),
      degree_(l1d.prefetch_degree),
      distance_(l1d.prefetch_distance),
      entries_(l1d.prefetch_entries),
      streams_(is_stride_ ? l1d.prefetch_streams : 0) {
  under_way_.reserve(entries_);
}

std::span<const LineAddr> Prefetcher::observe(LineAddr line) {
  named_count_ = 0;
  ++uses_;
  if (!is_stride_) {
    name_next_lines(line);
  } else if (Stream* const stream = follow(line); stream != nullptr && stream->seen == kConfirmed) {
    name_strides(*stream);
  }
  return {named_.data(), named_count_};
}

bool Prefetcher::name(LineAddr used, std::int64_t offset) {
  const LineAddr line{used.value + static_cast<std::uint64_t>(offset)};
  if (line.value / kPageLines != used.value / kPageLines) return false;
  named_[named_count_++] = line;
  return true;
}

void Prefetcher::name_next_lines(LineAddr line) {
  for (std::uint32_t i = 1; i <= degree_ && name(line, i); ++i) continue;
}

void Prefetcher::name_strides(Stream& stream) {
  while (named_count_ < degree_ && stream.ahead < distance_) {
    if (!name(stream.last, stream.stride * (std::int64_t{stream.ahead} + 1))) return;
    ++stream.ahead;
  }
}

Prefetcher::Stream* Prefetcher::follow(LineAddr line) {
  Stream* nearest = nullptr;
  std::int64_t nearest_step = 0;
  Stream* oldest = &streams_.front();
  for (Stream& s : streams_) {
    if (s.used < oldest->used) oldest = &s;
    if (s.used == 0) continue;
    const auto step = static_cast<std::int64_t>(line.value - s.last.value);
    if (step == 0) {
      s.used = uses_;
      return nullptr;
    }
    // Uses of a confirmed stream may pass each other, or skip lines that the L1 has.
    if (s.seen == kConfirmed && step % s.stride == 0) {
      const std::int64_t strides = step / s.stride;
      if (strides > 0 && strides <= std::int64_t{distance_} + 1) {
        s.last = line;
        s.ahead -= static_cast<std::uint32_t>(std::min<std::int64_t>(strides, s.ahead));
        s.used = uses_;
        return &s;
      }
      if (strides < 0 && -strides <= std::int64_t{distance_}) {
        s.used = uses_;
        return nullptr;
      }
    }
    if (std::abs(step) <= kReach && (nearest == nullptr || std::abs(step) < std::abs(nearest_step))) {
      nearest = &s;
      nearest_step = step;
    }
  }
  if (nearest == nullptr) {
    *oldest = {.last = line, .used = uses_};
    return nullptr;
  }
  Stream& s = *nearest;
  s.seen = s.stride == nearest_step ? std::min(s.seen + 1, kConfirmed) : 1;
  s.stride = nearest_step;
  s.last = line;
  s.ahead = 0;
  s.used = uses_;
  return &s;
}

bool Prefetcher::is_full(Cycle now) {
  if (under_way_.size() < entries_) return false;
  std::erase_if(under_way_, [now](const UnderWay& u) { return u.there <= now; });
  return under_way_.size() >= entries_;
}

Cycle Prefetcher::take(LineAddr line) {
  // An earlier request for the line may be listed, too: the L1 has lost what it brought.
  Cycle there{};
  std::erase_if(under_way_, [&](const UnderWay& u) {
    if (u.line == line) there = later(there, u.there);
    return u.line == line;
  });
  return there;
}

void Prefetcher::forget() {
  std::fill(streams_.begin(), streams_.end(), Stream{});
  under_way_.clear();
}

void Prefetcher::register_stats(StatRegistry& registry, const std::string& prefix, const L1Cache& l1d) const {
  const auto counter = [&](const char* name, const char* unit, const char* description,
                           const std::uint64_t* value) {
    registry.counter(prefix + ".prefetch." + name, unit, description, value);
  };
  counter("issued", "lines", "lines that the prefetcher asked for", &counters.issued);
  counter("dropped", "lines", "lines that it would have asked for, had there been room for the request",
          &counters.dropped);
  counter("useful", "lines", "prefetched lines that the core used", &counters.useful);
  counter("late", "lines", "of them, lines that were still on their way then", &counters.late);
  counter("useless", "lines", "prefetched lines that left this cache unused", &l1d.moves.unused);
  counter("uncovered", "accesses", "misses of loads and stores whose line no prefetch had asked for",
          &counters.uncovered);
}

}  // namespace rubato::chip
