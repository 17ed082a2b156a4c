// The requests of a run: workloads A to F of YCSB (Cooper et al., SoCC 2010) and churn, made before the run
// from a seed. Every value names its writer: the loaded value of a record is its number, request i writes
// kFirstWritten + i. Workload F adds 1 instead.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/ycsb/distribution.hpp"
#include "apps/ycsb/operation.hpp"

namespace rubato::apps::ycsb {

/// How records become keys.
enum class KeyOrder : std::uint8_t {
  hashed,   ///< scattered over 64 bits (YCSB's default)
  ordered,  ///< 0, 1, 2, ...
};

class KeySpace {
 public:
  explicit KeySpace(KeyOrder order) : order_(order) {}
  Key key_of(std::uint64_t record) const;
  /// The inverse: some number without record for keys that no record has.
  std::uint64_t record_of(Key key) const;

 private:
  KeyOrder order_;
};

/// The keys of records 0 to `records` - 1, ascending. InputError if one of them is not a key of the tree.
std::vector<Key> sorted_keys(const KeySpace& space, std::uint64_t records);

struct Request {
  Key key;
  Kind kind;
  std::uint8_t length;  ///< of a scan
};

inline constexpr Value kFirstWritten = std::uint64_t{1} << 40;  // more than there are records

/// Not of YCSB: a window that slides over the records. 40 % insertions of the next record, as many removals
/// of the oldest one, 15 % lookups and 5 % scans in the window.
inline constexpr char kChurn = 'W';

struct WorkloadOptions {
  char name = 'C';  ///< 'A' to 'F', kChurn
  Distribution distribution = Distribution::zipfian;
  KeyOrder key_order = KeyOrder::hashed;
  std::uint64_t records = 100'000;
  std::uint64_t operations = 1'000'000;
  std::uint64_t seed = 1;
};

/// D's own distribution is latest, churn's is uniform, that of all others is Zipfian.
Distribution usual_distribution(char workload);
/// Hashed; ordered for churn, so that whole nodes become empty where the window has passed.
KeyOrder usual_key_order(char workload);

std::vector<Request> make_requests(const WorkloadOptions& options);
/// Insertions of the records [first, last).
std::vector<Request> load_requests(const KeySpace& space, std::uint64_t first, std::uint64_t last);

/// Operation of request `index` on the tree: it writes `first_value` + index. `buffer` is for scans.
inline Operation operation_of(const Request& request, std::uint64_t index, Value first_value,
                              ScanBuffer* buffer) {
  return {request.key, request.kind == Kind::add ? 1 : first_value + index, request.kind, request.length,
          request.kind == Kind::scan ? buffer : nullptr};
}

}  // namespace rubato::apps::ycsb
