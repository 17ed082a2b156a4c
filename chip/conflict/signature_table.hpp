// The read and write sets of a tile's uncommitted attempts, transposed: a row holds one bit a slot. A look-up
// thus yields the mask of all slots whose set has (or, with Bloom filters, seems to have) a line. Two kinds,
// chosen by conflict.sets.
//
//   slot     a column: an attempt's place in its tile from dispatch to commit or abort
//   row      the words of one filter bit or line: reads of every slot, then writes of every slot
//   words    64-bit words of one mask: slots / 64 rounded up
// A column is cleared through the exact list of lines that were added to it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/prefetch.hpp"
#include "chip/conflict/h3.hpp"
#include "chip/conflict/line_table.hpp"
#include "chip/speculation/probe.hpp"

namespace rubato::chip {

class BloomTable {
 public:
  /// `h3` must outlive the table and gives its shape.
  BloomTable(const H3& h3, std::uint32_t words)
      : h3_(&h3),
        rows_(h3.ways() * h3.rows()),
        is_usual_(h3.is_in_bytes() && h3.ways() == 8),
        bits_(std::size_t{rows_} * 2 * words) {}

  void add(const Probe& p, std::uint32_t slot, bool write) {
    std::uint64_t* const column = this->column(slot, write);
    for_each_row(p, [&](std::size_t row) { column[row] |= bit(slot); });
  }
  void remove(const Probe& p, std::uint32_t slot, bool write) {
    std::uint64_t* const column = this->column(slot, write);
    for_each_row(p, [&](std::size_t row) { column[row] &= ~bit(slot); });
  }
  /// See SignatureTable.
  bool match(const Probe& p, bool reads, std::uint32_t words, std::uint64_t* out) const {
    std::uint64_t any = 0;
    for (std::uint32_t w = 0; w < words; ++w) {
      const std::uint64_t* const plane = &bits_[std::size_t{w} * rows_ * 2];
      std::uint64_t readers = reads ? ~std::uint64_t{0} : 0, writers = ~std::uint64_t{0};
      const auto meet = [&](std::size_t row) {
        readers &= plane[row];
        writers &= plane[row + 1];
      };
      if (is_usual_) {
        // Four ways seldom leave a slot that all eight would not: a look after each would only be guessed
        // wrongly.
        meet(usual_row(p, 0)), meet(usual_row(p, 1)), meet(usual_row(p, 2)), meet(usual_row(p, 3));
        if ((readers | writers) != 0)
          meet(usual_row(p, 4)), meet(usual_row(p, 5)), meet(usual_row(p, 6)), meet(usual_row(p, 7));
      } else {
        for_each_row(p, meet);
      }
      out[w] = readers;
      out[words + w] = writers;
      any |= readers | writers;
    }
    return any != 0;
  }
  void prefetch(const Probe& p, std::uint32_t first, std::uint32_t words) const {
    for (std::uint32_t w = first; w < first + words; ++w)
      for_each_row(p, [&](std::size_t row) { rubato::prefetch(&bits_[std::size_t{w} * rows_ * 2 + row]); });
  }
  void widen(std::uint32_t words);

 private:
  static std::uint64_t bit(std::uint32_t slot) { return std::uint64_t{1} << slot % 64; }
  static std::size_t usual_row(const Probe& p, unsigned way) {
    return (p.hash >> way * 8 & 0xff) * 2 + way * std::size_t{2 * 256};
  }
  /// f(word) for the line's row of each way: where it begins, of 64 slots.
  template <class F>
  [[gnu::always_inline]] void for_each_row(const Probe& p, F f) const {
    if (is_usual_) {
      f(usual_row(p, 0)), f(usual_row(p, 1)), f(usual_row(p, 2)), f(usual_row(p, 3));
      f(usual_row(p, 4)), f(usual_row(p, 5)), f(usual_row(p, 6)), f(usual_row(p, 7));
    } else {
      const BloomRows rows = h3_->rows(p.line);
      for (std::uint32_t way = 0; way < h3_->ways(); ++way) f(std::size_t{2} * rows.at[way]);
    }
  }
  /// The slot's word in row 0; rows are two words apart.
  std::uint64_t* column(std::uint32_t slot, bool write) {
    return &bits_[std::size_t{slot / 64} * rows_ * 2 + (write ? 1 : 0)];
  }

  const H3* h3_;
  std::uint32_t rows_;
  bool is_usual_;  // eight ways of 256 rows, as by default: a line's are all in its hash
  // By 64 slots, row, reads before writes: a tile with few attempts uses little of it.
  std::vector<std::uint64_t> bits_;
};

class ExactTable {
 public:
  explicit ExactTable(std::uint32_t words) : words_(words), lines_(2 * words) {}

  void add(const Probe& p, std::uint32_t slot, bool write);
  void remove(const Probe& p, std::uint32_t slot, bool write);
  bool match(const Probe& p, bool reads, std::uint32_t words, std::uint64_t* out) const;
  void widen(std::uint32_t words);

 private:
  std::uint32_t words_;
  LineTable lines_;
};

/// A tile's table of either kind.
class SignatureTable {
 public:
  /// `h3`: of Bloom filters; null: exact sets. `slots` >= 1.
  SignatureTable(const H3* h3, std::uint32_t slots)
      : words_((slots + 63) / 64),
        table_(h3 != nullptr
                   ? std::variant<BloomTable, ExactTable>(std::in_place_type<BloomTable>, *h3, words_)
                   : std::variant<BloomTable, ExactTable>(std::in_place_type<ExactTable>, words_)) {}

  std::uint32_t words() const { return words_; }
  void add(const Probe& p, std::uint32_t slot, bool write) {
    on_table([&](auto& t) { t.add(p, slot, write); });
  }
  /// Takes a line that was added out of a column. Bits it shares with the column's other lines go too: only
  /// whole columns are cleared, line by line.
  void remove(const Probe& p, std::uint32_t slot, bool write) {
    on_table([&](auto& t) { t.remove(p, slot, write); });
  }
  /// The slots whose sets have the line, of the first 64 * `words`, behind which all columns are empty. out:
  /// `words` of readers (none unless `reads`), then of writers. False: no slot has it, and out is undefined.
  bool match(const Probe& p, bool reads, std::uint32_t words, std::uint64_t* out) const {
    if (const auto* bloom = std::get_if<BloomTable>(&table_)) return bloom->match(p, reads, words, out);
    return std::get_if<ExactTable>(&table_)->match(p, reads, words, out);
  }
  /// Software prefetch of the host memory that match() of the line will read.
  void prefetch(const Probe& p, std::uint32_t words) const {
    if (const auto* bloom = std::get_if<BloomTable>(&table_)) bloom->prefetch(p, 0, words);
  }
  /// The same for add() and remove().
  void prefetch_column(const Probe& p, std::uint32_t slot) const {
    if (const auto* bloom = std::get_if<BloomTable>(&table_)) bloom->prefetch(p, slot / 64, 1);
  }
  /// Room for twice as many slots.
  void widen() {
    words_ *= 2;
    on_table([&](auto& t) { t.widen(words_); });
  }

 private:
  template <class F>
  void on_table(F&& f) {
    if (auto* bloom = std::get_if<BloomTable>(&table_)) {
      f(*bloom);
    } else {
      f(*std::get_if<ExactTable>(&table_));
    }
  }

  std::uint32_t words_;
  std::variant<BloomTable, ExactTable> table_;
};

}  // namespace rubato::chip
