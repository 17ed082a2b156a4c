// Litmus tests of the memory model (K92): what four threads see of each other's stores, round by round, each
// starting a little earlier or later than in the round before. Prints of each test whether an outcome came
// that RVWMO forbids, and, as a check of the test itself, whether several outcomes came at all. Some forbid
// nothing: of them it prints whether the outcome came that no order of whole accesses has.
// no-qemu: outcomes differ from machine to machine, and threads that spin beside each other take minutes
// there
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <set>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kThreads = 4, kRounds = 120;
constexpr auto kRelaxed = std::memory_order_relaxed, kAcquire = std::memory_order_acquire,
               kRelease = std::memory_order_release;

struct alignas(64) Word {
  std::atomic<unsigned> value{0};
  unsigned load(std::memory_order order = kRelaxed) const { return value.load(order); }
  void store(unsigned to, std::memory_order order = kRelaxed) { value.store(to, order); }
};
Word x, y, z;
alignas(64) std::atomic<unsigned> arrived{0};
using Seen = std::array<unsigned, 4>;
Seen seen;

void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
void fence_of_stores() { asm volatile("fence w,w" ::: "memory"); }
void fence_of_loads() { asm volatile("fence r,r" ::: "memory"); }
/// `word`, by an address that depends on `value`.
const Word& by_way_of(unsigned value, const Word& word) {
  std::uintptr_t address = 0;
  asm volatile("xor %0, %1, %1\n\tadd %0, %0, %2" : "=&r"(address) : "r"(std::uintptr_t{value}), "r"(&word));
  return *reinterpret_cast<const Word*>(address);
}
/// By lr and sc. @returns what was there.
unsigned add_one(Word& word) {
  unsigned old = word.load();
  while (!word.value.compare_exchange_weak(old, old + 1, kRelaxed)) {
  }
  return old;
}

/// Nothing is stored between the last thread's arrival and the first one's leaving.
void meet(unsigned& phase) {
  phase += kThreads;
  arrived.fetch_add(1);
  while (arrived.load() < phase) {
  }
}

struct Test {
  const char* name;
  std::array<std::function<void()>, kThreads> threads;  // empty: the thread does nothing
  std::function<bool(const Seen&)> is_forbidden;        // x, y and z hold their last values
  std::function<bool(const Seen&)> is_relaxed = {};     // allowed, but by no order of whole accesses
};

