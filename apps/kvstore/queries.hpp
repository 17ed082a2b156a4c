// The queries of kvstore: YCSB's queries on tuples, reads and writes, and the answer without tasks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/kvstore/tuple.hpp"

namespace rubato::apps::kvstore {

struct Query {
  std::uint32_t key = 0;
  bool writes = false;
};

enum class Distribution : std::uint8_t {
  uniform,
  zipfian,  ///< popularity by rank to the power of -0.99, the ranks scattered over the tuples
};

struct Mix {
  std::uint32_t tuples = 1024;
  std::uint32_t queries = 4096;
  std::uint32_t write_percent = 20;
  Distribution distribution = Distribution::uniform;
  std::uint64_t seed = 1;
};
std::vector<Query> random_queries(const Mix& mix);

/// The result of a run: the same whatever the order of queries.
struct Contents {
  std::vector<std::uint64_t> versions;  ///< of each tuple
  std::uint64_t wrong_reads = 0;        ///< that found a wrong checksum
  bool operator==(const Contents&) const = default;
};
std::uint64_t checksum(const Contents& contents);

/// Tuples that were never written, one behind the other.
std::vector<std::uint64_t> new_tuples(std::uint32_t tuples);
/// The serial reference: all tuples in memory, one query after the other.
Contents answer_serially(std::vector<std::uint64_t>& tuples, const std::vector<Query>& queries);
Contents answer_serially(std::uint32_t tuples, const std::vector<Query>& queries);

}  // namespace rubato::apps::kvstore
