// What an idle native engine costs and how soon it wakes (rule R10): holds the engine open without tasks and
// measures the processor time of the process; then another thread creates a task every few milliseconds, and
// the time until it runs is measured. Prints one JSON object.
//   build/release/bin/bench_native_idle [SECONDS] [TASKS]
// SPDX-License-Identifier: MIT
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "rubato/rubato.hpp"

namespace {

using Clock = std::chrono::steady_clock;

std::vector<double> delays;  // microseconds; written by tasks of one locale

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void arrive(std::int64_t created) {
  const std::int64_t now = Clock::now().time_since_epoch().count();
  delays.push_back(static_cast<double>(now - created) / 1e3);
}

double quantile(double q) {
  return delays[std::min(delays.size() - 1,
                         static_cast<std::size_t>(q * static_cast<double>(delays.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  const double idle_seconds = argc > 1 ? std::atof(argv[1]) : 5;
  const int tasks = argc > 2 ? std::atoi(argv[2]) : 1000;
  double busy = 0;
  rubato::native::Hold open = rubato::native::hold();
  std::thread outside([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the workers have gone to sleep
    const double before = processor_seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(idle_seconds));
    busy = processor_seconds() - before;
    for (int i = 0; i < tasks; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(1000 + i % 7 * 300));
      rubato::create<rubato::nonspec>(arrive, {.on = 1},
                                      std::int64_t{Clock::now().time_since_epoch().count()});
    }
    open.close();
  });
  rubato::run();
  outside.join();
  std::sort(delays.begin(), delays.end());
  if (delays.empty()) return 1;
  std::printf("{\"idle_percent\": %.5f, \"wake_p50_us\": %.3f, \"wake_p99_us\": %.3f, \"workers\": %u}\n",
              100 * busy / idle_seconds, quantile(0.5), quantile(0.99), rubato::native::workers());
  return 0;
}
