// The seven barriers of M256 and the one that keeps an old value, at every alignment (T12, T66). By
// calls made by hand, since GCC makes them only of code for AVX.
// SPDX-License-Identifier: MIT
#include <immintrin.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "../by_hand.hpp"
#include "library.hpp"

extern "C" {
__m256 _ITM_RM256(const __m256*);
__m256 _ITM_RaRM256(const __m256*);
__m256 _ITM_RaWM256(const __m256*);
__m256 _ITM_RfWM256(const __m256*);
void _ITM_WM256(__m256*, __m256);
void _ITM_WaRM256(__m256*, __m256);
void _ITM_WaWM256(__m256*, __m256);
void _ITM_LM256(const __m256*);
}

namespace {

constexpr std::size_t kBytes = sizeof(__m256), kOffsets = 64, kWindow = kOffsets + 2 * kBytes;
using Value = std::array<unsigned char, kBytes>;

Value value_of(unsigned seed) {
  Value value;
  for (std::size_t i = 0; i < kBytes; ++i) value[i] = static_cast<unsigned char>(seed * 37 + i * 5 + 1);
  return value;
}

// Functions for AVX, which call the barriers that have vectors in their interface. The tests themselves are
// not compiled for AVX, so that they can ask first whether the processor has it.
__attribute__((target("avx"), noinline)) Value load(__m256 (*barrier)(const __m256*), const void* p) {
  const __m256 vector = barrier(static_cast<const __m256*>(p));
  Value value;
  _mm256_storeu_ps(reinterpret_cast<float*>(value.data()), vector);
  return value;
}
__attribute__((target("avx"), noinline)) void store(void (*barrier)(__m256*, __m256), void* p,
                                                    const Value& value) {
  barrier(static_cast<__m256*>(p), _mm256_loadu_ps(reinterpret_cast<const float*>(value.data())));
}

class Avx : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "this processor has no AVX";
    window.fill(0xee);
  }
  /// The window with `value` at `offset`, and all else as it was.
  static std::array<unsigned char, kWindow> with(std::size_t offset, const Value& value) {
    std::array<unsigned char, kWindow> all;
    all.fill(0xee);
    std::memcpy(all.data() + offset, value.data(), kBytes);
    return all;
  }
  alignas(64) std::array<unsigned char, kWindow> window;
};

__attribute__((noinline)) void run_stores(unsigned char* p, int kind) {
  _ITM_beginTransaction(by_hand::kInstrumentedOnly);
  if (kind == 0) {
    store(_ITM_WM256, p, value_of(1));
  } else if (kind == 1) {
    load(_ITM_RM256, p);
    store(_ITM_WaRM256, p, value_of(2));
  } else if (kind == 2) {
    store(_ITM_WM256, p, value_of(9));
    store(_ITM_WaWM256, p, value_of(3));
  } else {
    load(_ITM_RfWM256, p);
    store(_ITM_WaWM256, p, value_of(4));
  }
  _ITM_commitTransaction();
}

TEST_F(Avx, StoresWriteTheirBytesAndNoOthers) {
  for (std::size_t offset = 0; offset < kOffsets; ++offset) {
    for (int kind = 0; kind < 4; ++kind) {
      window.fill(0xee);
      run_stores(window.data() + offset, kind);
      ASSERT_EQ(window, with(offset, value_of(static_cast<unsigned>(kind) + 1))) << offset << ' ' << kind;
    }
  }
}

struct Loaded {
  Value plain, again, after_write, for_write;
};

__attribute__((noinline)) void run_loads(unsigned char* p, Loaded& loaded) {
  _ITM_beginTransaction(by_hand::kInstrumentedOnly);
  loaded.plain = load(_ITM_RM256, p);
  loaded.again = load(_ITM_RaRM256, p);
  loaded.for_write = load(_ITM_RfWM256, p);
  store(_ITM_WaWM256, p, value_of(6));
  loaded.after_write = load(_ITM_RaWM256, p);
  _ITM_commitTransaction();
}

TEST_F(Avx, LoadsSeeMemoryAndOwnStores) {
  for (std::size_t offset = 0; offset < kOffsets; ++offset) {
    window = with(offset, value_of(5));
    Loaded loaded;
    run_loads(window.data() + offset, loaded);
    ASSERT_EQ(loaded.plain, value_of(5)) << offset;
    ASSERT_EQ(loaded.again, value_of(5)) << offset;
    ASSERT_EQ(loaded.for_write, value_of(5)) << offset;
    ASSERT_EQ(loaded.after_write, value_of(6)) << offset;
  }
}

/// Kinds 0 to 2 by stores, 3 by a plain write of memory whose old value was kept. @returns whether it came
/// back by the cancel.
__attribute__((noinline)) bool run_cancelled(unsigned char* p, int kind) {
  if ((_ITM_beginTransaction(by_hand::kMayCancel) & by_hand::kCancelled) != 0) return true;
  if (kind == 0) {
    store(_ITM_WM256, p, value_of(7));
  } else if (kind == 1) {
    load(_ITM_RM256, p);
    store(_ITM_WaRM256, p, value_of(7));
  } else if (kind == 2) {
    load(_ITM_RfWM256, p);
    store(_ITM_WaWM256, p, value_of(7));
  } else {
    _ITM_LM256(reinterpret_cast<const __m256*>(p));
    std::memcpy(p, value_of(7).data(), kBytes);
  }
  _ITM_abortTransaction(1);
  return false;
}

TEST_F(Avx, ACancelRestoresOldValues) {
  for (std::size_t offset = 0; offset < kOffsets; ++offset) {
    for (int kind = 0; kind < 4; ++kind) {
      window = with(offset, value_of(8));
      ASSERT_TRUE(run_cancelled(window.data() + offset, kind));
      ASSERT_EQ(window, with(offset, value_of(8))) << offset << ' ' << kind;
    }
  }
}

}  // namespace
