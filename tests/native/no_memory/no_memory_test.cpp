// Every allocation that a run makes fails once, in runs of their own, or it and all after it, or a thread
// cannot be started: run() throws, nothing is left behind, and the next run works. R8 and R11. This
// program replaces operator new and wraps aligned_alloc() (see tests/CMakeLists.txt).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "rubato/actors.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

/// So many allocations succeed; then one fails, or all.
class Memory {
 public:
  void limit(std::int64_t allocations, bool for_good) {
    is_for_good_ = for_good;
    left_ = allocations;
  }
  /// @returns whether any failed.
  bool unlimit() { return left_.exchange(kPlenty) < 0; }
  bool fails() {
    if (left_.load(std::memory_order_relaxed) > kPlenty / 2) return false;
    const std::int64_t left = left_.fetch_sub(1);
    return left == 0 || (left < 0 && is_for_good_);
  }

 private:
  static constexpr std::int64_t kPlenty = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> left_{kPlenty};
  std::atomic<bool> is_for_good_{false};
};
constinit Memory memory;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const block = memory.fails() ? nullptr : std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }

extern "C" void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
extern "C" void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return memory.fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}

namespace {

using namespace rubato;

std::atomic<std::uint64_t> calls{0};
void count() { ++calls; }

TaskGroup group;
void create_groups() {
  for (unsigned i = 0; i < 20; ++i) create<nonspec>(count, {.after = &group});
  for (unsigned i = 0; i < 20; ++i) create<nonspec>(count, {.group = &group});
}
void create_large() {
  const std::array<std::uint64_t, 20> words{};
  for (unsigned i = 0; i < 20; ++i) create<nonspec>([words] { calls += words[0] + 1; }, {});
}
void create_many() {
  for (unsigned i = 0; i < 60'000; ++i) create<nonspec>(count, {});
}
void create_in_order() {
  for (unsigned i = 0; i < 20'000; ++i) create<nonspec>(count, {.at = timestamp() + 1, .on = i});
}
/// Creates more tasks than were freed for it, if it was packed.
void create_two() {
  ++calls;
  for (unsigned i = 1; i <= 2; ++i) create<nonspec>(count, {.at = timestamp() + i});
}
void create_more_and_more() {
  for (unsigned i = 0; i < 20'000; ++i) create<nonspec>(create_two, {.at = timestamp() + 1});
}
struct Node {
  tracked<std::uint64_t> value = 0;
};
void create_resources() {
  for (unsigned i = 0; i < 100; ++i) {
    create<nonspec>(
        [] {
          const auto node = make_resource<Node>({});
          create<nonspec>([node] { remove(node); }, {.on = node});
        },
        {});
  }
}
void throw_in_turn() {
  create<spec>(count, {});
  throw 5;
}

/// Enough for lists that go through the pools, each with a task that is none.
constexpr unsigned kPacked = 5000;
void create_lists() {
  for (unsigned i = 0; i < kPacked; ++i) create<nonspec>(count, {.at = timestamp() + 1, .on = i});
}
/// Begun by a worker that runs tasks with nothing beside them.
void create_lists_alone() { create<spec>(create_lists, {.at = timestamp() + 1}); }

struct Program {
  const char* name;
  void (*first)();
  std::optional<Timestamp> at = {};
};
void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

enum Outcome { not_reached, as_it_should, wrong };

/// In a process of its own: memory and threads that one run has taken are there for the next.
template <class Function>
Outcome in_child(Function function) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);  // a hang ends, too
    try {
      std::exit(function());  // not _exit(): what is left behind is to be found
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in a child: %s\n", error.what());
      std::_Exit(wrong);  // it must not go on with the tests
    }
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return wrong;
  return WEXITSTATUS(status) <= as_it_should ? static_cast<Outcome>(WEXITSTATUS(status)) : wrong;
}

void create_some() {
  calls = 0;
  for (unsigned i = 0; i < 1000; ++i) create<nonspec>(count, {});
}
bool works() {
  create_some();
  for (unsigned i = 0; i < 1000; ++i) create<nonspec>(count, {.on = i});
  create<nonspec>(create_lists, {.at = 1});
  create<spec>(count, {});
  run();
  return calls == 2001 + kPacked;
}

class NoMemory : public ::testing::Test {
 protected:
  /// More allocations are of the same kind: a slab, a batch of blocks, the words of a message.
  static void expect_errors(unsigned workers, const Program& program, bool for_good) {
    constexpr std::int64_t kMost = 24;
    Outcome outcome = as_it_should;
    for (std::int64_t n = 0; n < kMost && outcome == as_it_should; ++n) {
      outcome = in_child([&] { return run_with(workers, program, n, for_good); });
      EXPECT_NE(outcome, wrong) << "after " << n << " allocations";
    }
  }

  static Outcome run_with(unsigned workers, const Program& program, std::int64_t allocations, bool for_good) {
    use_workers(workers);
    if (!works()) return wrong;
    create<nonspec>(program.first, {.at = program.at, .group = program.at ? nullptr : &group});
    memory.limit(allocations, for_good);
    bool has_failed = false, is_clear = true;
    std::string said;
    try {
      run();  // a task may go on without what it did not get: then all is as ever
      has_failed = memory.unlimit();
    } catch (const TaskError& error) {
      has_failed = memory.unlimit();
      said = error.what();
    } catch (const std::bad_alloc&) {  // there is no memory for more than that
      has_failed = memory.unlimit();
      is_clear = for_good;
    } catch (int) {  // nor for more than what the task threw
      has_failed = memory.unlimit();
      is_clear = has_failed && program.first == throw_in_turn;
    }
    if (!is_clear || !group.is_complete() || !works()) {
      std::fprintf(stderr, "workers %u, %s: %s\n", workers, program.name, said.c_str());
      return wrong;
    }
    return has_failed ? as_it_should : not_reached;
  }
};
class NoMemoryFor : public NoMemory, public ::testing::WithParamInterface<std::tuple<unsigned, Program>> {};
INSTANTIATE_TEST_SUITE_P(
    Programs, NoMemoryFor,
    ::testing::Combine(::testing::Values(1u, 2u, 8u),
                       ::testing::Values(Program{"groups", create_groups}, Program{"large", create_large},
                                         Program{"many", create_many}, Program{"ordered", create_in_order, 1},
                                         Program{"packed", create_more_and_more, 1},
                                         Program{"resources", create_resources},
                                         Program{"throwing", throw_in_turn})));

TEST_P(NoMemoryFor, FailsOnce) { expect_errors(std::get<0>(GetParam()), std::get<1>(GetParam()), false); }
TEST_P(NoMemoryFor, IsThereNoMore) { expect_errors(std::get<0>(GetParam()), std::get<1>(GetParam()), true); }

/// Every block of a task is an allocation there: also those of the lists, in the middle of the way from one
/// timestamp to the next.
TEST_F(NoMemory, OfTasksFromMalloc) {
  for (const unsigned workers : {2u, 8u}) {
    for (const Program& program :
         {Program{"lists", create_lists, 1}, {"lists alone", create_lists_alone, 1}}) {
      for (std::int64_t n = kPacked; n < kPacked + 12; ++n) {
        EXPECT_EQ(in_child([&] {
                    setenv("RUBATO_TASK_MEMORY", "malloc", 1);
                    return run_with(workers, program, n, true);
                  }),
                  as_it_should)
            << program.name << " on " << workers << " workers, after " << n << " allocations";
      }
    }
  }
}

/// Tasks that were created before the memory ended are dropped, and destroyed.
TEST_F(NoMemory, ForCreatesOutsideTasks) {
  const Outcome outcome = in_child([] {
    use_workers(2);
    if (!works()) return wrong;
    static std::atomic<unsigned> alive;
    struct Counted {
      Counted() { ++alive; }
      Counted(Counted&&) noexcept { ++alive; }
      ~Counted() { --alive; }
    };
    TaskGroup members;
    const std::uint64_t before = calls;
    memory.limit(5, true);
    bool has_failed = false;
    try {
      for (unsigned i = 0; i < 1'000'000; ++i)
        create<nonspec>([owned = Counted()] { ++calls; }, {.group = i % 2 == 0 ? &members : nullptr});
    } catch (const std::bad_alloc&) {
      has_failed = true;
    }
    memory.unlimit();
    const bool has_some = alive != 0 && !members.is_complete();
    native::drop_pending();
    if (alive != 0 || !members.is_complete() || calls != before) return wrong;
    return has_failed && has_some && works() ? as_it_should : wrong;
  });
  EXPECT_EQ(outcome, as_it_should);
}

/// Other options stay as they were asked for, and the workers are there when they are needed.
TEST_F(NoMemory, ForWorkers) {
  Outcome outcome = as_it_should;
  for (std::int64_t n = 0; n < 100 && outcome == as_it_should; n = n < 20 ? n + 1 : n + 7) {
    outcome = in_child([&] {
      use_workers(2);
      if (!works()) return wrong;
      memory.limit(n, false);
      bool has_failed = false;
      try {
        use_workers(4);
      } catch (const std::bad_alloc&) {
        has_failed = true;
      }
      memory.unlimit();
      static_cast<void>(actor_counters());  // also where there are no workers now
      const std::uint64_t before = native::counters().tasks_run;
      if (!works() || native::counters().tasks_run < before + calls) return wrong;
      return has_failed ? as_it_should : not_reached;
    });
    EXPECT_NE(outcome, wrong) << "after " << n << " allocations";
  }
}

struct Tick {};
struct Question {
  using reply = int;
};
/// Has timers of each kind.
struct Timed : behavior<Tick, Idle, Question> {
  Timed() {
    kept.reserve(3);
    idle_after(std::chrono::milliseconds(1));
    every(std::chrono::milliseconds(1), Tick{});
  }
  void on(Tick) {
    if (++ticks < 5) return;
    every_ended = true;
    stop();
  }
  void on(Idle) { ++idles; }
  void on(Question, reply<int> answer) {
    kept.push_back(std::move(answer));
    ++asked;
  }
  std::vector<reply<int>> kept;
  static inline std::atomic<int> ticks{0}, idles{0}, asked{0};
  static inline std::atomic<bool> every_ended{false};
};

/// Timers that are due while there is none wait for it: they end neither the process nor without their
/// message.
TEST_F(NoMemory, ForTimers) {
  for (const bool uses_malloc : {false, true}) {
    const Outcome outcome = in_child([uses_malloc] {
      if (uses_malloc) setenv("RUBATO_TASK_MEMORY", "malloc", 1);
      use_workers(2);
      if (!works()) return wrong;
      std::atomic<int> late{0};
      native::Hold hold = native::hold();
      create<nonspec>(
          [&] {
            const auto timed = spawn<Timed>({.core = 1});
            for (int i = 0; i < 3; ++i)
              timed.ask(Question{}, {.timeout = std::chrono::milliseconds(2)})
                  .then([](int) {}, [&late](AskError error) { late += error == AskError::timeout ? 1 : 0; });
          },
          {});
      std::thread outside([&] {
        while (Timed::asked != 3) std::this_thread::yield();
        memory.limit(0, true);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        memory.unlimit();
        hold.close();
      });
      std::string said;
      try {
        run();
      } catch (const std::exception& error) {  // a turn that found no memory
        memory.unlimit();
        said = error.what();
      }
      outside.join();
      if (!said.empty()) return works() ? as_it_should : wrong;
      return late == 3 && Timed::every_ended && works() ? as_it_should : wrong;
    });
    EXPECT_EQ(outcome, as_it_should) << (uses_malloc ? "from malloc" : "from blocks");
  }
}

/// A message of a thread outside is there with a turn of its actor, or there is none: no actor waits for
/// ever.
TEST_F(NoMemory, ForMessagesOfThreadsOutside) {
  struct Counting : behavior<Tick> {
    explicit Counting(std::atomic<int>& to) : count(to) {}
    void on(Tick) { ++count; }
    std::atomic<int>& count;
  };
  for (const Spawn& where : {Spawn{}, Spawn{.core = 1}, Spawn{.thread = ActorThread::own}}) {
    Outcome outcome = as_it_should;
    for (std::int64_t n = 0; n < 10 && outcome == as_it_should; ++n) {
      outcome = in_child([&] {
        setenv("RUBATO_TASK_MEMORY", "malloc", 1);
        use_workers(2);
        if (!works()) return wrong;
        std::atomic<int> count{0};
        const auto counting = spawn<Counting>(where, std::ref(count));
        bool has_failed = false;
        memory.limit(n, true);
        try {
          counting.send(Tick{});
        } catch (const std::bad_alloc&) {
          has_failed = true;
        }
        memory.unlimit();
        counting.send(Tick{});
        counting.stop();
        run();
        if (count != (has_failed ? 1 : 2) || !living_actors().empty()) return wrong;
        return has_failed ? as_it_should : not_reached;
      });
      EXPECT_NE(outcome, wrong) << "after " << n << " allocations";
    }
    EXPECT_EQ(outcome, not_reached);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need address space without limit
/// There is room for the stacks of a few threads more.
void limit_address_space() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{30} << 20);
  setrlimit(RLIMIT_AS, &limit);
}
void unlimit_address_space() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
}

TEST(NoThread, ARunWithoutEnoughThrowsAndTheNextOneDoesWhatWasToBeDone) {
  const Outcome outcome = in_child([] {
    use_workers(8);
    create_some();
    limit_address_space();
    std::string said;
    try {
      run();
    } catch (const TaskError& error) {
      said = error.what();
    }
    const bool is_clear = said.find("of 8 worker threads could be started") != std::string::npos;
    const bool has_begun = calls != 0;
    unlimit_address_space();
    run();
    return is_clear && !has_begun && calls == 1000 && works() ? as_it_should : wrong;
  });
  EXPECT_EQ(outcome, as_it_should);
}
#endif

}  // namespace
