// Threads that alternate between a phase in which all of them use the same lines and one in which each goes
// through data of its own: the first is the case for a directory, the second for a filter of private lines.
// Neither split of a storage between the two is right for both phases (docs/coherence.md). Two programs, by
// --sharing:
//
//   updates    in the shared phase threads add to counters of their own, in lines at random
//   exchange   each thread writes its part of the lines, then reads another thread's part, and so on
// SPDX-License-Identifier: MIT
#include <barrier>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "workloads/common/workload.hpp"

namespace {

using rubato::Rng;
using rubato::workloads::WorkloadOptions;
using rubato::workloads::WrongResult;

/// Each thread has a counter of its own in it: threads write the same lines, never the same bytes.
struct alignas(64) Line {
  std::uint32_t counters[16] = {};
};
constexpr std::uint64_t kAtOnce = 8;  // lines, so that a core asks for the next before it has the first

enum class Sharing : std::uint8_t { updates, exchange };

struct Options : WorkloadOptions {
  Sharing sharing = Sharing::updates;
  std::uint64_t lines = 8192;           // that all share
  std::uint64_t private_lines = 32768;  // of each thread
  std::uint64_t accesses = 65536;       // of each thread in each phase
};

struct alignas(64) Thread {
  std::vector<Line> lines;  // its own
  std::uint64_t at = 0;
  Rng rng{0};
  std::uint32_t turns = 0;
  std::uint64_t sum = 0;  // of what it has read in them
};

class Phases {
 public:
  explicit Phases(const Options& o)
      : o_(o), shared_(o.lines), threads_(o.threads), gate_(static_cast<std::ptrdiff_t>(o.threads)) {}

  void run(unsigned thread, std::uint64_t rounds, bool is_warm) {
    Thread& me = threads_[thread];
    if (is_warm) {
      me.lines = std::vector<Line>(o_.private_lines);  // by the thread that uses them
      me.rng = Rng(o_.seed * 1024 + thread);
    }
    for (std::uint64_t round = 0; round < rounds; ++round) {
      go_through_own(me);
      gate_.arrive_and_wait();
      o_.sharing == Sharing::updates ? update(thread, me) : exchange(thread, me);
      gate_.arrive_and_wait();
    }
  }

  void verify() const {
    const std::uint64_t rounds = o_.warm + o_.work, accesses = rounds * o_.accesses * o_.threads;
    std::uint64_t own = 0, shared = 0;
    for (const Thread& t : threads_)
      for (const Line& line : t.lines) own += line.counters[0];
    if (own != accesses) throw WrongResult("the lines of threads add up to " + std::to_string(own));
    if (o_.sharing == Sharing::updates) {
      for (const Line& line : shared_)
        for (const std::uint32_t counter : line.counters) shared += counter;
      if (shared != accesses) throw WrongResult("the shared lines add up to " + std::to_string(shared));
      return;
    }
    // In each turn a thread has read the turn's number on each line.
    const std::uint64_t turns = turns_of_a_phase() * rounds;
    for (const Thread& t : threads_)
      if (t.sum != turns * (turns + 1) / 2 * part())
        throw WrongResult("a thread has read lines that add up to " + std::to_string(t.sum));
  }

 private:
  std::uint64_t part() const { return o_.lines / o_.threads / kAtOnce * kAtOnce; }
  /// A turn writes a part and reads one.
  std::uint64_t turns_of_a_phase() const { return o_.accesses / (2 * part()); }

  /// Adds to a counter of each of kAtOnce lines: all loads come first.
  template <class LineOf>
  static void add(LineOf&& line_of, std::uint32_t counter) {
    std::uint32_t values[kAtOnce];
    Line* lines[kAtOnce];
    for (std::uint64_t i = 0; i < kAtOnce; ++i) lines[i] = line_of(i);
#pragma GCC unroll 8
    for (std::uint64_t i = 0; i < kAtOnce; ++i) values[i] = load(lines[i]->counters[counter]);
#pragma GCC unroll 8
    for (std::uint64_t i = 0; i < kAtOnce; ++i) store(lines[i]->counters[counter], values[i] + 1);
  }
  static std::uint32_t load(const std::uint32_t& from) {
    return *static_cast<const volatile std::uint32_t*>(&from);
  }
  static void store(std::uint32_t& to, std::uint32_t value) {
    *static_cast<volatile std::uint32_t*>(&to) = value;
  }

  void go_through_own(Thread& me) {
    for (std::uint64_t done = 0; done < o_.accesses; done += kAtOnce) {
      add([&](std::uint64_t i) { return &me.lines[me.at + i]; }, 0);
      me.at = (me.at + kAtOnce) % me.lines.size();
    }
  }
  /// Lines of a batch differ, as their numbers do modulo kAtOnce.
  void update(unsigned thread, Thread& me) {
    for (std::uint64_t done = 0; done < o_.accesses; done += kAtOnce)
      add([&](std::uint64_t i) { return &shared_[me.rng.below(shared_.size() / kAtOnce) * kAtOnce + i]; },
          thread);
  }
  void exchange(unsigned thread, Thread& me) {
    for (std::uint64_t turn = 0; turn < turns_of_a_phase(); ++turn) {
      ++me.turns;
      for (std::uint64_t i = 0; i < part(); ++i) store(shared_[thread * part() + i].counters[0], me.turns);
      gate_.arrive_and_wait();
      const std::uint64_t other = (thread + 1 + turn % (o_.threads - 1)) % o_.threads;
      for (std::uint64_t i = 0; i < part(); i += kAtOnce) {
        std::uint32_t values[kAtOnce];
#pragma GCC unroll 8
        for (std::uint64_t j = 0; j < kAtOnce; ++j)
          values[j] = load(shared_[other * part() + i + j].counters[0]);
        for (const std::uint32_t value : values) me.sum += value;
      }
      gate_.arrive_and_wait();
    }
  }

  Options o_;
  std::vector<Line> shared_;
  std::vector<Thread> threads_;
  std::barrier<> gate_;
};

}  // namespace

int main(int argc, char** argv) {
  Options o;
  o.warm = 0;
  o.work = 2;
  rubato::CommandLine line("phases", "Threads that share in one phase and do not in the next.");
  rubato::workloads::add_workload_options(line, o, "pairs of phases");
  line.add_choice("--sharing", o.sharing, {{"updates", Sharing::updates}, {"exchange", Sharing::exchange}},
                  "What threads do with the lines that they share (default updates)");
  constexpr std::uint64_t kMost = 1 << 24;
  line.add_option("--lines", o.lines, "Lines that all threads share (default 8192)")
      .range(16 * kAtOnce, kMost);
  line.add_option("--private-lines", o.private_lines, "Lines of each thread (default 32768)")
      .range(kAtOnce, kMost);
  line.add_option("--accesses", o.accesses, "Accesses of each thread in each phase (default 65536)")
      .range(kAtOnce, std::uint64_t{1} << 30);
  return rubato::workloads::workload_main(
      "phases", line,
      [&] {
        if (o.threads < 2 || o.threads > 16)
          throw WrongResult("threads are 2 to 16, for a line has 16 counters");
        o.lines -= o.lines % kAtOnce;
        o.private_lines -= o.private_lines % kAtOnce;
        o.accesses -= o.accesses % kAtOnce;
        Phases phases(o);
        rubato::workloads::run_in_region(
            o, [&](unsigned t, std::uint64_t units, bool is_warm) { phases.run(t, units, is_warm); });
        if (o.verify) phases.verify();
        std::printf("%" PRIu64 " rounds of %u threads\n", o.warm + o.work, o.threads);
      },
      argc, argv);
}
