// SPDX-License-Identifier: MIT
#include "chip/session/progress_reporter.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace rubato::chip {
namespace {

constexpr std::chrono::milliseconds kPeriod{500};

std::string with_prefix(double v) {
  if (v >= 1e9) return fmt::format("{:.2f} G", v / 1e9);
  if (v >= 1e6) return fmt::format("{:.2f} M", v / 1e6);
  if (v >= 1e3) return fmt::format("{:.1f} k", v / 1e3);
  return fmt::format("{:.0f} ", v);
}

double mips(const Progress& progress, double seconds) {
  return seconds > 0 ? static_cast<double>(progress.instructions) / seconds / 1e6 : 0;
}

}  // namespace

ProgressReporter::ProgressReporter(const Options& options)
    : options_(options), start_(Clock::now()), next_(start_ + kPeriod) {}

double ProgressReporter::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void ProgressReporter::report(const Progress& progress) {
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kPeriod;
  write(progress, seconds());
}

void ProgressReporter::finish(const Progress& progress) {
  const double now = seconds();
  if (options_.directory != nullptr) options_.directory->write("progress.json", progress_json(progress, now));
  if (options_.live_line) std::fputs("\r\033[K", stderr);
}

void ProgressReporter::write(const Progress& progress, double seconds) {
  if (options_.directory != nullptr) {
    options_.directory->write("progress.json", progress_json(progress, seconds));
  }
  if (options_.live_line) {
    std::fputs(fmt::format("\r{}\033[K", progress_line(progress, seconds)).c_str(), stderr);
    std::fflush(stderr);
  }
}

std::string progress_json(const Progress& progress, double seconds) {
  const nlohmann::ordered_json out = {
      {"cycles", progress.cycle.value},        {"committed", progress.committed},
      {"instructions", progress.instructions}, {"gvt", progress.gvt},
      {"mips", mips(progress, seconds)},       {"host_seconds", seconds},
      {"fast_forward", progress.fast_forward}};
  return out.dump() + "\n";
}

std::string progress_line(const Progress& progress, double seconds) {
  if (progress.fast_forward) {
    return fmt::format("fast-forward: {}instructions, {:.1f} M instructions/s",
                       with_prefix(static_cast<double>(progress.instructions)), mips(progress, seconds));
  }
  return fmt::format("{}cycles, {}tasks committed, {:.1f} M instructions/s, GVT {}",
                     with_prefix(static_cast<double>(progress.cycle.value)),
                     with_prefix(static_cast<double>(progress.committed)), mips(progress, seconds),
                     progress.gvt);
}

}  // namespace rubato::chip
