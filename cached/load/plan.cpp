// SPDX-License-Identifier: MIT
#include "cached/load/plan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rubato::cached::load {

KeyChooser::KeyChooser(std::uint64_t keys, double exponent) : keys_(keys), exponent_(exponent) {
  if (exponent_ == 0) return;
  low_ = integral(0.5);
  high_ = integral(static_cast<double>(keys) + 0.5);
}

double KeyChooser::integral(double x) const {
  return exponent_ == 1 ? std::log(x) : (std::pow(x, 1 - exponent_) - 1) / (1 - exponent_);
}
double KeyChooser::inverse(double area) const {
  return exponent_ == 1 ? std::exp(area) : std::pow(1 + area * (1 - exponent_), 1 / (1 - exponent_));
}

// Rejection: a point below the curve x^-exponent, rounded to the next number. That curve's area over a
// number's interval is at least the number's own weight, since the curve is convex; what is too much of it is
// drawn again.
std::uint64_t KeyChooser::next(Rng& rng) {
  if (exponent_ == 0) return rng.below(keys_);
  for (;;) {
    const double x = inverse(low_ + rng.uniform() * (high_ - low_));
    const double number = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(keys_));
    const double area = integral(number + 0.5) - integral(number - 0.5);
    if (rng.uniform() * area <= std::pow(number, -exponent_)) return static_cast<std::uint64_t>(number) - 1;
  }
}

std::string key_text(std::uint64_t number, std::size_t size) {
  const std::string digits = std::to_string(number);
  std::string key = "k";
  if (size > digits.size() + 1) key.append(size - digits.size() - 1, '0');
  return key + digits;
}

std::uint64_t key_number(std::string_view key) {
  std::uint64_t number = ~std::uint64_t{0};
  if (key.size() < 2 || key[0] != 'k') return number;
  const auto [end, error] = std::from_chars(key.data() + 1, key.data() + key.size(), number);
  return error == std::errc{} && end == key.data() + key.size() ? number : ~std::uint64_t{0};
}

Values::Values(std::size_t smallest, std::size_t largest) : smallest_(smallest), largest_(largest) {
  Rng rng(7);
  text_.resize(kStarts + largest);
  for (char& letter : text_) letter = static_cast<char>('!' + rng.below(90));
}

std::string_view Values::piece(std::uint64_t key, std::uint64_t seed, std::size_t size) const {
  return std::string_view(text_).substr(mix64(key ^ mix64(seed)) % kStarts, size);
}

void Values::append(std::string& to, std::uint64_t key, std::uint64_t drawn) const {
  const std::size_t n = size(drawn);
  if (n < kSeedDigits) {
    to += piece(key, 0, n);
    return;
  }
  for (unsigned digit = 0; digit < kSeedDigits; ++digit)
    to += "0123456789abcdef"[drawn >> (60 - 4 * digit) & 15];
  to += piece(key, drawn, n - kSeedDigits);
}

bool Values::right(std::uint64_t key, std::string_view value) const {
  if (value.size() < smallest_ || value.size() > largest_) return false;
  if (value.size() < kSeedDigits) return value == piece(key, 0, value.size());
  std::uint64_t seed = 0;
  const char* end = value.data() + kSeedDigits;
  if (std::from_chars(value.data(), end, seed, 16).ptr != end || size(seed) != value.size()) return false;
  return value.substr(kSeedDigits) == piece(key, seed, value.size() - kSeedDigits);
}

}  // namespace rubato::cached::load
