// SPDX-License-Identifier: MIT
// savina: options, iterations, result. `savina --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage,
// 3 a task broke a rule.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "apps/common/options.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina {
namespace {

struct Options {
  std::string benchmark = "pingpong";
  std::vector<std::string> sizes;
  std::uint64_t iterations = 1;
  std::uint64_t seed = 0;
  bool is_small = false, is_list = false, verify = false, is_json = false;
};

void declare(CommandLine& line, Options& o) {
  line.add_option("--benchmark", o.benchmark, "Which of --list (default pingpong)").type_name("NAME");
  line.add_flag("--list", o.is_list, "Print the benchmarks with their parameters and defaults, and end");
  line.add_flag("--small", o.is_small, "Sizes for a moment on one worker, instead of the suite's");
  line.add_option("--set", o.sizes, "Another size, as n=100; again for another parameter")
      .type_name("NAME=VALUE");
  add_number(line, "--iterations", o.iterations, 1, 1'000'000, "Run it this often (default 1)");
  line.add_option("--seed", o.seed, "Added to the suite's seeds (default 0: as published)")
      .check(whole_number)
      .type_name("N");
  line.add_flag("--verify", o.verify, "Check what each iteration came to; exit 1 if one is wrong");
  line.add_flag("--json", o.is_json, "Print the result as one JSON object");
  line.footer(
      "Examples:\n"
      "  savina --list\n"
      "  savina --benchmark fib --verify\n"
      "  savina --benchmark big --set n=1000 --set w=16 --iterations 10\n"
      "An iteration lasts from before the first actor is made until no message is left.");
}

void list() {
  for (const Benchmark* const b : benchmarks()) {
    std::printf("%-12s %-12s %s\n", b->name, b->group, b->summary);
    for (const Parameter& p : b->parameters)
      std::printf("%-25s %s=%" PRIu64 " (small: %" PRIu64 ")\n", "", p.name, p.value, p.small);
  }
}

const Benchmark& chosen(const Options& o) {
  const Benchmark* const found = find_benchmark(o.benchmark);
  if (found == nullptr)
    throw InputError("--benchmark " + o.benchmark + ": there is none of that name; --list names all");
  return *found;
}

/// Sets a parameter by the text of a --set. @throws InputError if the text is wrong.
void set(const Benchmark& benchmark, const std::string& text, std::vector<std::uint64_t>& values) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  for (std::size_t i = 0; i < benchmark.parameters.size(); ++i) {
    const Parameter& p = benchmark.parameters[i];
    if (p.name != name) continue;
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const char* const begin = equals == std::string::npos ? end : text.data() + equals + 1;
    const auto [stopped, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || stopped != end || value < p.least || value > p.most) {
      throw InputError("--set " + text + ": " + name + " is a whole number from " + std::to_string(p.least) +
                       " to " + std::to_string(p.most));
    }
    values[i] = value;
    return;
  }
  std::string known;
  for (const Parameter& p : benchmark.parameters) known += std::string(known.empty() ? "" : ", ") + p.name;
  throw InputError("--set " + text + ": " + benchmark.name + " has the parameters " + known);
}

std::vector<std::uint64_t> sizes_of(const Benchmark& benchmark, const Options& o) {
  std::vector<std::uint64_t> values;
  for (const Parameter& p : benchmark.parameters) values.push_back(o.is_small ? p.small : p.value);
  for (const std::string& text : o.sizes) set(benchmark, text, values);
  return values;
}

struct Usage {
  double cpu_seconds;
  double peak_mb;
};
/// Peak memory of this program alone: getrusage() includes the process that started it.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    double kilobytes = 0;
    status >> kilobytes;
    return kilobytes / 1024;
  }
  return 0;
}
Usage usage_now() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(used.ru_utime) + seconds(used.ru_stime), peak_mb()};
}

struct Result {
  std::vector<double> seconds;
  std::uint64_t messages = 0, actors = 0;  // of the last iteration
  std::vector<std::string> wrong;
  Usage usage{};
};

Result iterate(const Benchmark& benchmark, const std::vector<std::uint64_t>& values, const Options& o) {
  Result result;
  for (std::uint64_t i = 0; i < o.iterations && result.wrong.empty(); ++i) {
    Iteration iteration(benchmark, values, o.seed, o.verify);
    benchmark.iterate(iteration);
    iteration.verify([&] { iteration.expect_end(); });
    result.seconds.push_back(iteration.seconds());
    result.messages = iteration.messages();
    result.actors = iteration.actors();
    result.wrong = iteration.wrong();
  }
  result.usage = usage_now();
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void print_json(const Benchmark& benchmark, const std::vector<std::uint64_t>& values, const Options& o,
                const Result& result) {
  std::printf("{\"benchmark\": \"%s\", \"parameters\": {", benchmark.name);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf("%s\"%s\": %" PRIu64, i == 0 ? "" : ", ", benchmark.parameters[i].name, values[i]);
  std::printf("}, \"iterations\": [");
  for (std::size_t i = 0; i < result.seconds.size(); ++i)
    std::printf("%s%.9f", i == 0 ? "" : ", ", result.seconds[i]);
  std::printf("], \"messages\": %" PRIu64 ", \"actors\": %" PRIu64 ", \"check\": %s, \"cpu_seconds\": %.3f, ",
              result.messages, result.actors,
              !o.verify              ? "null"
              : result.wrong.empty() ? "\"passed\""
                                     : "\"failed\"",
              result.usage.cpu_seconds);
  std::printf("\"peak_mb\": %.1f}\n", result.usage.peak_mb);
}

int run_savina(const Options& o) {
  if (o.is_list) {
    list();
    return 0;
  }
  const Benchmark& benchmark = chosen(o);
  const std::vector<std::uint64_t> values = sizes_of(benchmark, o);
  const Result result = iterate(benchmark, values, o);
  for (const std::string& wrong : result.wrong)
    std::fprintf(stderr, "savina: %s: %s\n", benchmark.name, wrong.c_str());
  if (o.is_json) {
    print_json(benchmark, values, o, result);
    return result.wrong.empty() ? 0 : 1;
  }
  std::printf("benchmark: %s, %s\n", benchmark.name, benchmark.summary);
  std::printf("sizes:");
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf(" %s=%" PRIu64, benchmark.parameters[i].name, values[i]);
  const double seconds = median(result.seconds);
  std::printf("\ntime: %.6f s, %" PRIu64 " actors, %" PRIu64 " messages, %.1f ns each\n", seconds,
              result.actors, result.messages,
              1e9 * seconds / static_cast<double>(std::max<std::uint64_t>(1, result.messages)));
  return o.verify ? report_check(result.wrong.empty()) : 0;
}

constexpr Application<Options> kApplication{
    .name = "savina",
    .description = "The Savina suite: thirty benchmarks of actors (Imam and Sarkar, AGERE! 2014).",
    .declare = declare,
    .run = run_savina};

}  // namespace
}  // namespace rubato::apps::savina

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::savina::kApplication, argc, argv);
}
