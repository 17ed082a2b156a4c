// The tuples of kvstore, of 4 KB, each a key, a version, a checksum and ten fields. The words of a field
// follow from the key and from the version that wrote it, so a tuple follows from its key and how often it
// was written.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/rng.hpp"

namespace rubato::apps::kvstore {

using Key = std::uint64_t;

inline constexpr std::uint32_t kTupleBytes = 4096;
inline constexpr std::uint32_t kWords = kTupleBytes / 8;
inline constexpr std::uint32_t kFields = 10, kFieldWords = 50;
/// Words of a tuple; those behind the fields are 0.
enum TupleWord : std::uint32_t { kKey, kVersion, kChecksum, kFirstField };
static_assert(kFirstField + kFields * kFieldWords <= kWords);

/// Word i of the field that a write which makes it `version` changes is this and i more.
inline std::uint64_t field_seed(Key key, std::uint64_t version) { return mix64(key << 32 ^ version); }
inline std::uint32_t first_word_of_field(std::uint64_t version) {
  return kFirstField + static_cast<std::uint32_t>(version % kFields) * kFieldWords;
}

/// The sum of all words but the checksum. `Word` converts to std::uint64_t.
template <class Word>
std::uint64_t sum_of(const Word* tuple) {
  constexpr std::uint32_t kLine = 8;
  std::uint64_t sum = 0;
  for (std::uint32_t line = 0; line < kWords; line += kLine) {
    const Word* const w = tuple + line;
    sum += w[0] + w[1] + w[2] + w[3] + w[4] + w[5] + w[6] + w[7];
  }
  return sum - tuple[kChecksum];
}

template <class Word>
bool is_right(const Word* tuple, Key key) {
  return sum_of(tuple) == tuple[kChecksum] && tuple[kKey] == key;
}

/// A new version of the tuple: changes one field.
template <class Word>
void write_field(Word* tuple) {
  const std::uint64_t version = tuple[kVersion] + 1, seed = field_seed(tuple[kKey], version);
  Word* const field = tuple + first_word_of_field(version);
  std::uint64_t sum = tuple[kChecksum] + 1;
  for (std::uint32_t i = 0; i < kFieldWords; ++i) {
    sum += seed + i - field[i];
    field[i] = seed + i;
  }
  tuple[kVersion] = version;
  tuple[kChecksum] = sum;
}

/// A tuple that was never written.
template <class Word>
void fill(Word* tuple, Key key) {
  for (std::uint32_t i = kFirstField; i < kWords; ++i) tuple[i] = 0;
  tuple[kKey] = key;
  tuple[kVersion] = 0;
  tuple[kChecksum] = 0;
  const std::uint64_t seed = field_seed(key, 0);
  for (std::uint32_t i = 0; i < kFields * kFieldWords; ++i) tuple[kFirstField + i] = seed + i;
  tuple[kChecksum] = sum_of(tuple);
}

}  // namespace rubato::apps::kvstore
