// Transactions without -fgnu-tm (T30): the compiler's calls, made by hand, so that the library can be
// driven where transactional code cannot be compiled, and access by access.
// SPDX-License-Identifier: MIT
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

extern "C" {
std::uint32_t _ITM_beginTransaction(std::uint32_t properties, ...) __attribute__((returns_twice));
void _ITM_commitTransaction();
void _ITM_abortTransaction(std::uint32_t reason);
void _ITM_changeTransactionMode(std::uint32_t mode);
void _ITM_LB(const void*, std::size_t);

#define RUBATO_TEST_TYPE(T, type) \
  type _ITM_R##T(const type*);    \
  type _ITM_RaR##T(const type*);  \
  type _ITM_RaW##T(const type*);  \
  type _ITM_RfW##T(const type*);  \
  void _ITM_W##T(type*, type);    \
  void _ITM_WaR##T(type*, type);  \
  void _ITM_WaW##T(type*, type);  \
  void _ITM_L##T(const type*);
RUBATO_TEST_TYPE(U1, std::uint8_t)
RUBATO_TEST_TYPE(U2, std::uint16_t)
RUBATO_TEST_TYPE(U4, std::uint32_t)
RUBATO_TEST_TYPE(U8, std::uint64_t)
RUBATO_TEST_TYPE(F, float)
RUBATO_TEST_TYPE(D, double)
RUBATO_TEST_TYPE(E, long double)
RUBATO_TEST_TYPE(CF, _Complex float)
RUBATO_TEST_TYPE(CD, _Complex double)
RUBATO_TEST_TYPE(CE, _Complex long double)
RUBATO_TEST_TYPE(M64, __m64)
RUBATO_TEST_TYPE(M128, __m128)
#undef RUBATO_TEST_TYPE

#define RUBATO_TEST_COPY(name) void _ITM_##name(void*, const void*, std::size_t);
RUBATO_TEST_COPY(memcpyRnWt)
RUBATO_TEST_COPY(memcpyRtWn)
RUBATO_TEST_COPY(memcpyRtWt)
RUBATO_TEST_COPY(memmoveRtWt)
RUBATO_TEST_COPY(memmoveRtaRWtaW)
#undef RUBATO_TEST_COPY
void _ITM_memsetW(void*, int, std::size_t);
}

namespace by_hand {

constexpr std::uint32_t kInstrumentedOnly = 0x29;  ///< instrumented, no abort, never irrevocable
constexpr std::uint32_t kMayCancel = 0x21;
constexpr std::uint32_t kCancelled = 16;

}  // namespace by_hand
