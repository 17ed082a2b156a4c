// The types of the ABI's barriers and the kinds of its accesses, as lists that the symbols are generated from
// (T12).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#define RUBATO_TM_EXPORT extern "C" __attribute__((visibility("default")))

// X(suffix, type, bytes that hold the value)
#define RUBATO_TM_SCALAR_TYPES(X) \
  X(U1, std::uint8_t, 1)          \
  X(U2, std::uint16_t, 2)         \
  X(U4, std::uint32_t, 4)         \
  X(U8, std::uint64_t, 8)         \
  X(F, float, 4)                  \
  X(D, double, 8)                 \
  X(E, long double, 16)           \
  X(CF, _Complex float, 8)        \
  X(CD, _Complex double, 16)      \
  X(CE, _Complex long double, 32)

#if defined(__x86_64__)
#define RUBATO_TM_SSE_TYPES(X) X(M64, __m64, 8) X(M128, __m128, 16)
#define RUBATO_TM_AVX_TYPES(X) X(M256, __m256, 32)
#else
#define RUBATO_TM_SSE_TYPES(X)
#define RUBATO_TM_AVX_TYPES(X)
#endif

// X(argument, suffix of the symbol, Load)
#define RUBATO_TM_LOADS(X, T, type, bytes) \
  X(R, T, type, bytes, plain)              \
  X(RaR, T, type, bytes, after_read)       \
  X(RaW, T, type, bytes, after_write)      \
  X(RfW, T, type, bytes, for_write)
#define RUBATO_TM_STORES(X, T, type, bytes) \
  X(W, T, type, bytes, plain)               \
  X(WaR, T, type, bytes, after_read)        \
  X(WaW, T, type, bytes, after_write)
