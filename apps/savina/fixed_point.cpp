// SPDX-License-Identifier: MIT
#include "apps/savina/fixed_point.hpp"

#include <algorithm>

namespace rubato::apps::savina {

FixedPoint::FixedPoint(std::uint64_t integer, std::size_t places) : words_((places + 31) / 32 + 1, 0) {
  words_.back() = static_cast<std::uint32_t>(integer);
}

std::size_t FixedPoint::places_for(std::size_t digits) {
  return digits * 3'322 / 1'000 + 64;  // log2(10) < 3.322
}

FixedPoint& FixedPoint::operator+=(const FixedPoint& other) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    carry += std::uint64_t{words_[i]} + other.words_[i];
    words_[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return *this;
}

FixedPoint& FixedPoint::operator-=(const FixedPoint& other) {
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    borrow += static_cast<std::int64_t>(words_[i]) - static_cast<std::int64_t>(other.words_[i]);
    words_[i] = static_cast<std::uint32_t>(borrow);
    borrow >>= 32;
  }
  return *this;
}

FixedPoint& FixedPoint::operator*=(std::uint32_t factor) {
  std::uint64_t carry = 0;
  for (std::uint32_t& word : words_) {
    carry += std::uint64_t{word} * factor;
    word = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return *this;
}

FixedPoint& FixedPoint::operator/=(std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (std::size_t i = words_.size(); i-- > 0;) {
    rest = rest << 32 | words_[i];
    words_[i] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  return *this;
}

FixedPoint& FixedPoint::shift_right(std::size_t bits) {
  const std::size_t whole = std::min(bits / 32, words_.size()), rest = bits % 32;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const auto at = [&](std::size_t k) { return k < words_.size() ? words_[k] : 0; };
    const std::uint64_t pair = std::uint64_t{at(i + whole + 1)} << 32 | at(i + whole);
    words_[i] = static_cast<std::uint32_t>(pair >> rest);
  }
  return *this;
}

bool FixedPoint::is_zero() const {
  return std::all_of(words_.begin(), words_.end(), [](std::uint32_t word) { return word == 0; });
}

std::string FixedPoint::digits(std::size_t digits) const {
  std::string text = std::to_string(words_.back());
  FixedPoint rest = *this;
  constexpr std::size_t kAtOnce = 9;
  while (text.size() < digits + 1) {
    rest.words_.back() = 0;
    rest *= 1'000'000'000;
    const std::string next = std::to_string(rest.words_.back());
    text += std::string(kAtOnce - next.size(), '0') + next;
  }
  text.resize(digits + 1);
  return text;
}

}  // namespace rubato::apps::savina
