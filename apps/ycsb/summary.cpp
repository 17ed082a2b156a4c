// SPDX-License-Identifier: MIT
#include "apps/ycsb/summary.hpp"

#include <cinttypes>
#include <cstdio>

namespace rubato::apps::ycsb {

double Summary::latency(double quantile) const {
  if (latencies.empty()) return 0;
  const auto index = static_cast<std::size_t>(quantile * static_cast<double>(latencies.size()));
  return static_cast<double>(latencies[index]) / 1e3;
}

std::string name_of(VariantName variant) {
  switch (variant) {
    case VariantName::tasks:
      return "tasks";
    case VariantName::threads:
      return "threads";
    case VariantName::interleaved:
      return "interleaved";
    case VariantName::tbb_step:
      return "tbb-step";
    case VariantName::tbb_lookup:
      return "tbb-lookup";
  }
  return "";
}

std::string name_of(Sync sync) {
  switch (sync) {
    case Sync::automatic:
      return "automatic";
    case Sync::spin:
      return "spin";
    case Sync::rw:
      return "rw";
    case Sync::optimistic:
      return "optimistic";
    case Sync::scheduled:
      return "scheduled";
    case Sync::speculative:
      return "speculative";
  }
  return "";
}

std::string name_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::zipfian:
      return "zipfian";
    case Distribution::latest:
      return "latest";
    case Distribution::uniform:
      return "uniform";
  }
  return "";
}

void print(const Summary& s, bool is_json) {
  const std::string distribution = name_of(s.workload.distribution), variant = name_of(s.variant),
                    sync = name_of(s.sync);
  if (is_json) {
    std::printf("{\"workload\": \"%c\", \"distribution\": \"%s\", \"records\": %" PRIu64
                ", \"operations\": %" PRIu64 ", \"seed\": %" PRIu64
                ", \"variant\": \"%s\", \"sync\": \"%s\", \"workers\": %u, \"inflight\": %u, "
                "\"load_seconds\": %.6f, \"seconds\": %.6f, \"million_requests_a_second\": %.4f, "
                "\"latency_p50_us\": %.3f, \"latency_p99_us\": %.3f}\n",
                s.workload.name, distribution.c_str(), s.workload.records, s.workload.operations,
                s.workload.seed, variant.c_str(), sync.c_str(), s.workers, s.inflight, s.load_seconds,
                s.seconds, s.million_requests_a_second(), s.latency(0.5), s.latency(0.99));
    return;
  }
  std::printf("workload %c: %" PRIu64 " requests (%s) on %" PRIu64 " records, %s on %u worker%s, %s\n",
              s.workload.name, s.workload.operations, distribution.c_str(), s.workload.records,
              variant.c_str(), s.workers, s.workers == 1 ? "" : "s", sync.c_str());
  std::printf("load: %.3f s\nrun: %.3f s\nmillion requests a second: %.3f\n", s.load_seconds, s.seconds,
              s.million_requests_a_second());
  std::printf("latency with %u in flight: p50 %.2f us, p99 %.2f us\n", s.inflight, s.latency(0.5),
              s.latency(0.99));
}

}  // namespace rubato::apps::ycsb
