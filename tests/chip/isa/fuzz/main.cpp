// Compares both interpreters, functional and timed, with qemu-riscv64 on random instruction sequences, byte
// by byte (C5).
//
//   fuzz_isa [--seed N] [--sequences N] [--first N]
//
// A difference is narrowed down to the first instruction that shows it and printed with seed and sequence;
// the run ends with 1. Without qemu-riscv64 it ends with 77 (skipped).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "chip/isa/decode.hpp"
#include "chip/isa/disassemble.hpp"
#include "tests/chip/isa/fuzz/engines.hpp"
#include "tests/chip/isa/fuzz/generator.hpp"
#include "tests/chip/isa/fuzz/image.hpp"

namespace rubato::chip::isa::test {
namespace {

constexpr std::uint64_t kBatch = 1000;

std::vector<std::string> differences(const Record& ours, const Record& theirs) {
  std::vector<std::string> lines;
  const auto compare = [&](const std::string& name, std::uint64_t a, std::uint64_t b) {
    if (a != b) lines.push_back(fmt::format("  {:<12} ours {:#018x}  qemu {:#018x}", name, a, b));
  };
  for (unsigned i = 0; i < 32; ++i) compare(std::string(register_name(i)), ours.x[i], theirs.x[i]);
  for (unsigned i = 0; i < 32; ++i) compare(std::string(register_name(i + 32)), ours.f[i], theirs.f[i]);
  compare("fcsr", ours.fcsr, theirs.fcsr);
  for (unsigned i = 0; i < Record::kScratchWords; ++i)
    compare(fmt::format("memory[{}]", 8 * i), ours.scratch[i], theirs.scratch[i]);
  return lines;
}

/// Our interpreter to run.
enum class Engine { functional, timed };
constexpr std::string_view kEngineNames[] = {"functional", "timed"};

std::vector<Record> run_ours(Engine engine, const Image& image, std::uint64_t seed) {
  return engine == Engine::functional ? run_functional(image) : run_timed(image, seed);
}

/// Finds the first item after which the sequence differs and prints everything about it.
void report(Engine engine, std::uint64_t seed, std::uint64_t index, const TemporaryFolder& folder) {
  const Sequence sequence = generate(seed, index);
  const std::span<const Sequence> alone(&sequence, 1);
  Record before = sequence.start;
  fmt::print(
      "fuzz_isa: the {} interpreter differs in sequence {} of seed {} (repeat: fuzz_isa --seed {} --first {} "
      "--sequences "
      "1)\n",
      kEngineNames[static_cast<int>(engine)], index, seed, seed, index);
  for (std::size_t items = 0; items <= sequence.items.size(); ++items) {
    const Image image = make_image(alone, items);
    const Record ours = run_ours(engine, image, seed)[0], theirs = run_qemu(image, folder)[0];
    const std::vector<std::uint8_t> code = sequence.code(items);
    if (ours == theirs) {
      before = theirs;
      continue;
    }
    fmt::print("instructions up to the first that differs:\n");
    for (std::size_t at = 0; at < code.size();) {
      std::uint32_t word = 0;
      std::memcpy(&word, code.data() + at, std::min<std::size_t>(4, code.size() - at));
      const Insn insn = decode(word);
      const Addr pc = image.sequence_at[0] + at;
      fmt::print("  {:#x}: {:<{}} {}\n", pc,
                 fmt::format("{:0{}x}", insn.length == 2 ? word & 0xffff : word, 2 * insn.length), 9,
                 disassemble(insn, pc));
      at += insn.length;
    }
    fmt::print("differences (fcsr before: {:#x}):\n", before.fcsr);
    for (const std::string& line : differences(ours, theirs)) fmt::print("{}\n", line);
    fmt::print("registers before (where not zero):\n");
    for (unsigned i = 0; i < 32; ++i)
      fmt::print("  {:<5}{:#018x}  {:<5}{:#018x}\n", register_name(i), before.x[i], register_name(i + 32),
                 before.f[i]);
    return;
  }
  fmt::print("the sequence alone does not differ: it depends on what ran before it in its batch (of {})\n",
             kBatch);
}

int fuzz(std::uint64_t seed, std::uint64_t first, std::uint64_t count) {
  const TemporaryFolder folder;
  std::vector<Sequence> batch;
  for (std::uint64_t done = 0; done < count; done += batch.size()) {
    batch.clear();
    for (std::uint64_t i = 0; i < std::min(kBatch, count - done); ++i)
      batch.push_back(generate(seed, first + done + i));
    const Image image = make_image(batch);
    const std::vector<Record> theirs = run_qemu(image, folder);
    for (const Engine engine : {Engine::functional, Engine::timed}) {
      const std::vector<Record> ours = run_ours(engine, image, seed + first + done);
      const auto differs = std::mismatch(ours.begin(), ours.end(), theirs.begin()).first - ours.begin();
      if (static_cast<std::size_t>(differs) == batch.size()) continue;
      report(engine, seed, first + done + static_cast<std::uint64_t>(differs), folder);
      return 1;
    }
  }
  fmt::print(
      "fuzz_isa: {} sequences of seed {} leave the same bytes in both interpreters as under qemu-riscv64\n",
      count, seed);
  return 0;
}

std::uint64_t number(std::string_view option, const char* text) {
  std::uint64_t value = 0;
  const char* end = text + std::strlen(text);
  if (const auto r = std::from_chars(text, end, value); r.ec != std::errc{} || r.ptr != end)
    throw UsageError("{} takes a number, not '{}'", option, text);
  return value;
}

int run(int argc, char** argv) {
  std::uint64_t seed = 1, first = 0, count = 5000;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    std::uint64_t* const value = option == "--seed"        ? &seed
                                 : option == "--first"     ? &first
                                 : option == "--sequences" ? &count
                                                           : nullptr;
    if (value == nullptr || i + 1 == argc)
      throw UsageError("usage: fuzz_isa [--seed N] [--sequences N] [--first N]");
    *value = number(option, argv[i + 1]);
  }
  if (!qemu_exists()) {
    fmt::print("fuzz_isa: skipped, qemu-riscv64 is not installed (Debian: qemu-user)\n");
    return 77;
  }
  return fuzz(seed, first, count);
}

}  // namespace
}  // namespace rubato::chip::isa::test

int main(int argc, char** argv) {
  try {
    return rubato::chip::isa::test::run(argc, argv);
  } catch (const rubato::Error& error) {
    fmt::print(stderr, "fuzz_isa: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {  // no folder, no memory
    fmt::print(stderr, "fuzz_isa: {}\n", error.what());
    return 2;
  }
}
