// In steady state messages and requests take no memory from the system, on the native engine (A7, A11).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "rubato/actors.hpp"

namespace {
std::atomic<std::uint64_t> allocations{0};
void* counted(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* const block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
// The sanitizers' own forms do not come here, and a block of theirs must not be freed below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes);
}
// GCC 12 inlines one of the two into tests and not the other, and warns.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace rubato {
namespace {

struct Bytes100 {
  char data[100] = {};
};
struct Question {
  using reply = std::uint64_t;
  std::uint64_t value;
};
struct LargeQuestion {
  using reply = Bytes100;
};
struct Answering : behavior<Question, LargeQuestion, Bytes100> {
  std::uint64_t on(Question question) { return question.value + 1; }
  Bytes100 on(LargeQuestion) { return {}; }
  void on(Bytes100) {}
};

/// Asks and sends again and again; its first rounds fill what is used again.
struct Asker : behavior<Question> {
  explicit Asker(Answering::address other, std::uint64_t rounds, std::uint64_t& result)
      : other_(other), rounds_(rounds), result_(result) {
    self().send(Question{0});
  }
  std::uint64_t on(Question question) {
    if (question.value == rounds_ / 2) before_ = allocations;
    if (question.value == rounds_) {
      result_ = allocations - before_;
      other_.stop();
      stop();
      return 0;
    }
    other_.send(Bytes100{});
    other_.ask(Question{question.value}).then([this](std::uint64_t next) { self().send(Question{next}); });
    return 0;
  }
  Answering::address other_;
  std::uint64_t rounds_, before_ = 0;
  std::uint64_t& result_;
};

TEST(Allocations, MessagesAndRequestsTakeNone) {
#if defined(RUBATO_ENGINE_NATIVE)
  constexpr std::uint64_t kRounds = 20'000;
  std::uint64_t taken = kRounds;
  spawn<Asker>(spawn<Answering>(), kRounds, taken);
  run();
  EXPECT_LT(taken, kRounds / 2 / 100) << "in " << kRounds / 2 << " rounds";
#else
  GTEST_SKIP() << "the serial engine has no memory of its own";
#endif
}

/// An answer that is too large for a block lies in memory of its own.
TEST(Allocations, LargeAnswersArrive) {
  const auto answering = spawn<Answering>();
  unsigned arrived = 0;
  create<nonspec>(
      [answering, &arrived] { answering.ask(LargeQuestion{}).then([&arrived](Bytes100) { ++arrived; }); },
      {});
  run();
  EXPECT_EQ(arrived, 1u);
  answering.stop();
  run();
}

}  // namespace
}  // namespace rubato
