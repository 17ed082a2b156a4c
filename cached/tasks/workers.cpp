// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "cached/tasks/sections.hpp"

namespace rubato::cached {

void TaskWorkers::start() {
  native::Options options = native::options();
  // The workers wait for clients, whose threads may have these CPUs meanwhile.
  options.workers = number_, options.oversubscribe = true, options.bind = false;
  native::configure(options);
  hold_ = native::hold();
  thread_ = std::thread([] {
    try {
      run();
    } catch (const std::exception& error) {  // no memory for tasks, or no thread: no request can be answered
      std::fprintf(stderr, "rubato-cached: %s\n", error.what());
      _exit(71);
    }
  });
}

void TaskWorkers::stop() {
  hold_.close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace rubato::cached
