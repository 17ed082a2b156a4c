// web_events: a web server of event loops, one a core, in place of Zeus (FLASK, Sec. V-B; K83).
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <memory>
#include <vector>

#include "workloads/common/workload.hpp"
#include "workloads/web_events/server.hpp"

int main(int argc, char** argv) {
  using namespace rubato::workloads;  // NOLINT
  WorkloadOptions o{.threads = 16, .warm = 400, .work = 460, .seed = 1, .verify = false};
  web::Clients clients;
  unsigned directories = 13, cache = 48, connections = 12;
  rubato::CommandLine line("web_events", "A web server of event loops: files, and pages that are built.");
  add_workload_options(line, o, "requests of each loop");
  line.add_option("--directories", directories, "Directories of the site, of 5 MB each (default 13: 64 MB)")
      .range(1U, 1000U);
  line.add_option("--cache", cache, "Files are cached in so many MiB (default 48)").range(1U, 4096U);
  line.add_option("--connections", connections, "Connections of each loop (default 12)").range(1U, 10'000U);
  line.add_option("--built", clients.built, "Percent of requests for pages that are built (default 30)")
      .range(0U, 100U);
  line.add_option("--users", clients.users, "Users with a record (default 4096)").range(1U, 1'000'000U);
  return workload_main(
      "web_events", line,
      [&] {
        web::Shared shared(clients, directories, std::uint64_t{cache} << 20, o.seed);
        std::vector<std::unique_ptr<web::EventLoop>> loops(o.threads);
        run_in_region(o, [&](unsigned thread, std::uint64_t requests, bool is_warm) {
          if (is_warm)
            loops[thread] = std::make_unique<web::EventLoop>(shared, connections, o.seed + 100 + thread);
          loops[thread]->run(requests);
        });
        std::uint64_t requests = 0, words = 0;
        for (const auto& loop : loops) {
          loop->finish();
          requests += loop->served().requests;
          for (const std::uint64_t of_kind : loop->served().words) words += of_kind;
        }
        std::printf("%llu requests answered, %llu bytes\n", static_cast<unsigned long long>(requests),
                    static_cast<unsigned long long>(8 * words));
        if (!o.verify) return;
        verify(shared, loops);
        std::puts("verified");
      },
      argc, argv);
}
