// SPDX-License-Identifier: MIT
#include "tm/profile/statistics.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rubato/tm/statistics.h"
#include "tm/abi/types.hpp"
#include "tm/choice/adaptive.hpp"
#include "tm/failure.hpp"
#include "tm/profile/file.hpp"
#include "tm/profile/profile.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {
namespace {

std::uint64_t serialized(const Thread& thread, Serialization why) {
  return thread.serialized[static_cast<int>(why)].load(std::memory_order_relaxed);
}

/// The causes of hardware aborts, if there were any.
std::size_t describe_hardware(char* text, std::size_t room) {
  std::uint64_t aborts[kHardwareAborts] = {}, all = 0, without = 0;
  for_each_thread([&](const Thread& thread) {
    for (std::size_t i = 0; i < kHardwareAborts; ++i) {
      const std::uint64_t count = thread.hardware_aborts[i].load(std::memory_order_relaxed);
      aborts[i] += count;
      all += count;
    }
    without += thread.without_hardware.load(std::memory_order_relaxed);
  });
  if (all + without == 0) return 0;
  const int length = std::snprintf(
      text, room,
      "hardware: %llu transactions ran alone or in software instead; aborts: conflict %llu, capacity "
      "%llu, kept out %llu, "
      "instruction %llu, other %llu\n",
      static_cast<unsigned long long>(without), static_cast<unsigned long long>(aborts[0]),
      static_cast<unsigned long long>(aborts[1]), static_cast<unsigned long long>(aborts[2]),
      static_cast<unsigned long long>(aborts[3]), static_cast<unsigned long long>(aborts[4]));
  return length > 0 ? std::min(static_cast<std::size_t>(length), room - 1) : 0;
}

/// The summary's columns are those of the paper's tables 1 to 4.
void print_summary() {
  rubato_itm_statistics_t sums;
  rubato_itm_statistics(&sums, sizeof sums);
  if (sums.committed == 0 && sums.aborted == 0) return;
  std::uint64_t chosen = 0;
  for_each_thread([&chosen](const Thread& thread) {
    if (thread.profile != nullptr) chosen += thread.profile->chosen();
  });
  const double percent = sums.committed != 0 ? 100.0 / static_cast<double>(sums.committed) : 0;
  char text[1024];
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::size_t length = static_cast<std::size_t>(
      std::snprintf(text, sizeof text,
                    "%14s %22s %22s %22s %14s %14s\n%14llu %13llu (%5.1f%%) %13llu (%5.1f%%) %13llu "
                    "(%5.1f%%) %14llu %14llu\n",
                    "transactions", "in-flight switch", "start serial", "abort serial", "chosen serial",
                    "aborts", number(sums.committed), number(sums.in_flight_switch),
                    static_cast<double>(sums.in_flight_switch) * percent, number(sums.start_serial),
                    static_cast<double>(sums.start_serial) * percent, number(sums.abort_serial),
                    static_cast<double>(sums.abort_serial) * percent, number(chosen), number(sums.aborted)));
  length += describe_choices(text + length, sizeof text - length);
  length += describe_hardware(text + length, sizeof text - length);
  const char* const value = std::getenv("RUBATO_ITM_STATS");
  int file = STDERR_FILENO;
  if (std::strcmp(value, "1") != 0) file = ::open(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || ::write(file, text, length) != static_cast<ssize_t>(length))
    warn("the statistics cannot be written to %s (%s)", value, std::strerror(errno));
  if (file > STDERR_FILENO) ::close(file);
}

[[gnu::destructor]] void end_profile() {
  if (!profile::is_open()) return;
  profile::note_time();
  if (is_summary_wanted()) print_summary();
}

}  // namespace

bool is_summary_wanted() {
  const char* const value = std::getenv("RUBATO_ITM_STATS");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

}  // namespace rubato::tm

RUBATO_TM_EXPORT int rubato_itm_statistics(rubato_itm_statistics_t* out, std::size_t bytes) {
  using namespace rubato::tm;
  if (bytes < sizeof *out) return EINVAL;
  *out = {};
  for_each_thread([out](const Thread& thread) {
    out->committed += thread.committed.load(std::memory_order_relaxed);
    out->aborted += thread.aborted.load(std::memory_order_relaxed);
    out->start_serial += serialized(thread, Serialization::start);
    out->in_flight_switch += serialized(thread, Serialization::in_flight);
    out->abort_serial += serialized(thread, Serialization::aborts);
    out->memory_serial += serialized(thread, Serialization::memory);
  });
  return 0;
}
