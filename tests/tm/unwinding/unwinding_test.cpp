// Random nestings of exceptions, destructors and transactions, with restarts, against a serial run (T23).
// SPDX-License-Identifier: MIT
#include <cxxabi.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "../conformance/library.hpp"
#include "program.hpp"
#include "tm/log/cxa_exception.hpp"

extern "C" [[gnu::transaction_pure]] void _ITM_abortTransaction(std::uint32_t);

namespace {

std::atomic<long> live{0};
unsigned restarts_left;
std::minstd_rand restart_seeds;

template <class F>
F next_of(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// In place of libstdc++'s, for its own calls, too.
extern "C" void* __cxa_allocate_exception(std::size_t bytes) noexcept {
  static const auto next = next_of<void* (*)(std::size_t)>("__cxa_allocate_exception");
  ++live;
  return next(bytes);
}
extern "C" void __cxa_free_exception(void* object) noexcept {
  static const auto next = next_of<void (*)(void*)>("__cxa_free_exception");
  --live;
  next(object);
}

char* last_allocated;
long live_exceptions() { return live; }
void allow_restarts(unsigned most, unsigned seed) {
  constexpr int kLarge = 200000;
  static const bool is_set = mallopt(M_MMAP_THRESHOLD, kLarge) == 1;  // large ones have pages of their own
  if (!is_set) std::abort();
  restarts_left = most;
  restart_seeds.seed(seed);
}
void perhaps_restart() {
  // GCC's library knows no such request.
  constexpr int kUndoable = 1;
  constexpr std::uint32_t kRetry = 2;
  if (is_gcc_library() || restarts_left == 0 || restart_seeds() % 2 == 0 || _ITM_inTransaction() != kUndoable)
    return;
  --restarts_left;
  _ITM_abortTransaction(kRetry);
}
unsigned uncaught_exceptions() { return static_cast<unsigned>(std::uncaught_exceptions()); }
bool can_raise_again() {
  const auto* globals = reinterpret_cast<const rubato::tm::CxaGlobals*>(abi::__cxa_get_globals());
  return globals->caught != nullptr && globals->caught->handlers > 0;
}

namespace {

/// A random tree. Restarts are everywhere.
class Tree {
 public:
  explicit Tree(unsigned seed) : random_(seed), root_(grow(6)) {}
  const Node* root() const { return root_; }
  std::string text() const { return text(root_); }

 private:
  static constexpr const char* kNames[kDoings] = {
      "write",   "both",  "count", "restart", "raise",     "raise_again",         "raise_made",
      "attempt", "again", "guard", "nested",  "cancelled", "cancelled_in_handler"};

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  const Node* grow(unsigned depth) {
    const auto what =
        static_cast<Do>(below(depth == 0 ? static_cast<unsigned>(Do::raise_again) + 1 : kDoings));
    if (what == Do::both && depth == 0) return grow(0);
    const unsigned n = below(48);
    const Node* const first = what < Do::raise_made && what != Do::both ? nullptr : grow(depth - 1);
    const bool has_second = what == Do::both || what == Do::attempt || what == Do::again || what == Do::guard;
    const Node* const second = has_second ? grow(depth - 1) : nullptr;
    return add({what, n, first, second});
  }
  const Node* add(Node node) { return nodes_.emplace_back(std::make_unique<Node>(node)).get(); }
  static std::string text(const Node* node) {
    if (node == nullptr) return "";
    std::string text = kNames[static_cast<unsigned>(node->what)] + std::string(" ") + std::to_string(node->n);
    if (node->first != nullptr) text += " {" + Tree::text(node->first) + "}";
    if (node->second != nullptr) text += " {" + Tree::text(node->second) + "}";
    return text;
  }

  std::mt19937 random_;
  std::vector<std::unique_ptr<Node>> nodes_;
  const Node* root_;
};

void expect_same(const Result& got, const Result& wanted, const std::string& what) {
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(got.memory.words[i], wanted.memory.words[i]) << i << what;
  EXPECT_EQ(got.memory.trace, wanted.memory.trace) << what;
  EXPECT_EQ(got.memory.safe_ends, wanted.memory.safe_ends) << what;
  EXPECT_EQ(got.memory.other_ends, wanted.memory.other_ends) << what;
  EXPECT_EQ(got.caught, wanted.caught) << what;
  EXPECT_EQ(got.uncaught, 0) << what;
  EXPECT_FALSE(got.has_handler) << what;
  EXPECT_EQ(got.live, 0) << what;
}

TEST(Unwinding, IsAsInASerialRunWithAnyRestarts) {
  SKIP_ON_GCC("a handler inside a transaction never ends");
  const char* const seeds = std::getenv("RUBATO_SEEDS");
  const unsigned count = seeds != nullptr ? static_cast<unsigned>(std::atoi(seeds)) : 600;
  for (unsigned seed = 1; seed <= count && !HasFailure(); ++seed) {
    const Tree tree(seed);
    for (unsigned at = 0; at < 2 * kPlaces && !HasFailure(); ++at) {
      const auto where = static_cast<Where>(at / 2);
      const bool can_cancel = at % 2 != 0;
      const Result wanted = serial::run_program(tree.root(), where, can_cancel);
      ASSERT_EQ(wanted.live, 0);
      for (unsigned restarts = 0; restarts < 4 && !HasFailure(); ++restarts) {
        allow_restarts(restarts, seed);
        expect_same(transactional::run_program(tree.root(), where, can_cancel), wanted,
                    " (seed " + std::to_string(seed) + ", place " + std::to_string(at / 2) + ", " +
                        (can_cancel ? "can be cancelled, " : "") + std::to_string(restarts) + " restarts)\n" +
                        tree.text());
      }
    }
  }
}

}  // namespace
