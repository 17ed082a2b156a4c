// SPDX-License-Identifier: MIT
#include "apps/kvstore/queries.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::apps::kvstore {
namespace {

constexpr double kZipfianExponent = 0.99;  // as YCSB

/// The share of queries up to each rank.
std::vector<double> zipfian_shares(std::uint32_t tuples) {
  std::vector<double> shares(tuples);
  double sum = 0;
  for (std::uint32_t rank = 0; rank < tuples; ++rank) {
    sum += std::pow(rank + 1.0, -kZipfianExponent);
    shares[rank] = sum;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

/// The tuple of each rank.
std::vector<std::uint32_t> scattered(std::uint32_t tuples, Rng& rng) {
  std::vector<std::uint32_t> keys(tuples);
  for (std::uint32_t i = 0; i < tuples; ++i) keys[i] = i;
  for (std::uint32_t i = tuples; i > 1; --i) std::swap(keys[i - 1], keys[rng.below(i)]);
  return keys;
}

}  // namespace

std::vector<Query> random_queries(const Mix& mix) {
  Rng rng(mix.seed);
  const bool is_zipfian = mix.distribution == Distribution::zipfian;
  std::vector<double> shares;
  std::vector<std::uint32_t> keys;
  if (is_zipfian) {
    shares = zipfian_shares(mix.tuples);
    keys = scattered(mix.tuples, rng);
  }
  std::vector<Query> queries(mix.queries);
  for (Query& query : queries) {
    if (is_zipfian) {
      constexpr std::uint64_t kParts = std::uint64_t{1} << 32;
      const double at = static_cast<double>(rng.below(kParts)) / static_cast<double>(kParts);
      const auto rank = std::upper_bound(shares.begin(), shares.end() - 1, at) - shares.begin();
      query.key = keys[static_cast<std::size_t>(rank)];
    } else {
      query.key = static_cast<std::uint32_t>(rng.below(mix.tuples));
    }
    query.writes = rng.below(100) < mix.write_percent;
  }
  return queries;
}

std::uint64_t checksum(const Contents& contents) {
  std::uint64_t hash = contents.wrong_reads;
  for (const std::uint64_t version : contents.versions) hash = mix64(hash ^ version);
  return hash;
}

std::vector<std::uint64_t> new_tuples(std::uint32_t tuples) {
  std::vector<std::uint64_t> words(std::uint64_t{tuples} * kWords);
  for (Key key = 0; key < tuples; ++key) fill(words.data() + key * kWords, key);
  return words;
}

Contents answer_serially(std::uint32_t tuples, const std::vector<Query>& queries) {
  std::vector<std::uint64_t> words = new_tuples(tuples);
  return answer_serially(words, queries);
}

Contents answer_serially(std::vector<std::uint64_t>& words, const std::vector<Query>& queries) {
  Contents contents;
  for (const Query& query : queries) {
    std::uint64_t* const tuple = words.data() + std::uint64_t{query.key} * kWords;
    if (query.writes) {
      write_field(tuple);
    } else if (!is_right(tuple, query.key)) {
      ++contents.wrong_reads;
    }
  }
  for (std::size_t i = 0; i < words.size(); i += kWords) contents.versions.push_back(words[i + kVersion]);
  return contents;
}

}  // namespace rubato::apps::kvstore
