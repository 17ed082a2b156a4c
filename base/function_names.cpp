// Reads the symbol table of /proc/self/exe, so that functions of every linkage have names without -rdynamic.
// SPDX-License-Identifier: MIT
#include "base/function_names.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

namespace rubato::inline v0::engine {
namespace {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : name;
}

/// Where the program was loaded: 0 unless position independent. The first object listed is the program
/// itself.
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

template <class T>
T read_at(const std::vector<char>& file, std::uint64_t offset) {
  T value{};
  if (offset <= file.size() && file.size() - offset >= sizeof(T))
    std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

std::map<std::uint64_t, std::string> read_symbols() {
  std::map<std::uint64_t, std::string> names;
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const auto header = read_at<ElfW(Ehdr)>(file, 0);
  const auto section_at = [&](std::uint64_t index) {
    return read_at<ElfW(Shdr)>(file, header.e_shoff + index * sizeof(ElfW(Shdr)));
  };
  const std::uint64_t base = load_base();
  for (unsigned s = 0; s < header.e_shnum; ++s) {
    const auto table = section_at(s);
    if (table.sh_type != SHT_SYMTAB) continue;
    const auto strings = section_at(table.sh_link);
    for (std::uint64_t offset = 0; offset < table.sh_size; offset += sizeof(ElfW(Sym))) {
      const auto symbol = read_at<ElfW(Sym)>(file, table.sh_offset + offset);
      if ((symbol.st_info & 0xf) != STT_FUNC || symbol.st_value == 0) continue;
      const std::uint64_t text = strings.sh_offset + symbol.st_name;
      if (text < file.size()) names.emplace(base + symbol.st_value, std::string(file.data() + text));
    }
  }
  return names;
}

}  // namespace

std::string function_name(const void* address, const std::type_info& type) {
  if (address == nullptr) return demangled(type.name());
  // Never destroyed: asked for also by what runs when the program ends.
  static const auto& names = *new const std::map<std::uint64_t, std::string>(read_symbols());
  const auto found = names.find(reinterpret_cast<std::uintptr_t>(address));
  if (found != names.end()) return demangled(found->second.c_str());
  char text[40];
  std::snprintf(text, sizeof(text), "function at %p", address);
  return text;
}

}  // namespace rubato::inline v0::engine
