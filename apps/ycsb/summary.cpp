// SPDX-License-Identifier: MIT
#include "apps/ycsb/summary.hpp"

#include <cinttypes>
#include <cstdio>

#include "apps/common/check_json.hpp"

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
    case VariantName::olc:
      return "olc";
    case VariantName::masstree:
      return "masstree";
    case VariantName::bwtree:
      return "bwtree";
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

std::string name_of_workload(char workload) {
  return workload == kChurn ? "churn" : std::string(1, workload);
}

void print_json(const Summary& s) {
  std::printf("{\"workload\": \"%s\", \"distribution\": \"%s\", \"records\": %" PRIu64
              ", \"operations\": %" PRIu64 ", \"seed\": %" PRIu64
              ", \"variant\": \"%s\", \"sync\": \"%s\", \"workers\": %u, \"inflight\": %u, "
              "\"load_began\": %.6f, \"load_seconds\": %.6f, \"began\": %.6f, \"seconds\": %.6f, "
              "\"million_requests_a_second\": %.4f, \"million_loaded_a_second\": %.4f, "
              "\"latency_p50_us\": %.3f, \"latency_p99_us\": %.3f",
              name_of_workload(s.workload.name).c_str(), name_of(s.workload.distribution).c_str(),
              s.workload.records, s.workload.operations, s.workload.seed, name_of(s.variant).c_str(),
              name_of(s.sync).c_str(), s.workers, s.inflight, s.load_began, s.load_seconds, s.began,
              s.seconds, s.million_requests_a_second(), s.million_loaded_a_second(), s.latency(0.5),
              s.latency(0.99));
  if (s.memory) {
    std::printf(", \"peak_nodes\": %" PRIu64 ", \"peak_unreclaimed_bytes\": %" PRIu64, s.memory->nodes,
                s.memory->unreclaimed_bytes);
  }
  if (!s.numa_bytes.empty()) {
    std::printf(", \"numa_bytes\": {");
    for (const auto& [node, bytes] : s.numa_bytes)
      std::printf("%s\"%u\": %" PRIu64, node == s.numa_bytes.front().first ? "" : ", ", node, bytes);
    std::printf("}, \"numa_visits\": {\"near\": %" PRIu64 ", \"all\": %" PRIu64 "}", s.numa_visits.near,
                s.numa_visits.all);
  }
  print_check_json(s.wrong);
  std::printf("}\n");
}

void print_lines(const Summary& s) {
  std::printf("workload %s: %" PRIu64 " requests (%s) on %" PRIu64 " records, %s on %u worker%s, %s\n",
              name_of_workload(s.workload.name).c_str(), s.workload.operations,
              name_of(s.workload.distribution).c_str(), s.workload.records, name_of(s.variant).c_str(),
              s.workers, s.workers == 1 ? "" : "s", name_of(s.sync).c_str());
  std::printf("load: %.3f s\nrun: %.3f s\nmillion requests a second: %.3f\n", s.load_seconds, s.seconds,
              s.million_requests_a_second());
  std::printf("latency with %u in flight: p50 %.2f us, p99 %.2f us\n", s.inflight, s.latency(0.5),
              s.latency(0.99));
  if (s.memory) {
    std::printf("nodes at most: %" PRIu64 ", removed and not yet freed at most: %" PRIu64 " bytes\n",
                s.memory->nodes, s.memory->unreclaimed_bytes);
  }
  for (const auto& [node, bytes] : s.numa_bytes)
    std::printf("bytes of the tree on NUMA node %u: %" PRIu64 "\n", node, bytes);
  if (!s.numa_bytes.empty())
    std::printf("visits below the root: %" PRIu64 ", by workers of their NUMA node: %" PRIu64 "\n",
                s.numa_visits.all, s.numa_visits.near);
}

}  // namespace rubato::apps::ycsb
