// Every barrier at every alignment, across stripes and pages, with its neighbours and its old value
// (T12, T66), and copies of every alignment beside guard pages (T65).
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <vector>

#include "../by_hand.hpp"
#include "library.hpp"

namespace {

using by_hand::kCancelled;
using by_hand::kInstrumentedOnly;
using by_hand::kMayCancel;

constexpr std::size_t kWindow = 96;

/// Bytes around a page border, with unreadable pages on both sides.
class Window {
 public:
  Window() {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    memory_ =
        static_cast<unsigned char*>(mmap(nullptr, 4 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + page_, 2 * page_, PROT_READ | PROT_WRITE);
  }
  ~Window() { munmap(memory_, 4 * page_); }
  unsigned char* middle() { return memory_ + 2 * page_ - kWindow / 2; }
  unsigned char* first() { return memory_ + page_; }
  unsigned char* end() { return memory_ + 3 * page_; }

 private:
  std::size_t page_;
  unsigned char* memory_;
};

template <class T, std::size_t bytes>
struct Access {
  T (*loads[4])(const T*);
  void (*stores[3])(T*, T);
  void (*save)(const T*);

  static T value_of(unsigned char seed) {
    // Through the type, since x87's format has bytes that are no value.
    T value{};
    std::array<unsigned char, sizeof(T)> image{};
    if constexpr (std::is_same_v<T, long double>) {
      value = static_cast<long double>(seed) + 0.25L;
    } else if constexpr (std::is_same_v<T, _Complex long double>) {
      __real__ value = seed + 0.25L;
      __imag__ value = -static_cast<long double>(seed);
    } else {
      std::iota(image.begin(), image.end(), static_cast<unsigned char>(seed & 0x3f));
      std::memcpy(&value, image.data(), sizeof value);
    }
    return value;
  }
  static bool equal(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, long double> || std::is_same_v<T, _Complex long double>) {
      return a == b;
    } else {
      return std::memcmp(&a, &b, sizeof a) == 0;
    }
  }

