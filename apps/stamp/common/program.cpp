// Command line, threads and time of the suite's programs.
// SPDX-License-Identifier: MIT
#include "apps/stamp/common/program.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>
#include <thread>

#include "apps/common/input_error.hpp"
#include "base/check.hpp"
#include "base/command_line.hpp"

// Version of the library that runs the transactions.
extern "C" const char* _ITM_libraryVersion();

namespace rubato::apps::stamp {
namespace {

constexpr std::uint64_t kMostThreads = 1024;

struct Options {
  std::string threads = "1", seed = "1", size = "normal", contention = "low";
  std::vector<std::string> changes;
  bool is_json = false;
};

/// @throws InputError unless `text` is a whole number from `least` to `most`.
std::uint64_t number(const std::string& what, const std::string& text, std::uint64_t least,
                     std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stopped == end && value >= least && value <= most) return value;
  throw InputError(what + " is a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
                   ", not '" + text + "'");
}

bool has_contention(const Description& description) {
  return std::any_of(description.parameters.begin(), description.parameters.end(),
                     [](const Parameter& p) { return p.high != 0; });
}

void change(const Description& description, const std::string& text, Settings& settings) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  std::string known;
  for (const Parameter& p : description.parameters) {
    known += std::string(known.empty() ? "" : ", ") + p.name;
    if (p.name != name) continue;
    const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
    settings.set(name, number("--set " + name, value, p.least, p.most));
    return;
  }
  throw InputError("--set " + text + ": " + description.name + " has the parameters " + known);
}

Settings settings_of(const Description& description, const Options& o) {
  Settings settings;
  settings.threads = static_cast<unsigned>(number("--threads", o.threads, 1, kMostThreads));
  settings.seed = number("--seed", o.seed, 0, ~std::uint64_t{0});
  if (o.size != "normal" && o.size != "small")
    throw InputError("--size is normal or small, not '" + o.size + "'");
  if (o.contention != "low" && o.contention != "high")
    throw InputError("--contention is low or high, not '" + o.contention + "'");
  for (const Parameter& p : description.parameters) {
    settings.set(p.name, o.contention == "high" && p.high != 0 ? p.high
                         : o.size == "small"                   ? p.small
                                                               : p.normal);
  }
  for (const std::string& text : o.changes) change(description, text, settings);
  return settings;
}

void declare(CommandLine& line, Options& o, const Description& description) {
  line.add_option("--threads", o.threads, "Threads that run transactions (default 1)").type_name("N");
  line.add_option("--size", o.size, "normal: 1 to 3 s on one thread (default); small: for tests")
      .type_name("normal|small");
  if (has_contention(description)) {
    line.add_option("--contention", o.contention, "How often transactions meet (default low)")
        .type_name("low|high");
  }
  line.add_option("--set", o.changes, "Another parameter; again for another one").type_name("NAME=VALUE");
  line.add_option("--seed", o.seed, "Seed of the input (default 1)").type_name("N");
  line.add_flag("--json", o.is_json, "Print the result as one JSON object");
  std::string parameters = "Parameters, with their values for normal and small size:\n";
  for (const Parameter& p : description.parameters) {
    parameters +=
        "  " + std::string(p.name) + "=" + std::to_string(p.normal) + " (" + std::to_string(p.small) +
        (p.high == 0 ? "" : "; with --contention high: " + std::to_string(p.high)) + ")  " + p.summary + "\n";
  }
  line.footer(parameters);
}

/// Runs the measured part. @returns its seconds: from the moment when all threads are there until the last
/// has ended. Each thread takes its own time: with few cores, an observer might not run meanwhile.
double measure(Program& program, unsigned threads) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point began;
  std::barrier start(static_cast<std::ptrdiff_t>(threads), [&began]() noexcept { began = Clock::now(); });
  std::barrier<> all(static_cast<std::ptrdiff_t>(threads));
  std::vector<Clock::time_point> ends(threads);
  std::vector<std::jthread> members;
  try {
    for (unsigned i = 0; i < threads; ++i) {
      members.emplace_back([&, i] {
        Worker worker(i, threads, all);
        start.arrive_and_wait();
        program.work(worker);
        ends[i] = Clock::now();
      });
    }
  } catch (const std::system_error& e) {  // those that have started wait for the others
    std::fprintf(stderr, "cannot start %u threads: %s\n", threads, e.what());
    std::_Exit(2);
  }
  for (std::jthread& member : members) member.join();
  return std::chrono::duration<double>(*std::max_element(ends.begin(), ends.end()) - began).count();
}

int measure_and_check(const Description& description, const Options& o) {
  const Settings settings = settings_of(description, o);
  const std::unique_ptr<Program> program = description.make(settings);
  const double seconds = measure(*program, settings.threads);
  const std::string wrong = program->check();
  if (!wrong.empty()) std::fprintf(stderr, "%s: %s\n", description.name, wrong.c_str());
  const char* const check = wrong.empty() ? "passed" : "failed";
  if (o.is_json) {
    std::printf(
        "{\"program\": \"%s\", \"size\": \"%s\", \"contention\": \"%s\", \"threads\": %u, \"library\": "
        "\"%s\", ",
        description.name, o.size.c_str(), o.contention.c_str(), settings.threads, _ITM_libraryVersion());
    std::printf("\"seconds\": %.9f, \"digest\": \"%016" PRIx64 "\", \"check\": \"%s\"}\n", seconds,
                program->digest(), check);
  } else {
    std::printf("%s on %s\n", description.name, _ITM_libraryVersion());
    std::printf("time: %.6f s on %u thread%s\ncheck: %s\n", seconds, settings.threads,
                settings.threads == 1 ? "" : "s", check);
  }
  return wrong.empty() ? 0 : 1;
}

}  // namespace

std::uint64_t Settings::operator[](std::string_view name) const {
  const auto found =
      std::find_if(values_.rbegin(), values_.rend(), [&](const auto& value) { return value.first == name; });
  RUBATO_CHECK(found != values_.rend(), "the program has no such parameter");
  return found->second;
}

int run(const Description& description, int argc, char** argv) {
  CommandLine line(description.name, description.summary);
  Options options;
  declare(line, options, description);
  try {
    return line.parse(argc, argv) ? measure_and_check(description, options) : 0;
  } catch (const CommandLineError& e) {
    std::fprintf(stderr, "%s: %s\n", description.name, e.what());
  } catch (const InputError& e) {
    std::fprintf(stderr, "%s: %s\n", description.name, e.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: not enough memory for this input\n", description.name);
  }
  return 2;
}

}  // namespace rubato::apps::stamp
