// Stores that are kept until commit (T42, T43): aligned words of eight bytes with a mask of the bytes
// that were written, found by an open-addressed table. The table is emptied by a new generation, not by
// clearing it; a filter of 64 bits answers most look-ups of words that were not written.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tm/log/buffer.hpp"

namespace rubato::tm {

class WriteSet {
 public:
  struct Word {
    std::uintptr_t address;     ///< a multiple of 8
    std::uint64_t value, mask;  ///< in `mask` all bits of a written byte are set; 0: rolled back
  };
  /// Up to eight bytes, the first one lowest.
  struct Part {
    std::uint64_t value = 0, mask = 0;
  };

  bool empty() const { return words_.empty(); }
  std::size_t size() const { return words_.size(); }
  /// Is it certain without a look-up that nothing was written of the `bytes` (1 to 8) at `address`?
  bool surely_lacks(std::uintptr_t address, unsigned bytes) const {
    return filter_ == 0 || (address % 8 + bytes <= 8 && (filter_ & filter_bit(hash(address))) == 0);
  }
  /// For savepoints: what was written later is what roll_back_to() takes back.
  std::size_t mark() const { return older_.size(); }

  /// The written part of the `bytes` (1 to 8) at `address`.
  Part part(std::uintptr_t address, unsigned bytes) {
    const unsigned shift = 8 * static_cast<unsigned>(address % 8);
    Part found;
    if (const Word* const word = find(address - address % 8))
      found = {word->value >> shift, word->mask >> shift};
    if (shift + 8 * bytes > 64) {
      if (const Word* const word = find(address - address % 8 + 8)) {
        found.value |= word->value << (64 - shift);
        found.mask |= word->mask << (64 - shift);
      }
    }
    found.mask &= ones(bytes);
    found.value &= found.mask;
    return found;
  }

  /// Keeps the `bytes` (1 to 8) of `value` for `address`. `keeps_older`: a savepoint may take it back.
  void write(std::uintptr_t address, unsigned bytes, std::uint64_t value, bool keeps_older) {
    const unsigned shift = 8 * static_cast<unsigned>(address % 8);
    const std::uint64_t mask = ones(bytes);
    write_word(address - address % 8, value << shift, mask << shift, keeps_older);
    if (shift + 8 * bytes > 64)
      write_word(address - address % 8 + 8, value >> (64 - shift), mask >> (64 - shift), keeps_older);
  }

  void roll_back_to(std::size_t mark) {
    while (older_.size() > mark) {
      const Older& older = older_.back();
      words_[older.index].value = older.value;
      words_[older.index].mask = older.mask;
      older_.pop();
    }
  }

  Word* begin() { return words_.begin(); }
  Word* end() { return words_.end(); }
  /// Calls f(word) for the words written since `mark`, some more than once.
  template <class F>
  void for_each_since(std::size_t mark, F f) {
    for (std::size_t i = mark; i < older_.size(); ++i) f(words_[older_[i].index]);
  }

  void clear() {
    if (words_.empty()) return;
    words_.clear();
    older_.clear();
    filter_ = 0;
    if (++generation_ == 0) {  // slots of 2^32 transactions ago must not come back
      std::memset(slots_, 0, slot_count() * sizeof(Slot));
      generation_ = 1;
    }
  }
  void shrink() {
    words_.shrink();
    older_.shrink();
  }

 private:
  struct Slot {
    std::uint32_t generation, index;
  };
  struct Older {
    std::size_t index;
    std::uint64_t value, mask;
  };
  static constexpr unsigned kFewestBits = 6;

  static constexpr std::uint64_t ones(unsigned bytes) { return ~std::uint64_t{0} >> (64 - 8 * bytes); }
  static std::uint64_t hash(std::uintptr_t address) { return (address >> 3) * 0x9e3779b97f4a7c15u; }
  static std::uint64_t filter_bit(std::uint64_t hash) { return std::uint64_t{1} << (hash >> 58); }
  std::size_t slot_count() const { return slots_ == nullptr ? 0 : std::size_t{1} << bits_; }

  Word* find(std::uintptr_t address) { return find(address, hash(address)); }
  Word* find(std::uintptr_t address, std::uint64_t key) {
    if ((filter_ & filter_bit(key)) == 0) return nullptr;
    const Slot& slot = slots_[slot_of(key, address)];
    return slot.generation == generation_ ? &words_[slot.index] : nullptr;
  }
  /// The slot that has the word, or the free one where it belongs: at most half of them are taken.
  std::size_t slot_of(std::uint64_t key, std::uintptr_t address) {
    std::size_t i = key >> (64 - bits_);
    while (slots_[i].generation == generation_ && words_[slots_[i].index].address != address)
      i = (i + 1) & (slot_count() - 1);
    return i;
  }

  void write_word(std::uintptr_t address, std::uint64_t value, std::uint64_t mask, bool keeps_older) {
    const std::uint64_t key = hash(address);
    Word* word = find(address, key);
    if (word == nullptr) {
      if (!keeps_older) {
        add(address, key, value & mask, mask);
        return;
      }
      word = add(address, key, 0, 0);
    }
    if (keeps_older) older_.push({static_cast<std::size_t>(word - words_.begin()), word->value, word->mask});
    word->value = (word->value & ~mask) | (value & mask);
    word->mask |= mask;
  }
  Word* add(std::uintptr_t address, std::uint64_t key, std::uint64_t value, std::uint64_t mask) {
    if (__builtin_expect(2 * (words_.size() + 1) > slot_count(), false)) grow();
    const std::size_t index = words_.size();
    words_.push({address, value, mask});
    slots_[slot_of_new(key)] = {generation_, static_cast<std::uint32_t>(index)};
    filter_ |= filter_bit(key);
    return &words_[index];
  }
  std::size_t slot_of_new(std::uint64_t key) const {
    std::size_t i = key >> (64 - bits_);
    while (slots_[i].generation == generation_) i = (i + 1) & (slot_count() - 1);
    return i;
  }
  [[gnu::noinline]] void grow() {
    const unsigned bits = slots_ == nullptr ? kFewestBits : bits_ + 1;
    auto* const slots = static_cast<Slot*>(std::calloc(std::size_t{1} << bits, sizeof(Slot)));
    if (slots == nullptr) restart_without_memory();
    std::free(slots_);
    slots_ = slots;
    bits_ = bits;
    if (generation_ == 0) generation_ = 1;
    for (std::size_t i = 0; i < words_.size(); ++i)
      slots_[slot_of_new(hash(words_[i].address))] = {generation_, static_cast<std::uint32_t>(i)};
  }

  Buffer<Word> words_;
  Buffer<Older> older_;  ///< what words were before they were written under a savepoint
  Slot* slots_ = nullptr;
  unsigned bits_ = 0;
  std::uint32_t generation_ = 1;
  std::uint64_t filter_ = 0;
};

}  // namespace rubato::tm
