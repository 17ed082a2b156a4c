// _ITM_{R RaR RaW RfW W WaR WaW}{type}, _ITM_L{type}, _ITM_LB: 105 symbols, 8 more in barriers_avx.cpp.
// SPDX-License-Identifier: MIT
#include "tm/abi/barrier.hpp"
#include "tm/abi/types.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define DEFINE_LOAD(prefix, T, type, bytes, kind)             \
  RUBATO_TM_EXPORT type _ITM_##prefix##T(const type* p) {     \
    return rubato::tm::load<type, rubato::tm::Load::kind>(p); \
  }
#define DEFINE_STORE(prefix, T, type, bytes, kind)              \
  RUBATO_TM_EXPORT void _ITM_##prefix##T(type* p, type value) { \
    rubato::tm::store<type, rubato::tm::Store::kind>(p, value); \
  }
#define DEFINE_TYPE(T, type, bytes)                                 \
  RUBATO_TM_LOADS(DEFINE_LOAD, T, type, bytes)                      \
  RUBATO_TM_STORES(DEFINE_STORE, T, type, bytes)                    \
  RUBATO_TM_EXPORT void _ITM_L##T(const type* p) {                  \
    rubato_tm_current->barriers->save(p, bytes, rubato_tm_current); \
  }

RUBATO_TM_SCALAR_TYPES(DEFINE_TYPE)
RUBATO_TM_SSE_TYPES(DEFINE_TYPE)
// By address only: no register is needed.
RUBATO_TM_EXPORT void _ITM_LM256(const void* p) {
  rubato_tm_current->barriers->save(p, 32, rubato_tm_current);
}
RUBATO_TM_EXPORT void _ITM_LB(const void* p, std::size_t bytes) {
  rubato_tm_current->barriers->save(p, bytes, rubato_tm_current);
}