  void run() {
    Window window;
    unsigned char* const base = window.middle();
    for (std::size_t offset = 0; offset + sizeof(T) <= kWindow; ++offset) {
      T* const place = reinterpret_cast<T*>(base + offset);
      const T old = value_of(1), written = value_of(77);
      for (std::size_t k = 0; k < 3; ++k) {
        std::memset(base, 0xee, kWindow);
        std::memcpy(static_cast<void*>(place), &old, sizeof old);
        T before{}, after{}, after_write{};
        // A first store, since "after a write" has to be true.
        _ITM_beginTransaction(kInstrumentedOnly);
        before = loads[0](place);
        stores[0](place, value_of(5));
        stores[k](place, written);
        after = loads[k == 0 ? 0 : 3](place);
        after_write = loads[2](place);
        _ITM_commitTransaction();
        ASSERT_TRUE(equal(before, old)) << offset;
        ASSERT_TRUE(equal(after, written)) << offset;
        ASSERT_TRUE(equal(after_write, written)) << offset;
        T now;
        std::memcpy(&now, static_cast<void*>(place), sizeof now);
        ASSERT_TRUE(equal(now, written)) << offset;
        for (std::size_t i = 0; i < kWindow; ++i) {
          if (i < offset || i >= offset + sizeof(T)) {
            ASSERT_EQ(base[i], 0xee) << offset;
          }
        }
      }
      for (std::size_t k = 0; k < 2; ++k) {
        std::memset(base, 0xee, kWindow);
        std::memcpy(static_cast<void*>(place), &old, sizeof old);
        if ((_ITM_beginTransaction(kMayCancel) & kCancelled) == 0) {
          loads[1](place);
          stores[k](place, written);
          stores[2](place, old);
          stores[2](place, written);
          _ITM_abortTransaction(1);
        }
        // After a read for writing the compiler's store is one after a write.
        if ((_ITM_beginTransaction(kMayCancel) & kCancelled) == 0) {
          loads[3](place);
          stores[2](place, written);
          _ITM_abortTransaction(1);
        }
        T now;
        std::memcpy(&now, static_cast<void*>(place), sizeof now);
        ASSERT_TRUE(equal(now, old)) << offset;
      }
      // Saved, then written by the program itself.
      std::memcpy(static_cast<void*>(place), &old, sizeof old);
      if ((_ITM_beginTransaction(kMayCancel) & kCancelled) == 0) {
        save(place);
        std::memset(static_cast<void*>(place), 0x11, sizeof(T));
        _ITM_abortTransaction(1);
      }
      T now;
      std::memcpy(&now, static_cast<void*>(place), sizeof now);
      ASSERT_TRUE(equal(now, old)) << offset;
    }
  }
};

#define ACCESS_TEST(T, type)                                                       \
  TEST(Barriers, LoadStoreAndKeep##T) {                                            \
    Access<type, sizeof(type)>{{_ITM_R##T, _ITM_RaR##T, _ITM_RaW##T, _ITM_RfW##T}, \
                               {_ITM_W##T, _ITM_WaR##T, _ITM_WaW##T},              \
                               _ITM_L##T}                                          \
        .run();                                                                    \
  }
ACCESS_TEST(U1, std::uint8_t)
ACCESS_TEST(U2, std::uint16_t)
ACCESS_TEST(U4, std::uint32_t)
ACCESS_TEST(U8, std::uint64_t)
ACCESS_TEST(F, float)
ACCESS_TEST(D, double)
ACCESS_TEST(CF, _Complex float)

// Aligned as their types are: the compiler passes nothing else.
template <class T>
void wide(T (*load)(const T*), void (*store)(T*, T), void (*save)(const T*), T one, T other,
          bool (*equal)(T, T)) {
  alignas(32) static unsigned char bytes[256];
  for (std::size_t offset = 0; offset + sizeof(T) <= sizeof bytes; offset += alignof(T)) {
    T* const place = reinterpret_cast<T*>(bytes + offset);
    *place = one;
    if ((_ITM_beginTransaction(kMayCancel) & kCancelled) == 0) {
      store(place, other);
      _ITM_abortTransaction(1);
    }
    ASSERT_TRUE(equal(*place, one));
    if ((_ITM_beginTransaction(kMayCancel) & kCancelled) == 0) {
      save(place);
      *place = other;
      _ITM_abortTransaction(1);
    }
    ASSERT_TRUE(equal(*place, one));
    T seen{};
    _ITM_beginTransaction(kInstrumentedOnly);
    store(place, other);
    seen = load(place);
    _ITM_commitTransaction();
    ASSERT_TRUE(equal(seen, other));
    ASSERT_TRUE(equal(*place, other));
  }
}

TEST(Barriers, LoadStoreAndKeepE) {
  wide<long double>(_ITM_RE, _ITM_WE, _ITM_LE, 1.5L, -2e300L,
                    [](long double a, long double b) { return a == b; });
}
TEST(Barriers, LoadStoreAndKeepCD) {
  wide<_Complex double>(_ITM_RCD, _ITM_WCD, _ITM_LCD, 1.5, -2e300,
                        [](_Complex double a, _Complex double b) { return a == b; });
}
TEST(Barriers, LoadStoreAndKeepCE) {
  wide<_Complex long double>(_ITM_RCE, _ITM_WCE, _ITM_LCE, 1.5L, -2e300L,
                             [](_Complex long double a, _Complex long double b) { return a == b; });
}
TEST(Barriers, LoadStoreAndKeepM64) {
  wide<__m64>(_ITM_RM64, _ITM_WM64, _ITM_LM64, __m64{1}, __m64{2},
              [](__m64 a, __m64 b) { return std::memcmp(&a, &b, sizeof a) == 0; });
}
TEST(Barriers, LoadStoreAndKeepM128) {
  wide<__m128>(_ITM_RM128, _ITM_WM128, _ITM_LM128, _mm_set1_ps(1), _mm_set1_ps(2),
               [](__m128 a, __m128 b) { return std::memcmp(&a, &b, sizeof a) == 0; });
}

TEST(Copies, WorkAtEveryAlignmentBesideGuardPages) {
  Window to, from;
  std::vector<unsigned char> wanted;
  for (std::size_t i = 0; i < 300; ++i) wanted.push_back(static_cast<unsigned char>(i * 7));
  for (std::size_t bytes : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 255, 300}) {
    for (std::size_t shift = 0; shift < 33; ++shift) {
      unsigned char* const source = from.end() - bytes - shift;
      unsigned char* const target = to.first() + shift;
      std::memcpy(source, wanted.data(), bytes);
      for (int way = 0; way < 3; ++way) {
        std::memset(target, 0, bytes + 1);
        _ITM_beginTransaction(kInstrumentedOnly);
        (way == 0 ? _ITM_memcpyRtWt : way == 1 ? _ITM_memcpyRnWt : _ITM_memcpyRtWn)(target, source, bytes);
        _ITM_commitTransaction();
        ASSERT_EQ(std::memcmp(target, wanted.data(), bytes), 0) << bytes << ' ' << shift << ' ' << way;
        ASSERT_EQ(target[bytes], 0);
      }
    }
  }
}

TEST(Copies, OfOverlappingMemoryMoveIt) {
  std::vector<unsigned char> memory(5000), wanted;
  for (int distance : {-700, -33, -1, 0, 1, 31, 32, 700}) {
    std::iota(memory.begin(), memory.end(), static_cast<unsigned char>(0));
    wanted = memory;
    std::memmove(&wanted[1000 + distance], &wanted[1000], 3000);
    _ITM_beginTransaction(kInstrumentedOnly);
    _ITM_memmoveRtWt(&memory[1000 + distance], &memory[1000], 3000);
    _ITM_commitTransaction();
    EXPECT_EQ(memory, wanted) << distance;
  }
}

TEST(Copies, Of128KBAreUndone) {
  std::vector<unsigned char> memory(128 << 10, 1), other(128 << 10, 2);
  if ((_ITM_beginTransaction(kMayCancel) & kCancelled) == 0) {
    _ITM_memcpyRnWt(memory.data() + 1, other.data(), memory.size() - 1);
    _ITM_memsetW(memory.data(), 3, memory.size());
    _ITM_abortTransaction(1);
  }
  EXPECT_EQ(memory, std::vector<unsigned char>(128 << 10, 1));
}

TEST(UndoLog, HoldsManyMegabytes) {
  static std::vector<std::uint64_t> memory(4 << 20);
  if ((_ITM_beginTransaction(kMayCancel) & kCancelled) == 0) {
    for (std::uint64_t& word : memory) _ITM_WU8(&word, 1);
    _ITM_abortTransaction(1);
  }
  EXPECT_EQ(std::accumulate(memory.begin(), memory.end(), std::uint64_t{0}), 0u);
}

}  // namespace
