// Reads the symbol table of /proc/self/exe, so that functions of every linkage have names without -rdynamic.
// SPDX-License-Identifier: MIT
#include "base/function_names.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace rubato::inline v0::engine {
namespace {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : name;
}

/// "parallel_for(main::{lambda(int)#1})" of "rubato::...::task_names::parallel_for<main::{lambda(int)#1}>".
std::string without_template(std::string name) {
  constexpr std::string_view kNames = "::task_names::";
  const std::size_t place = name.find(kNames);
  if (!name.starts_with("rubato::") || place == std::string::npos || place > name.find('<') ||
      !name.ends_with('>'))
    return name;
  name.erase(0, place + kNames.size());
  name[name.find('<')] = '(';
  name.pop_back();
  if (name.ends_with(' ')) name.pop_back();
  return name + ')';
}

/// The address at which the program was loaded: 0 unless position independent. The first object listed is the
/// program itself.
std::uint64_t load_base() {
  std::uint64_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uint64_t*>(result) = info->dlpi_addr;
        return 1;
      },
      &base);
  return base;
}

/// The program's file, mapped and not read: with debug information it may be far larger than the part that is
/// looked at. Empty if it cannot be mapped.
std::span<const char> map_program() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  struct stat about {};
  void* const begin = fstat(file, &about) == 0 ? mmap(nullptr, static_cast<std::size_t>(about.st_size),
                                                      PROT_READ, MAP_PRIVATE, file, 0)
                                               : MAP_FAILED;
  close(file);
  if (begin == MAP_FAILED) return {};
  return {static_cast<const char*>(begin), static_cast<std::size_t>(about.st_size)};
}

template <class T>
T read_at(std::span<const char> file, std::uint64_t offset) {
  T value{};
  if (offset <= file.size() && file.size() - offset >= sizeof(T))
    std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

/// Name of the function that begins at `address` in the file; null if there is none.
const char* find_symbol(std::span<const char> file, std::uint64_t address) {
  const auto header = read_at<ElfW(Ehdr)>(file, 0);
  const auto section_at = [&](std::uint64_t index) {
    return read_at<ElfW(Shdr)>(file, header.e_shoff + index * sizeof(ElfW(Shdr)));
  };
  for (unsigned s = 0; s < header.e_shnum; ++s) {
    const auto table = section_at(s);
    if (table.sh_type != SHT_SYMTAB) continue;
    const auto strings = section_at(table.sh_link);
    for (std::uint64_t offset = 0; offset < table.sh_size; offset += sizeof(ElfW(Sym))) {
      const auto symbol = read_at<ElfW(Sym)>(file, table.sh_offset + offset);
      if ((symbol.st_info & 0xf) != STT_FUNC || symbol.st_value != address || address == 0) continue;
      const std::uint64_t text = strings.sh_offset + symbol.st_name;
      if (text < file.size() && std::memchr(file.data() + text, 0, file.size() - text) != nullptr)
        return file.data() + text;
    }
  }
  return nullptr;
}

}  // namespace

std::string function_name(const void* address, const std::type_info& type) {
  if (address == nullptr) return without_template(demangled(type.name()));
  // Never unmapped: functions that run when the program ends ask for names, too.
  static const std::span<const char> program = map_program();
  if (const char* const name =
          find_symbol(program, reinterpret_cast<std::uintptr_t>(address) - load_base())) {
    return demangled(name);
  }
  char text[40];
  std::snprintf(text, sizeof(text), "function at %p", address);
  return text;
}

}  // namespace rubato::inline v0::engine
