// Cost of an idle native engine, and its wake-up latency (R10). The engine is held open without tasks
// while the processor time of the process is measured. Then another thread creates a task every few
// milliseconds, and the time until it runs is measured. The lower bound is measured first, in the same way:
// how soon this machine wakes a thread that sleeps on a semaphore. Prints one JSON object.
//   build/release/bin/bench_native_idle [SECONDS] [TASKS]
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <thread>
#include <vector>

#include "bench/processor_seconds.hpp"
#include "rubato/rubato.hpp"

namespace {

using Clock = std::chrono::steady_clock;

std::vector<double> delays;  // microseconds; written by tasks of one locale, or by the thread that is woken

std::int64_t now() { return Clock::now().time_since_epoch().count(); }

void arrive(std::int64_t created) { delays.push_back(static_cast<double>(now() - created) / 1e3); }

/// Quantile of the delays, which are sorted.
double quantile(double q) {
  return delays[std::min(delays.size() - 1,
                         static_cast<std::size_t>(q * static_cast<double>(delays.size())))];
}

/// A pause until the sleeper sleeps again. Its length varies, so that it never ends at the same distance from
/// a tick of the kernel.
void pause_before(int wake_up) {
  std::this_thread::sleep_for(std::chrono::microseconds(1000 + wake_up % 7 * 300));
}

struct WakeUps {
  double p50, p99;
};
WakeUps summarized() {
  std::sort(delays.begin(), delays.end());
  const WakeUps result{quantile(0.5), quantile(0.99)};
  delays.clear();
  return result;
}

WakeUps of_bare_thread(int wake_ups) {
  std::counting_semaphore<> created{0};
  std::atomic<std::int64_t> when{0};
  std::thread sleeper([&] {
    for (int i = 0; i < wake_ups; ++i) {
      created.acquire();
      arrive(when);
    }
  });
  for (int i = 0; i < wake_ups; ++i) {
    pause_before(i);
    when = now();
    created.release();
  }
  sleeper.join();
  return summarized();
}

}  // namespace

int main(int argc, char** argv) {
  const double idle_seconds = argc > 1 ? std::atof(argv[1]) : 5;
  const int tasks = argc > 2 ? std::max(1, std::atoi(argv[2])) : 1000;
  const WakeUps bare = of_bare_thread(tasks);
  double busy = 0;
  rubato::native::Hold open = rubato::native::hold();
  std::thread outside([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the workers have gone to sleep
    const double before = processor_seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(idle_seconds));
    busy = processor_seconds() - before;
    for (int i = 0; i < tasks; ++i) {
      pause_before(i);
      rubato::create<rubato::nonspec>(arrive, {.on = 1}, now());
    }
    open.close();
  });
  rubato::run();
  outside.join();
  const WakeUps engine = summarized();
  std::printf(
      "{\"idle_percent\": %.5f, \"wake_p50_us\": %.3f, \"wake_p99_us\": %.3f, "
      "\"bare_p50_us\": %.3f, \"bare_p99_us\": %.3f, \"workers\": %u}\n",
      100 * busy / idle_seconds, engine.p50, engine.p99, bare.p50, bare.p99, rubato::native::workers());
  return 0;
}
