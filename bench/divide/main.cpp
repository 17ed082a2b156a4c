// Runs one program that divides its work, by one library: bench/native compares them.
//
//   bench_native_divide tree|wavefront|fib|forks|loops|queens|for|reduce|sort serial|rubato|onetbb|openmp
//   SIZE
//                       WORKERS
//
// prints the seconds of the second of two runs (the first warms up: threads, memory), the most memory that
// the process had, and a result that is the same for all libraries.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "bench/divide/programs.hpp"

namespace divide {

#if !defined(RUBATO_HAS_TBB)
std::unique_ptr<Programs> onetbb(unsigned) { return nullptr; }
#endif
#if !defined(RUBATO_HAS_OPENMP)
std::unique_ptr<Programs> openmp(unsigned) { return nullptr; }
#endif

namespace {

constexpr const char* kUsage =
    "usage: bench_native_divide tree|wavefront|fib|forks|loops|queens|for|reduce|sort "
    "serial|rubato|onetbb|openmp SIZE WORKERS";

struct Measured {
  double seconds = 0;
  std::uint64_t result = 0;
};
template <class F>
Measured measure(F function) {
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t result = function();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), result};
}

std::uint64_t checksum(const auto& numbers) {
  std::uint64_t sum = 0;
  for (const auto number : numbers) sum = mix(sum + number);
  return sum;
}

/// @returns whether there is such a program.
bool run_once(Programs& programs, std::string_view name, std::uint64_t size, Measured& measured) {
  const auto small = static_cast<unsigned>(size);
  if (name == "tree") {
    measured = measure([&] { return programs.tree(small); });
  } else if (name == "wavefront") {
    measured = measure([&] { return programs.wavefront(small); });
  } else if (name == "fib") {
    measured = measure([&] { return programs.fib(small); });
  } else if (name == "forks") {
    measured = measure([&] { return programs.forks(small); });
  } else if (name == "loops") {
    measured = measure([&] { return programs.loops(size); });
  } else if (name == "queens") {
    measured = measure([&] { return programs.queens(small); });
  } else if (name == "for") {
    static std::vector<std::uint8_t> bytes(size);
    measured = measure([&] {
      programs.for_each(bytes);
      return 0;
    });
    measured.result = checksum(bytes);
  } else if (name == "reduce") {
    measured = measure([&] { return programs.reduce(size); });
  } else if (name == "sort") {
    static std::vector<std::uint32_t> numbers(size);
    for (std::uint64_t i = 0; i < size; ++i) numbers[i] = static_cast<std::uint32_t>(mix(i));
    measured = measure([&] {
      programs.sort(numbers);
      return 0;
    });
    measured.result = checksum(numbers);
  } else {
    return false;
  }
  return true;
}

bool parse(const char* text, std::uint64_t& number) {
  const char* const end = text + std::strlen(text);
  return std::from_chars(text, end, number) == std::from_chars_result{end, {}} && number != 0;
}

/// Peak memory since the program began; getrusage() would include the time before exec().
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

int run(int argc, char** argv) {
  std::uint64_t size = 0, workers = 0;
  if (argc != 5 || !parse(argv[3], size) || !parse(argv[4], workers) || workers > 128) {
    std::fprintf(stderr, "%s\n", kUsage);
    return 2;
  }
  const std::string_view name = argv[1], library = argv[2];
  const auto count = static_cast<unsigned>(workers);
  const std::unique_ptr<Programs> programs = library == "serial"   ? serial()
                                             : library == "rubato" ? rubato_native(count)
                                             : library == "onetbb" ? onetbb(count)
                                             : library == "openmp" ? openmp(count)
                                                                   : nullptr;
  if (programs == nullptr) {
    std::fprintf(stderr, "bench_native_divide: there is no library %s here; %s\n", argv[2], kUsage);
    return 2;
  }
  Measured measured;
  for (int i = 0; i < 2; ++i) {
    if (!run_once(*programs, name, size, measured)) {
      std::fprintf(stderr, "%s\n", kUsage);
      return 2;
    }
  }
  std::printf("{\"seconds\": %.6f, \"peak_mb\": %.1f, \"result\": %llu}\n", measured.seconds,
              peak_megabytes(), static_cast<unsigned long long>(measured.result));
  return 0;
}

}  // namespace
}  // namespace divide

int main(int argc, char** argv) { return divide::run(argc, argv); }
