// Rare paths of the signature tables, kept out of the usual one: exact sets and growth.
// SPDX-License-Identifier: MIT
#include "chip/conflict/signature_table.hpp"

#include <algorithm>

namespace rubato::chip {

namespace {
/// Copies a row of 2 * `from_words` into one of 2 * `to_words`.
void copy_row(const std::uint64_t* from, std::uint32_t from_words, std::uint64_t* to,
              std::uint32_t to_words) {
  std::copy_n(from, from_words, to);
  std::copy_n(from + from_words, from_words, to + to_words);
}
}  // namespace

void BloomTable::widen(std::uint32_t words) { bits_.resize(std::size_t{rows_} * 2 * words); }

[[gnu::noinline]] void ExactTable::add(const Probe& p, std::uint32_t slot, bool write) {
  lines_.insert(p.line)[(write ? words_ : 0) + slot / 64] |= std::uint64_t{1} << slot % 64;
}

[[gnu::noinline]] void ExactTable::remove(const Probe& p, std::uint32_t slot, bool write) {
  std::uint64_t* const row = lines_.find(p.line);
  if (row == nullptr) return;  // it was added more than once
  row[(write ? words_ : 0) + slot / 64] &= ~(std::uint64_t{1} << slot % 64);
  if (std::all_of(row, row + 2 * words_, [](std::uint64_t w) { return w == 0; })) lines_.erase(p.line);
}

[[gnu::noinline]] bool ExactTable::match(const Probe& p, bool reads, std::uint32_t words,
                                         std::uint64_t* out) const {
  const std::uint64_t* const row = lines_.find(p.line);
  if (row == nullptr) return false;
  std::uint64_t any = 0;
  for (std::uint32_t w = 0; w < words; ++w) {
    any |= out[w] = reads ? row[w] : 0;
    any |= out[words + w] = row[words_ + w];
  }
  return any != 0;
}

void ExactTable::widen(std::uint32_t words) {
  lines_.widen(2 * words,
               [&](const std::uint64_t* from, std::uint64_t* to) { copy_row(from, words_, to, words); });
  words_ = words;
}

}  // namespace rubato::chip
