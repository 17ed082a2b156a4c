// SPDX-License-Identifier: MIT
#include "chip/session/contention_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace rubato::chip {
namespace {

using Contended = LineContention::Line;
using ContendedRow = std::pair<LineAddr, const Contended*>;

constexpr std::size_t kMostContended = 50, kMostTakers = 64;

std::string_view name_of_wait(LineContention::Wait wait) {
  constexpr std::string_view kNames[] = {"lock", "barrier", "flag"};
  return kNames[static_cast<unsigned>(wait)];
}

std::uint64_t spin_cycles_of(const Contended& line) {
  std::uint64_t sum = 0;
  for (const auto& [address, word] : line.words) sum += word.cycles;
  return sum;
}

/// "0-7 16-23": offsets in the line.
std::string byte_ranges(std::uint64_t bytes) {
  std::string out;
  for (unsigned from = 0; from < kLineBytes;) {
    if ((bytes >> from & 1) == 0) {
      ++from;
      continue;
    }
    unsigned to = from;
    while (to + 1 < kLineBytes && (bytes >> (to + 1) & 1) != 0) ++to;
    out += fmt::format("{}{}-{}", out.empty() ? "" : " ", from, to);
    from = to + 1;
  }
  return out;
}

/// The block that `first`, the first byte in use, is in, and how many blocks all of `bytes` are in. Null:
/// none.
nlohmann::json block_json(const LineBlocks& blocks, Addr first, std::uint64_t bytes,
                          const std::function<std::string(Addr)>& symbol) {
  const std::vector<AllocatedBlock> found = blocks.blocks_of(line_of(first), bytes);
  if (found.empty()) return nullptr;
  const AllocatedBlock& block = found.front();
  const AllocationSites::Site& site = blocks.sites().site(block.site);
  nlohmann::json calls = nlohmann::json::array();
  for (const Addr call : site.calls)
    calls.push_back({{"address", fmt::format("{:#x}", call)}, {"function", symbol(call)}});
  return {{"address", fmt::format("{:#x}", block.begin)},
          {"bytes", block.bytes},
          {"offset", std::max(first, block.begin) - block.begin},
          {"blocks", found.size()},
          {"is_mapping", site.maps},
          {"user", site.user},
          {"at", std::move(calls)}};
}

/// Adds what is known of a line, or a word in it, that no symbol of the program names.
void add_block(nlohmann::json& row, const LineBlocks* blocks, Addr first, std::uint64_t bytes,
               const std::function<std::string(Addr)>& symbol) {
  if (blocks == nullptr || !blocks->sites().is_heap(first)) return;
  row["is_heap"] = true;
  if (nlohmann::json block = block_json(*blocks, first, bytes, symbol); !block.is_null())
    row["block"] = std::move(block);
}

nlohmann::json contended_row(const ContendedRow& row, const LineBlocks* blocks,
                             const std::function<std::string(Addr)>& symbol) {
  const Contended& line = *row.second;
  std::uint64_t touched = 0;
  nlohmann::json users = nlohmann::json::array(), pairs = nlohmann::json::array(),
                 words = nlohmann::json::array();
  for (const LineContention::Use& use : line.users) {
    touched |= use.touched;
    users.push_back({{"core", use.core},
                     {"transfers", use.transfers},
                     {"cycles", use.cycles},
                     {"touched", byte_ranges(use.touched)},
                     {"written", byte_ranges(use.written)}});
  }
  std::vector<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>> taken;
  for (const LineContention::Use& use : line.users)
    for (const auto& [from, transfers] : use.taken_from) taken.emplace_back(transfers, from, use.core);
  std::sort(taken.begin(), taken.end(), [](const auto& a, const auto& b) {
    const auto& [transfers_a, from_a, by_a] = a;
    const auto& [transfers_b, from_b, by_b] = b;
    return std::tuple(transfers_b, from_a, by_a) < std::tuple(transfers_a, from_b, by_b);
  });
  if (taken.size() > kMostTakers) taken.resize(kMostTakers);
  for (const auto& [transfers, from, by] : taken)
    pairs.push_back({{"from", from}, {"by", by}, {"transfers", transfers}});
  for (const auto& [address, word] : line.words) {
    words.push_back({{"offset", address % kLineBytes},
                     {"symbol", symbol(address)},
                     {"waits_for", name_of_wait(word.waits_for())},
                     {"spins", word.spins},
                     {"cycles", word.cycles}});
    add_block(words.back(), blocks, address, std::uint64_t{1} << address % kLineBytes, symbol);
  }
  // The bytes that cores use name the line, not an object that happens to lie at its beginning.
  unsigned first = 0;
  while (first < kLineBytes - 1 && (touched >> first & 1) == 0) ++first;
  nlohmann::json out = {
      {"line", fmt::format("{:#x}", addr_of(row.first))},
      {"symbol", symbol(addr_of(row.first) + first)},
      {"transfers", line.transfers},
      {"cycles", line.cycles},
      {"atomics", line.atomics},
      {"true_sharing", {{"transfers", line.true_transfers}, {"cycles", line.true_cycles}}},
      {"false_sharing", {{"transfers", line.false_transfers}, {"cycles", line.false_cycles}}},
      {"users", std::move(users)},
      {"taken", std::move(pairs)},
      {"spins", std::move(words)}};
  add_block(out, blocks, addr_of(row.first) + first, touched, symbol);
  return out;
}

}  // namespace

nlohmann::json contention_json(const LineContention& contention, const LineBlocks* blocks,
                               const std::function<std::string(Addr)>& symbol) {
  std::vector<ContendedRow> rows;
  for (const auto& [address, line] : contention.lines()) rows.emplace_back(address, line.get());
  const auto cost = [](const ContendedRow& row) {
    return std::max(row.second->cycles, spin_cycles_of(*row.second));
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const ContendedRow& a, const ContendedRow& b) { return cost(a) > cost(b); });
  const std::size_t count = rows.size();
  if (rows.size() > kMostContended) rows.resize(kMostContended);
  nlohmann::json lines = nlohmann::json::array();
  for (const ContendedRow& row : rows) lines.push_back(contended_row(row, blocks, symbol));
  nlohmann::json out = {{"lines", std::move(lines)},
                        {"line_count", count},
                        {"transfers", contention.transfers()},
                        {"cycles", contention.transfer_cycles()},
                        {"miss_cycles", contention.miss_cycles()}};
  if (blocks != nullptr && !blocks->sites().blindness().empty())
    out["no_sites"] = blocks->sites().blindness();
  return out;
}

}  // namespace rubato::chip
