// rubato-cached: a cache server that takes the place of memcached. Exit codes as memcached's: 0; 64 wrong
// option; 71 no memory, no port (T71, T82).
// SPDX-License-Identifier: MIT
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "cached/net/server.hpp"

namespace {

using rubato::Error;
using rubato::ExitCode;
using rubato::cached::Settings;

constexpr int kUsage = 64, kOsError = 71;

void set_limits(const Settings& settings) {
  if (settings.core_dumps) {
    const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
    rlimit now{};
    getrlimit(RLIMIT_CORE, &now);
    now.rlim_cur = now.rlim_max;
    if (setrlimit(RLIMIT_CORE, &unlimited)) setrlimit(RLIMIT_CORE, &now);
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const auto wanted = static_cast<rlim_t>(settings.max_connections) + 64;
  if (files.rlim_cur < wanted) {
    files.rlim_cur = wanted;
    if (files.rlim_max < wanted) files.rlim_max = wanted;
    if (setrlimit(RLIMIT_NOFILE, &files))
      throw Error(ExitCode{kOsError},
                  fmt::format("-c {} needs more open files than are allowed; raise the limit (ulimit -n {})",
                              settings.max_connections, wanted));
  }
}

void become_user(const Settings& settings) {
  if (geteuid() != 0) return;
  if (settings.user.empty())
    throw Error(ExitCode{kUsage}, "root must name the user to become: -u memcache, or -u root");
  const passwd* user = getpwnam(settings.user.c_str());
  if (!user) throw Error(ExitCode{kUsage}, fmt::format("-u: there is no user '{}'", settings.user));
  if (setgroups(0, nullptr) || setgid(user->pw_gid) || setuid(user->pw_uid))
    throw Error(ExitCode{kOsError}, fmt::format("-u: cannot become '{}'", settings.user));
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  switch (rubato::cached::read_options(argc, argv, settings)) {
    case rubato::cached::Start::done:
      return 0;
    case rubato::cached::Start::refused:
      return kUsage;
    case rubato::cached::Start::serve:
      break;
  }
  try {
    set_limits(settings);
    if (geteuid() == 0 && settings.user.empty()) become_user(settings);
    // The process that goes to the background is the one that has threads.
    rubato::cached::Server server(settings);
    server.bind();
    become_user(settings);
    server.open_memory_file();
    if (settings.daemon && daemon(1, settings.verbosity > 0))
      throw Error(ExitCode{kOsError}, "-d: cannot go to the background");
    if (settings.lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE))
      std::fprintf(stderr, "rubato-cached: -k: memory cannot be locked; raise the limit (ulimit -l)\n");
    server.open();
    if (!settings.pid_file.empty()) {
      std::FILE* file = std::fopen(settings.pid_file.c_str(), "w");
      if (!file) throw Error(ExitCode{kOsError}, fmt::format("-P: cannot write '{}'", settings.pid_file));
      std::fprintf(file, "%d\n", getpid());
      std::fclose(file);
    }
    const int code = server.run();
    if (!settings.pid_file.empty()) unlink(settings.pid_file.c_str());
    return code;
  } catch (const rubato::UsageError& error) {
    std::fprintf(stderr, "rubato-cached: %s\n", error.what());
    return kUsage;
  } catch (const Error& error) {
    std::fprintf(stderr, "rubato-cached: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "rubato-cached: there is not enough memory for these options\n");
    return kOsError;
  }
}
