// Keys of Masstree (Mao, Kohler, Morris, EuroSys 2012, Sec. 4.1): a byte string is a sequence of slices of 8
// bytes, each compared as an integer, the last one shorter. A 64-bit integer is one whole slice. A layer of
// the trie orders its entries by slice and, for one slice, by length.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb::index::masstree {

/// Length of the part of a key that lies in one layer: 0 to 8, or more.
inline constexpr unsigned kSliceBytes = 8, kMore = kSliceBytes + 1;

/// A whole key, or what follows its first slices.
class IntegerKey {
 public:
  static constexpr bool kHasMore = false;
  explicit IntegerKey(Key key) : key_(key) {}
  std::uint64_t slice() const { return key_; }
  unsigned length() const { return kSliceBytes; }

 private:
  Key key_;
};

class BytesKey {
 public:
  static constexpr bool kHasMore = true;
  explicit BytesKey(std::span<const char> bytes) : bytes_(bytes) {}
  /// The first bytes in big-endian order, so that integers compare as the bytes do.
  std::uint64_t slice() const {
    std::uint64_t slice = 0;
    for (unsigned i = 0; i < kSliceBytes; ++i)
      slice = slice << 8 | (i < bytes_.size() ? static_cast<unsigned char>(bytes_[i]) : 0u);
    return slice;
  }
  unsigned length() const { return static_cast<unsigned>(std::min<std::size_t>(bytes_.size(), kMore)); }
  BytesKey rest() const { return BytesKey(bytes_.subspan(kSliceBytes)); }
  std::span<const char> bytes() const { return bytes_; }

 private:
  std::span<const char> bytes_;
};

/// The bytes of a slice, for keys that are put together again.
inline void append_slice(std::string& bytes, std::uint64_t slice, unsigned length) {
  for (unsigned i = 0; i < length; ++i) bytes.push_back(static_cast<char>(slice >> (56 - 8 * i) & 255));
}

}  // namespace rubato::apps::ycsb::index::masstree
