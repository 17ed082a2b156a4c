// SPDX-License-Identifier: MIT
#include "apps/ycsb/workload.hpp"

#include <algorithm>
#include <cstddef>

#include "apps/common/input_error.hpp"

namespace rubato::apps::ycsb {
namespace {

/// Mix of requests in percent; the rest is `other`.
struct Mix {
  char name;
  unsigned lookups;
  Kind other;
};
constexpr Mix kMixes[] = {
    {'A', 50, Kind::update}, {'B', 95, Kind::update}, {'C', 100, Kind::lookup},
    {'D', 95, Kind::insert}, {'E', 95, Kind::insert}, {'F', 50, Kind::add},
};

/// The inverse of mix64 (base/rng.hpp): each of its steps undone, last first.
std::uint64_t unmix64(std::uint64_t x) {
  const auto unshift = [](std::uint64_t v, unsigned shift) {
    std::uint64_t result = v;
    for (unsigned known = shift; known < 64; known += shift) result = v ^ (result >> shift);
    return result;
  };
  x = unshift(x, 31) * 0x319642b2d24d8ec3u;
  x = unshift(x, 27) * 0x96de1b173f119089u;
  return unshift(x, 30) - 0x9e3779b97f4a7c15u;
}

/// By the upper 16 bits into buckets, then each bucket alone: hashed keys fill the buckets evenly.
void sort_keys(std::vector<Key>& keys) {
  constexpr unsigned kShift = 48;
  std::vector<std::size_t> begin((std::size_t{1} << 16) + 1);
  for (const Key key : keys) ++begin[(key >> kShift) + 1];
  for (std::size_t b = 1; b < begin.size(); ++b) begin[b] += begin[b - 1];
  std::vector<Key> sorted(keys.size());
  std::vector<std::size_t> next = begin;
  for (const Key key : keys) sorted[next[key >> kShift]++] = key;
  for (std::size_t b = 0; b + 1 < begin.size(); ++b) {
    std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(begin[b]),
              sorted.begin() + static_cast<std::ptrdiff_t>(begin[b + 1]));
  }
  keys.swap(sorted);
}

/// The window is [first, end): as many records as were loaded, one more between an insertion and a removal.
std::vector<Request> make_churn(const WorkloadOptions& o) {
  const KeySpace space(o.key_order);
  Rng rng(o.seed);
  RecordChooser choose(o.distribution, o.records);
  std::uint64_t first = 0, end = o.records;
  std::vector<Request> requests;
  requests.reserve(o.operations);
  while (requests.size() < o.operations) {
    const std::uint64_t dice = rng.below(100);
    if (dice < 15) {
      requests.push_back({space.key_of(first + choose(rng)), Kind::lookup, 0});
    } else if (dice < 20) {
      const auto length = static_cast<std::uint8_t>(1 + rng.below(kLongestScan));
      requests.push_back({space.key_of(first + choose(rng)), Kind::scan, length});
    } else if (end - first == o.records) {
      requests.push_back({space.key_of(end++), Kind::insert, 0});
    } else {
      requests.push_back({space.key_of(first++), Kind::remove, 0});
    }
  }
  return requests;
}

}  // namespace

Key KeySpace::key_of(std::uint64_t record) const {
  return order_ == KeyOrder::hashed ? mix64(record) : record;
}
std::uint64_t KeySpace::record_of(Key key) const { return order_ == KeyOrder::hashed ? unmix64(key) : key; }

std::vector<Key> sorted_keys(const KeySpace& space, std::uint64_t records) {
  std::vector<Key> keys(records);
  for (std::uint64_t r = 0; r < records; ++r) keys[r] = space.key_of(r);
  sort_keys(keys);
  if (!keys.empty() && keys.back() > kLargestKey) {
    throw InputError("--records " + std::to_string(records) + " contains a record whose hash is not a key");
  }
  return keys;
}

Distribution usual_distribution(char workload) {
  if (workload == kChurn) return Distribution::uniform;
  return workload == 'D' ? Distribution::latest : Distribution::zipfian;
}

KeyOrder usual_key_order(char workload) { return workload == kChurn ? KeyOrder::ordered : KeyOrder::hashed; }

std::vector<Request> make_requests(const WorkloadOptions& o) {
  if (o.name == kChurn) return make_churn(o);
  const Mix& mix = kMixes[o.name - 'A'];
  const KeySpace space(o.key_order);
  Rng rng(o.seed);
  RecordChooser choose(o.distribution, o.records);
  std::vector<Request> requests;
  requests.reserve(o.operations);
  for (std::uint64_t i = 0; i < o.operations; ++i) {
    const bool is_lookup = rng.below(100) < mix.lookups;
    if (is_lookup && o.name == 'E') {
      const auto length = static_cast<std::uint8_t>(1 + rng.below(kLongestScan));
      requests.push_back({space.key_of(choose(rng)), Kind::scan, length});
    } else if (!is_lookup && mix.other == Kind::insert) {
      requests.push_back({space.key_of(choose.records()), Kind::insert, 0});
      choose.grow();
    } else {
      requests.push_back({space.key_of(choose(rng)), is_lookup ? Kind::lookup : mix.other, 0});
    }
  }
  return requests;
}

std::vector<Request> load_requests(const KeySpace& space, std::uint64_t first, std::uint64_t last) {
  std::vector<Request> requests;
  requests.reserve(last - first);
  for (std::uint64_t r = first; r < last; ++r) requests.push_back({space.key_of(r), Kind::insert, 0});
  return requests;
}

}  // namespace rubato::apps::ycsb