const std::vector<Test>& tests() {
  static const std::vector<Test> all = {
      {"MP, release and acquire",
       {[] { x.store(1), y.store(1, kRelease); }, [] { seen[0] = y.load(kAcquire), seen[1] = x.load(); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 0; }},
      {"SB, fences",
       {[] { x.store(1), full_fence(), seen[0] = y.load(); },
        [] { y.store(1), full_fence(), seen[1] = x.load(); }},
       [](const Seen& r) { return r[0] == 0 && r[1] == 0; }},
      {"LB, data dependences",
       {[] { seen[0] = x.load(), y.store(seen[0] + 1); },
        [] { seen[1] = y.load(), x.store(seen[1] == 0 ? 0 : 7); }},
       [](const Seen& r) { return r[0] == 7 && r[1] == 8; }},
      {"WRC, release and acquire",
       {[] { x.store(1); },
        [] {
          seen[0] = x.load(kAcquire);
          y.store(seen[0], kRelease);
        },
        [] { seen[1] = y.load(kAcquire), seen[2] = x.load(); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 1 && r[2] == 0; }},
      {"IRIW, fences",
       {[] { x.store(1); }, [] { y.store(1); }, [] { seen[0] = x.load(), full_fence(), seen[1] = y.load(); },
        [] { seen[2] = y.load(), full_fence(), seen[3] = x.load(); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0; }},
      {"CoRR",
       {[] { x.store(1), x.store(2); }, [] { seen[0] = x.load(), seen[1] = x.load(); },
        [] { seen[2] = x.load(), seen[3] = x.load(); }},
       [](const Seen& r) { return r[0] > r[1] || r[2] > r[3]; }},
      {"CoWR",
       {[] { x.store(1), seen[0] = x.load(); }, [] { x.store(2), seen[1] = x.load(); }},
       [](const Seen& r) { return (r[0] == 2 && r[1] == 1) || r[0] == 0 || r[1] == 0; }},
      {"2+2W, releases",
       {[] { x.store(1), y.store(2, kRelease); }, [] { y.store(1), x.store(2, kRelease); },
        [] { seen[0] = x.load(), seen[1] = y.load(); }},
       [](const Seen&) { return x.load() == 1 && y.load() == 1; }},
      {"R, fences",
       {[] { x.store(1), full_fence(), y.store(1); }, [] { y.store(2), full_fence(), seen[0] = x.load(); }},
       [](const Seen& r) { return y.load() == 2 && r[0] == 0; }},
      {"S, release and acquire",
       {[] { x.store(2), y.store(1, kRelease); },
        [] {
          seen[0] = y.load(kAcquire);
          x.store(1);
        }},
       [](const Seen& r) { return r[0] == 1 && x.load() == 2; }},
      {"AMO",
       {[] { seen[0] = x.value.fetch_add(1, kRelaxed); }, [] { seen[1] = x.value.fetch_add(1, kRelaxed); },
        [] { seen[2] = x.value.fetch_add(1, kRelaxed); }, [] { seen[3] = x.value.fetch_add(1, kRelaxed); }},
       [](const Seen& r) { return r[0] + r[1] + r[2] + r[3] != 6 || x.load() != 4; }},
      {"LR/SC",
       {[] { seen[0] = __atomic_fetch_nand(reinterpret_cast<unsigned*>(&x), 1U, __ATOMIC_RELAXED); },
        [] { seen[1] = __atomic_fetch_nand(reinterpret_cast<unsigned*>(&x), 3U, __ATOMIC_RELAXED); },
        [] { seen[2] = x.load(); }},
       [](const Seen& r) { return (r[0] == 0) == (r[1] == 0); }},
      {"MP, fences",
       {[] { x.store(1), full_fence(), y.store(1); },
        [] { seen[0] = y.load(), full_fence(), seen[1] = x.load(); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 0; }},
      {"MP, fences of stores and of loads",
       {[] { x.store(1), fence_of_stores(), y.store(1); },
        [] { seen[0] = y.load(), fence_of_loads(), seen[1] = x.load(); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 0; }},
      {"MP, address dependence",
       {[] { x.store(1), y.store(1, kRelease); },
        [] { seen[0] = y.load(), seen[1] = by_way_of(seen[0], x).load(); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 0; }},
      {"MP, atomics that release and acquire",
       {[] { x.store(1), y.value.exchange(1, kRelease); },
        [] { seen[0] = y.value.fetch_or(0, kAcquire), seen[1] = x.load(); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 0; }},
      {"SB, atomics",
       {[] { x.value.exchange(1), seen[0] = y.value.load(); },
        [] { y.value.exchange(1), seen[1] = x.value.load(); }},
       [](const Seen& r) { return r[0] == 0 && r[1] == 0; }},
      {"LB, control dependences",
       {[] {
          seen[0] = x.load();
          if (seen[0] != 0) y.store(1);
        },
        [] {
          seen[1] = y.load();
          if (seen[1] != 0) x.store(1);
        },
        [] { y.store(2); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 1; }},
      {"ISA2, releases and acquires",
       {[] { x.store(1), y.store(1, kRelease); },
        [] {
          seen[0] = y.load(kAcquire);
          z.store(seen[0], kRelease);
        },
        [] { seen[1] = z.load(kAcquire), seen[2] = x.load(); }},
       [](const Seen& r) { return r[1] == 1 && r[2] == 0; }},
      {"RWC, fences",
       {[] { x.store(1); }, [] { seen[0] = x.load(), full_fence(), seen[1] = y.load(); },
        [] { y.store(1), full_fence(), seen[2] = x.load(); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; }},
      {"W+RWC, fences",
       {[] { x.store(1), full_fence(), z.store(1); },
        [] { seen[0] = z.load(), full_fence(), seen[1] = y.load(); },
        [] { y.store(1), full_fence(), seen[2] = x.load(); }},
       [](const Seen& r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; }},
      {"CoRW and CoWW",
       {[] { seen[0] = x.load(), x.store(1); }, [] { x.store(2), x.store(3); }, [] { seen[1] = x.load(); }},
       [](const Seen& r) { return r[0] == 1 || x.load() == 2 || (r[0] == 3 && x.load() != 1); }},
      {"LR/SC, four that add",
       {[] { seen[0] = add_one(x); }, [] { seen[1] = add_one(x); }, [] { seen[2] = add_one(x); },
        [] { seen[3] = add_one(x); }},
       [](const Seen& r) { return std::set<unsigned>(r.begin(), r.end()).size() != 4 || x.load() != 4; }},
      {"SB",
       {nullptr, nullptr,
        [] {  // the line that it will read is there already
          if (y.load() != 99) x.store(1), seen[0] = y.load();
        },
        [] {
          if (x.load() != 99) y.store(1), seen[1] = x.load();
        }},
       [](const Seen&) { return false; },
       [](const Seen& r) { return r[0] == 0 && r[1] == 0; }},
  };
  return all;
}

std::vector<std::set<Seen>> outcomes(tests().size());
std::vector<unsigned> forbidden(tests().size()), relaxed(tests().size());

void run(unsigned self) {
  unsigned phase = 0;
  for (std::size_t t = 0; t < tests().size(); ++t) {
    const Test& test = tests()[t];
    for (unsigned round = 0; round < kRounds; ++round) {
      if (self == 0) {
        seen = {};
        x.store(0), y.store(0), z.store(0);
      }
      meet(phase);
      for (volatile unsigned i = (round * (2 * self + 3) + self * 7) % 41; i != 0; i = i - 1) {
      }
      if (test.threads[self]) test.threads[self]();
      meet(phase);
      if (self == 0) {
        outcomes[t].insert({seen[0], seen[1] * 16 + x.load(), seen[2] * 16 + y.load(), seen[3]});
        forbidden[t] += test.is_forbidden(seen) ? 1 : 0;
        relaxed[t] += test.is_relaxed && test.is_relaxed(seen) ? 1 : 0;
      }
      meet(phase);
    }
  }
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < kThreads; ++i) threads.emplace_back(run, i);
  run(0);
  for (std::thread& thread : threads) thread.join();
  bool is_good = true;
  for (std::size_t t = 0; t < tests().size(); ++t) {
    std::printf("%s: %u forbidden, %s%s\n", tests()[t].name, forbidden[t],
                outcomes[t].size() > 1 ? "several outcomes" : "one outcome",
                relaxed[t] != 0 ? ", relaxed" : "");
    is_good &= forbidden[t] == 0;
  }
  return is_good ? 0 : 1;
}
