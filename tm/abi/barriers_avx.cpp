// The barriers of M256, the only code here that needs AVX: a program that calls them runs where there is AVX.
// SPDX-License-Identifier: MIT
#include "tm/abi/barrier.hpp"
#include "tm/abi/types.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define DEFINE_LOAD(prefix, T, type, bytes, kind)                                                   \
  RUBATO_TM_EXPORT __attribute__((target("avx"))) type _ITM_##prefix##T(const type* p) {            \
    type value;                                                                                     \
    rubato_tm_current->barriers->read(&value, p, bytes, rubato::tm::Load::kind, rubato_tm_current); \
    return value;                                                                                   \
  }
#define DEFINE_STORE(prefix, T, type, bytes, kind)                                                    \
  RUBATO_TM_EXPORT __attribute__((target("avx"))) void _ITM_##prefix##T(type* p, type value) {        \
    rubato_tm_current->barriers->write(p, &value, bytes, rubato::tm::Store::kind, rubato_tm_current); \
  }
#define DEFINE_TYPE(T, type, bytes)            \
  RUBATO_TM_LOADS(DEFINE_LOAD, T, type, bytes) \
  RUBATO_TM_STORES(DEFINE_STORE, T, type, bytes)

RUBATO_TM_AVX_TYPES(DEFINE_TYPE)
#endif
