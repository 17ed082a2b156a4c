// The System V start of a process, as Linux lays it out on riscv64.
// SPDX-License-Identifier: MIT
#include "chip/os/initial_stack.hpp"

#include <elf.h>

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "chip/os/open_file.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t hwcap_letters(std::string_view letters) {
  std::uint64_t bits = 0;
  for (char letter : letters) bits |= std::uint64_t{1} << (letter - 'A');
  return bits;
}

}  // namespace

Addr build_initial_stack(const ProcessOptions& options, const LoadedProgram& program, AddressSpace& memory,
                         Addr low, Addr high, Rng& rng) {
  std::uint64_t needed = options.name().size() * 2 + options.executed_path.size() + 4096;
  for (const auto& text : options.arguments) needed += text.size() + 16;
  for (const auto& text : options.environment) needed += text.size() + 16;
  if (needed > (high - low) / 4)
    throw UsageError("arguments and environment need {} bytes, more than a quarter of the stack of {} bytes",
                     needed, high - low);

  Addr top = high - 16;
  const auto push_bytes = [&](const void* from, std::uint64_t bytes) {
    top -= bytes;
    std::memcpy(memory.host(top), from, bytes);
    return top;
  };
  const auto push_string = [&](const std::string& text) { return push_bytes(text.c_str(), text.size() + 1); };

  const std::string& name = options.name();
  const Addr file_name = push_string(options.executed_path.empty() ? name : options.executed_path);
  std::vector<Addr> arguments{push_string(name)}, environment;
  for (const auto& text : options.arguments) arguments.push_back(push_string(text));
  for (const auto& text : options.environment) environment.push_back(push_string(text));
  std::array<std::byte, 16> random;
  fill_random(rng, random);
  top &= ~Addr{15};
  const Addr random_bytes = push_bytes(random.data(), random.size());

  std::vector<std::uint64_t> words{arguments.size()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.push_back(0);
  words.insert(words.end(), environment.begin(), environment.end());
  words.push_back(0);
  const auto auxiliary = [&](std::uint64_t type, std::uint64_t value) {
    words.push_back(type);
    words.push_back(value);
  };
  auxiliary(AT_PHDR, program.program_headers);
  auxiliary(AT_PHENT, sizeof(Elf64_Phdr));
  auxiliary(AT_PHNUM, program.program_header_count);
  auxiliary(AT_PAGESZ, AddressSpace::kPageBytes);
  auxiliary(AT_BASE, program.interpreter_base);
  auxiliary(AT_FLAGS, 0);
  auxiliary(AT_ENTRY, program.entry);
  auxiliary(AT_UID, kGuestUser);
  auxiliary(AT_EUID, kGuestUser);
  auxiliary(AT_GID, kGuestUser);
  auxiliary(AT_EGID, kGuestUser);
  auxiliary(AT_HWCAP, hwcap_letters("IMAFDC"));
  auxiliary(AT_CLKTCK, 100);
  auxiliary(AT_SECURE, 0);
  auxiliary(AT_RANDOM, random_bytes);
  auxiliary(AT_EXECFN, file_name);
  auxiliary(AT_NULL, 0);

  top = (top - words.size() * 8) & ~Addr{15};
  std::memcpy(memory.host(top), words.data(), words.size() * 8);
  return top;
}

}  // namespace rubato::chip
