// A hash table from lines to a few words each: open addressing with linear probing, deletion by moving later
// entries back. It is looked up, never walked for results.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LineTable {
 public:
  /// Each line has `words` 64-bit words, at least 1.
  explicit LineTable(std::uint32_t words)
      : words_(words), keys_(kFirst, kEmpty), values_(std::size_t{kFirst} * words) {}

  std::size_t size() const { return size_; }
  /// The line's words, or null. Valid until the next insertion or removal.
  std::uint64_t* find(LineAddr line) { return const_cast<std::uint64_t*>(std::as_const(*this).find(line)); }
  const std::uint64_t* find(LineAddr line) const {
    for (std::size_t i = first(line.value);; i = next(i)) {
      if (keys_[i] == line.value) return &values_[i * words_];
      if (keys_[i] == kEmpty) return nullptr;
    }
  }
  /// The line's words, all zero if it was not here.
  std::uint64_t* insert(LineAddr line) {
    RUBATO_DCHECK(line.value != kEmpty);
    if (std::uint64_t* here = find(line)) return here;
    if ((size_ + 1) * 2 > keys_.size()) grow();
    ++size_;
    return place(line.value);
  }
  /// Removes a line that is here.
  void erase(LineAddr line) {
    std::size_t hole = first(line.value);
    while (keys_[hole] != line.value) {
      RUBATO_DCHECK(keys_[hole] != kEmpty, "erases a line that is not here");
      hole = next(hole);
    }
    for (std::size_t i = next(hole); keys_[i] != kEmpty; i = next(i)) {
      // Entry i may fill the hole unless its search starts behind the hole.
      if (((i - first(keys_[i])) & mask()) < ((i - hole) & mask())) continue;
      keys_[hole] = keys_[i];
      std::copy_n(&values_[i * words_], words_, &values_[hole * words_]);
      hole = i;
    }
    keys_[hole] = kEmpty;
    std::fill_n(&values_[hole * words_], words_, 0);
    --size_;
  }
  /// Gives every line `words` >= the present number of words; `move(from, to)` copies a line's words.
  template <class Move>
  void widen(std::uint32_t words, Move&& move) {
    resize(keys_.size(), words, move);
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // lines are addresses >> 6: none looks so
  static constexpr std::size_t kFirst = 64;

  std::size_t mask() const { return keys_.size() - 1; }
  std::size_t first(std::uint64_t key) const { return mix64(key) & mask(); }
  std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
  std::uint64_t* place(std::uint64_t key) {
    std::size_t i = first(key);
    while (keys_[i] != kEmpty) i = next(i);
    keys_[i] = key;
    return &values_[i * words_];
  }
  void grow() {
    resize(keys_.size() * 2, words_,
           [n = words_](const std::uint64_t* from, std::uint64_t* to) { std::copy_n(from, n, to); });
  }
  template <class Move>
  void resize(std::size_t capacity, std::uint32_t words, Move&& move) {
    std::vector<std::uint64_t> keys(capacity, kEmpty), values(capacity * words);
    keys_.swap(keys);
    values_.swap(values);
    const std::uint32_t old_words = words_;
    words_ = words;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] != kEmpty) move(&values[i * old_words], place(keys[i]));
  }

  std::uint32_t words_;
  std::size_t size_ = 0;
  std::vector<std::uint64_t> keys_, values_;
};

}  // namespace rubato::chip
