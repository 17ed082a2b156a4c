// random_tasks SEED TASKS (unique|dense) LINES LOCALES FEATURES: runs one random program and prints the
// digest of its memory. FEATURES: any of the letters s (system calls), d (disasters),
// l (SPEC tasks touch what their locale owns, as others do), h (tasks allocate and free), w (tasks wait),
// c (tasks call capsules), p (capsules wait), or -.
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rubato/rubato.hpp"
#include "tests/random_programs/program.hpp"

/// Check of capalloc's heap; null unless the program is linked with capalloc.
[[gnu::weak]] const char* capalloc_check() __asm__("capalloc_check");

namespace random_tasks {

Options options;

namespace {

std::uint64_t digest() {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto* const at = reinterpret_cast<const unsigned char*>(&memory);
  for (std::size_t i = 0; i < offsetof(Memory, blocks); ++i) hash = (hash ^ at[i]) * 0x100000001b3;
  for (Block* block : memory.blocks)
    for (std::uint64_t i = 0; block != nullptr && i < block->words; ++i) hash = mix(hash ^ block->word(i));
  return hash;
}

std::uint64_t number(const char* text, std::uint64_t low, std::uint64_t high) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*text != '\0' && *end == '\0' && value >= low && value <= high) return value;
  std::fprintf(stderr, "random_tasks: '%s' is no number from %llu to %llu\n", text,
               static_cast<unsigned long long>(low), static_cast<unsigned long long>(high));
  std::exit(2);
}

}  // namespace
}  // namespace random_tasks

int main(int argc, char** argv) {
  using namespace random_tasks;
  if (argc != 7) {
    std::fprintf(stderr, "usage: random_tasks SEED TASKS unique|dense LINES LOCALES FEATURES\n");
    return 2;
  }
  options.seed = number(argv[1], 0, ~std::uint64_t{0} - 1);
  options.tasks = number(argv[2], 1, 1 << 18);
  options.unique = std::string_view(argv[3]) == "unique";
  options.lines = number(argv[4], 1, kMaxLines);
  options.locales = number(argv[5], 1, kMaxLocales);
  options.system_calls = std::string_view(argv[6]).find('s') != std::string_view::npos;
  options.shared_locales = std::string_view(argv[6]).find('l') != std::string_view::npos;
  options.heap = std::string_view(argv[6]).find('h') != std::string_view::npos;
  options.waits = std::string_view(argv[6]).find('w') != std::string_view::npos;
  options.capsules = std::string_view(argv[6]).find('c') != std::string_view::npos;
  options.pauses = std::string_view(argv[6]).find('p') != std::string_view::npos;
  options.disasters = std::string_view(argv[6]).find('d') != std::string_view::npos;

  open_files();
  const std::uint64_t regions = 1 + mix(options.seed) % 2;
  for (std::uint64_t region = 0; region < regions; ++region) {
    create_roots();
    rubato::run();
    options.seed = mix(options.seed);
  }
  if (!is_ledger_right()) return 1;
  if (capalloc_check != nullptr) {
    if (const char* const wrong = capalloc_check(); wrong != nullptr) {
      std::printf("capalloc: %s\n", wrong);
      return 1;
    }
  }
  if (options.unique) std::printf("digest: %016llx\n", static_cast<unsigned long long>(digest()));
}
