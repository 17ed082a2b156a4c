// Checks in a process of their own, in which HWLOC_SYNTHETIC describes a machine with a NUMA node for each
// CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "native/topology/topology.hpp"
#include "rubato/numa.hpp"

namespace rubato {

/// A check says what is wrong on a machine of so many CPUs; empty: nothing.
using CheckOfMachine = std::string (*)(unsigned cpus);

[[noreturn]] inline void exit_with_result(CheckOfMachine check, unsigned cpus) {
  setenv("HWLOC_SYNTHETIC", ("numa:" + std::to_string(cpus) + " pu:1").c_str(), 1);
  const std::string wrong = numa_nodes().empty() ? "" : check(cpus);  // none: built without hwloc
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::_Exit(wrong.empty() ? 0 : 1);
}

/// The last statement of a death test.
inline void expect_right_on_synthetic_machine(CheckOfMachine check) {
  const std::vector<unsigned> cpus = native::current_affinity();
  if (cpus.size() < 2 || cpus.back() != cpus.size() - 1) GTEST_SKIP() << "CPUs are not numbered 0, 1, ...";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_with_result(check, static_cast<unsigned>(cpus.size())), testing::ExitedWithCode(0), "");
}

}  // namespace rubato
