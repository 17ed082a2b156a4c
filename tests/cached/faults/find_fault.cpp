// Looks for a history that no order explains, in a cache with the fault that RUBATO_FAULT names
// (cached/fault.hpp).
//   find-cached-fault HISTORIES    exit code 1 if there is one, said in a sentence; 0 if there is none
// A fault may also show itself by a crash, or by a history that does not end: SIGPROF ends one that runs on
// (a list that became a ring), SIGALRM one that waits.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <sys/time.h>
#include <unistd.h>

#include "cached/discipline/disciplines.hpp"
#include "cached/fault.hpp"
#include "tests/cached/history/history.hpp"

namespace rubato::cached {

bool has_fault(Fault fault) {
  static const Fault chosen = [] {
    const char* const name = std::getenv("RUBATO_FAULT");
    Fault found{};
    if (name == nullptr || find_fault(kFaultNames, name, found)) return found;
    std::fprintf(stderr, "RUBATO_FAULT is '%s', which is no fault\n", name);
    std::exit(2);
  }();
  return fault == chosen;
}
void let_others_in() { std::this_thread::yield(); }

namespace {
/// Limit of all threads in a history, which takes a tenth of a second. A busy machine does not make it more.
constexpr itimerval kProcessorTime{.it_interval = {}, .it_value = {.tv_sec = 10, .tv_usec = 0}};
}  // namespace

}  // namespace rubato::cached

int main(int argc, char** argv) {
  using namespace rubato::cached;
  const unsigned long histories = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
  const Clock clock;
  for (std::uint64_t seed = 1; seed <= histories; ++seed) {
    ::setitimer(ITIMER_PROF, &kProcessorTime, nullptr);
    ::alarm(60);  // seconds
    const auto cache = make_locks_engine(history::options(), clock);
    if (const auto wrong = history::History(*cache, {.seed = seed}).run()) {
      std::printf("seed %lu: %s\n", static_cast<unsigned long>(seed), wrong->c_str());
      return 1;
    }
  }
  return 0;
}
