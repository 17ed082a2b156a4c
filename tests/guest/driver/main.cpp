// run-functional: runs a program in fast-forward only, as a test driver. Exits as the program did; a fault
// gives 3, a deadlock 4, a program that cannot be loaded 2, and the reason on standard error.
//
//   run-functional [--cores N] [--sandbox DIR] [--max-instructions N] [--env NAME=VALUE]... PROGRAM
//   [ARGUMENTS]
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "chip/os/fast_forward.hpp"
#include "chip/os/fault_report.hpp"

namespace rubato::chip {
namespace {

struct Clock : GuestClock {
  const FastForward* fast_forward = nullptr;
  std::uint64_t nanoseconds() const override {
    return fast_forward == nullptr ? 0 : fast_forward->nanoseconds();
  }
};

int run(int argc, char** argv) {
  ProcessOptions options;
  options.cores = 4;
  std::uint64_t budget = std::uint64_t{1} << 62;
  int i = 1;
  for (; i + 1 < argc && std::string(argv[i]).starts_with("--"); i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--cores")
      options.cores = static_cast<std::uint32_t>(std::stoul(value));
    else if (option == "--sandbox")
      options.sandbox = value;
    else if (option == "--env")
      options.environment.push_back(value);
    else if (option == "--max-instructions")
      budget = std::stoull(value);
    else
      throw UsageError("unknown option {}", option);
  }
  if (i >= argc) throw UsageError("expected a program");
  options.program = argv[i];
  options.arguments.assign(argv + i + 1, argv + argc);

  AddressSpace memory;
  Clock clock;
  Process process(options, memory, clock);
  isa::BlockCache blocks(memory);
  constexpr std::uint64_t kQuantum = 10000;
  FastForward fast_forward(process, memory, blocks, kQuantum);
  clock.fast_forward = &fast_forward;
  const FastForward::Result result = fast_forward.run(std::nullopt, budget);
  switch (result.stop) {
    case FastForward::Stop::exited:
      if (const auto signal = process.death_signal()) {
        fmt::print(stderr, "run-functional: {}\n", describe_death(*signal));
        return static_cast<int>(ExitCode::guest_fault);
      }
      return process.exit_status();
    case FastForward::Stop::fault:
      fmt::print(stderr, "run-functional: {}\n", describe(result.fault, *result.thread, process));
      return static_cast<int>(ExitCode::guest_fault);
    case FastForward::Stop::deadlock:
      fmt::print(stderr, "run-functional: nothing can proceed:\n{}", process.describe_waiting());
      return static_cast<int>(ExitCode::no_progress);
    case FastForward::Stop::budget:
      fmt::print(stderr, "run-functional: out of instructions:\n");
      for (const auto& thread : process.threads())
        if (thread->state == ThreadState::runnable)
          fmt::print(stderr, "thread {} runs at {}\n", thread->tid, describe_position(*thread, process));
      return static_cast<int>(ExitCode::no_progress);
    default:
      fmt::print(stderr, "run-functional: a task instruction outside of a chip\n");
      return 3;
  }
}

}  // namespace
}  // namespace rubato::chip

int main(int argc, char** argv) {
  try {
    return rubato::chip::run(argc, argv);
  } catch (const rubato::Error& error) {
    fmt::print(stderr, "run-functional: {}\n", error.what());
    return static_cast<int>(error.code());
  }
}
