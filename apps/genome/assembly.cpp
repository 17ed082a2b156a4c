// SPDX-License-Identifier: MIT
// Looks up beginnings in a hash table of all segments without a predecessor, where tasks sort both kinds of
// ends into buckets: a mistake in one is not repeated in the other.
#include "apps/genome/assembly.hpp"

#include <algorithm>
#include <unordered_map>

namespace rubato::apps::genome {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

struct Hash {
  std::size_t operator()(const Segment& segment) const { return segment.hash(); }
};

struct Links {
  std::vector<std::uint32_t> next;
  std::vector<std::uint32_t> overlap;  // with the next
  std::vector<bool> has_previous;
};

/// In the order of their first appearance.
std::vector<Segment> without_doubles(const std::vector<Segment>& segments) {
  std::unordered_map<Segment, bool, Hash> seen;
  std::vector<Segment> unique;
  for (const Segment& segment : segments) {
    if (seen.emplace(segment, true).second) unique.push_back(segment);
  }
  return unique;
}

void link(const std::vector<Segment>& unique, Links& links, std::uint64_t overlap, std::uint64_t length) {
  std::unordered_map<Segment, std::vector<std::uint32_t>, Hash> beginnings;  // by number, the least last
  for (auto i = static_cast<std::uint32_t>(unique.size()); i-- > 0;) {
    if (!links.has_previous[i]) beginnings[unique[i].first(overlap, length)].push_back(i);
  }
  for (std::uint32_t i = 0; i < unique.size(); ++i) {
    if (links.next[i] != kNone) continue;
    const auto found = beginnings.find(unique[i].last(overlap));
    if (found == beginnings.end()) continue;
    std::vector<std::uint32_t>& candidates = found->second;
    const auto other =
        std::find_if(candidates.rbegin(), candidates.rend(), [i](std::uint32_t c) { return c != i; });
    if (other == candidates.rend()) continue;
    links.next[i] = *other;
    links.overlap[i] = static_cast<std::uint32_t>(overlap);
    links.has_previous[*other] = true;
    candidates.erase(std::next(other).base());
  }
}

}  // namespace

Assembly assemble_serially(const std::vector<Segment>& segments, std::uint64_t length) {
  const std::vector<Segment> unique = without_doubles(segments);
  Links links{std::vector<std::uint32_t>(unique.size(), kNone), std::vector<std::uint32_t>(unique.size(), 0),
              std::vector<bool>(unique.size())};
  for (std::uint64_t overlap = length - 1; overlap > 0; --overlap) link(unique, links, overlap, length);
  Assembly result;
  result.unique = unique.size();
  std::vector<bool> is_placed(unique.size());
  const auto place_chain = [&](std::uint32_t first) {
    ++result.chains;
    std::uint64_t fresh = length;  // nucleotides that the chain does not have yet
    for (std::uint32_t i = first; i != kNone && !is_placed[i]; i = links.next[i]) {
      append(result.gene, unique[i], fresh);
      is_placed[i] = true;
      fresh = length - links.overlap[i];
    }
  };
  for (std::uint32_t i = 0; i < unique.size(); ++i) {
    if (!links.has_previous[i]) place_chain(i);
  }
  for (std::uint32_t i = 0; i < unique.size(); ++i) {
    if (is_placed[i]) continue;
    std::uint32_t weakest = i;
    for (std::uint32_t j = links.next[i]; j != i; j = links.next[j]) {
      if (links.overlap[j] < links.overlap[weakest]) weakest = j;
    }
    place_chain(links.next[weakest]);
  }
  return result;
}

}  // namespace rubato::apps::genome
