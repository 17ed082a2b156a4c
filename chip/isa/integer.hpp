// Integer arithmetic of RV64IM and Zbb whose corner cases C++ leaves undefined or has no operator for.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace rubato::chip::isa {

constexpr std::int64_t s64(std::uint64_t v) { return static_cast<std::int64_t>(v); }
constexpr std::uint32_t zext32(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
constexpr std::uint64_t sext32(std::uint64_t v) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(v)));
}
/// Sign-extends a signed value of any width.
template <class T>
constexpr std::uint64_t sext(T v) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::make_signed_t<T>>(v)));
}
constexpr std::uint64_t sra64(std::uint64_t v, std::uint64_t by) {
  return static_cast<std::uint64_t>(s64(v) >> by);
}
constexpr std::uint64_t sra32(std::uint64_t v, std::uint64_t by) {
  return sext(static_cast<std::int32_t>(v) >> by);
}

constexpr std::uint64_t mulhu(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}
constexpr std::uint64_t mulh(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<__int128>(s64(a)) * s64(b)) >> 64);
}
constexpr std::uint64_t mulhsu(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<__int128>(s64(a)) * static_cast<__int128>(b)) >> 64);
}

/// Division by zero gives all ones and the dividend; the overflow gives the dividend and 0: nothing traps.
constexpr std::uint64_t div64(std::uint64_t a, std::uint64_t b) {
  if (b == 0) return ~std::uint64_t{0};
  if (b == ~std::uint64_t{0}) return 0 - a;
  return static_cast<std::uint64_t>(s64(a) / s64(b));
}
constexpr std::uint64_t rem64(std::uint64_t a, std::uint64_t b) {
  if (b == 0) return a;
  if (b == ~std::uint64_t{0}) return 0;
  return static_cast<std::uint64_t>(s64(a) % s64(b));
}
constexpr std::uint64_t div32(std::uint64_t a, std::uint64_t b) {
  if (zext32(b) == 0) return ~std::uint64_t{0};
  return sext32(static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(a)) /
                                           static_cast<std::int32_t>(b)));
}
constexpr std::uint64_t rem32(std::uint64_t a, std::uint64_t b) {
  if (zext32(b) == 0) return sext32(a);
  return sext32(static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(a)) %
                                           static_cast<std::int32_t>(b)));
}
constexpr std::uint64_t divu32(std::uint64_t a, std::uint64_t b) {
  return zext32(b) == 0 ? ~std::uint64_t{0} : sext32(zext32(a) / zext32(b));
}
constexpr std::uint64_t remu32(std::uint64_t a, std::uint64_t b) {
  return zext32(b) == 0 ? sext32(a) : sext32(zext32(a) % zext32(b));
}

/// orc.b: each byte that has a bit set becomes 0xff.
constexpr std::uint64_t bytes_that_are_set(std::uint64_t v) {
  constexpr std::uint64_t kLow7 = 0x7f7f'7f7f'7f7f'7f7f;
  const std::uint64_t tops = (((v & kLow7) + kLow7) | v) & ~kLow7;  // bit 7 of each byte that is not 0
  return (tops - (tops >> 7)) | tops;
}

}  // namespace rubato::chip::isa
