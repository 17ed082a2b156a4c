// SPDX-License-Identifier: MIT
#include "workloads/common/workload.hpp"

#include <sched.h>

#include <barrier>
#include <cstdio>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "rubato/markers.h"

namespace rubato::workloads {

namespace {

/// Keeps each thread on a core, if there are enough cores: in fast-forward it then warms up the caches that
/// it will use.
void stay_on_core(unsigned thread, unsigned threads) {
  if (threads > std::thread::hardware_concurrency() || threads > CPU_SETSIZE) return;
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(thread, &core);
  (void)sched_setaffinity(0, sizeof core, &core);  // not allowed to: then without
}

}  // namespace

void expect_equal(std::uint64_t found, std::uint64_t expected, const std::string& what) {
  if (found != expected)
    throw WrongResult(what + " is " + std::to_string(static_cast<std::int64_t>(found)) + ", not " +
                      std::to_string(static_cast<std::int64_t>(expected)));
}

void add_workload_options(CommandLine& line, WorkloadOptions& o, const std::string& unit) {
  line.add_option("--threads", o.threads, "Threads (default " + std::to_string(o.threads) + ")")
      .range(1U, 1024U);
  const auto add_number = [&](const char* name, std::uint64_t& number, const std::string& help) {
    line.add_option(name, number, help + " (default " + std::to_string(number) + ")").check(whole_number);
  };
  add_number("--warm", o.warm, "So many " + unit + " before the region \"work\"");
  add_number("--work", o.work, "So many " + unit + " in it");
  add_number("--seed", o.seed, "Seed of all random choices");
  line.add_flag("--verify", o.verify, "Check the results; exit 1 if one is wrong");
}

void run_in_region(const WorkloadOptions& o,
                   const std::function<void(unsigned thread, std::uint64_t units, bool is_warm)>& part) {
  std::barrier gate(static_cast<std::ptrdiff_t>(o.threads));
  const auto run = [&](unsigned thread) {
    stay_on_core(thread, o.threads);
    part(thread, o.warm, true);
    gate.arrive_and_wait();
    if (thread == 0) rubato_region_begin("work");
    gate.arrive_and_wait();
    part(thread, o.work, false);
    gate.arrive_and_wait();
    if (thread == 0) rubato_region_end("work");
  };
  std::vector<std::jthread> threads;
  threads.reserve(o.threads - 1);
  for (unsigned t = 1; t < o.threads; ++t) threads.emplace_back(run, t);
  run(0);
}

int workload_main(const char* name, CommandLine& line, const std::function<void()>& run, int argc,
                  char** argv) {
  try {
    if (!line.parse(argc, argv)) return 0;
    line.refuse_empty_values();
  } catch (const CommandLineError& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 2;
  }
  try {
    run();
    if (std::fflush(stdout) == 0) return 0;
    std::fprintf(stderr, "%s: cannot write the result\n", name);
    return 2;
  } catch (const WrongResult& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: not enough memory for these sizes\n", name);
    return 2;
  } catch (const std::system_error& e) {  // a file, or a thread, that there is no room for
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 2;
  }
}

}  // namespace rubato::workloads
