// web_threads: a web server of threads with an accept lock, in place of Apache (FLASK, Sec. V-B; K83).
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "workloads/common/workload.hpp"
#include "workloads/web_threads/server.hpp"

int main(int argc, char** argv) {
  using namespace rubato::workloads;  // NOLINT
  WorkloadOptions o{.threads = 16, .warm = 300, .work = 360, .seed = 1, .verify = false};
  web::Clients clients;
  unsigned directories = 13, cache = 48;
  rubato::CommandLine line("web_threads", "A web server of threads: files, and pages that are built.");
  add_workload_options(line, o, "requests of each thread");
  line.add_option("--directories", directories, "Directories of the site, of 5 MB each (default 13: 64 MB)")
      .range(1U, 1000U);
  line.add_option("--cache", cache, "Files are cached in so many MiB (default 48)").range(1U, 4096U);
  line.add_option("--built", clients.built, "Percent of requests for pages that are built (default 30)")
      .range(0U, 100U);
  line.add_option("--users", clients.users, "Users with a record (default 4096)").range(1U, 1'000'000U);
  return workload_main(
      "web_threads", line,
      [&] {
        web::Server server(clients, directories, std::uint64_t{cache} << 20, o.threads, o.seed);
        run_in_region(o,
                      [&](unsigned thread, std::uint64_t requests, bool) { server.serve(thread, requests); });
        const web::Served total = server.total();
        std::printf("%llu requests answered, %llu pages built, %llu connections, %llu bytes\n",
                    static_cast<unsigned long long>(total.requests),
                    static_cast<unsigned long long>(total.built),
                    static_cast<unsigned long long>(total.connections),
                    static_cast<unsigned long long>(8 * total.words));
        if (!o.verify) return;
        server.verify();
        std::puts("verified");
      },
      argc, argv);
}
