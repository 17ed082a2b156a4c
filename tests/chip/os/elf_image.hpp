// The smallest executable that loads: one segment, one page of code, for tests that make the system calls
// themselves.
// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace rubato::chip {

inline constexpr std::uint64_t kImageEntry = 0x10100;

struct ImageSymbol {
  std::string name;
  std::uint64_t address;  ///< of a function
};

inline void write_elf_image(const std::filesystem::path& path, const std::vector<ImageSymbol>& symbols = {}) {
  constexpr std::uint64_t kBase = 0x10000, kFileBytes = 0x200;
  std::vector<char> file(kFileBytes, 0);
  const auto append = [&](const void* data, std::size_t bytes) {
    const auto* from = static_cast<const char*>(data);
    file.insert(file.end(), from, from + bytes);
  };
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = 243;  // EM_RISCV
  header.e_version = EV_CURRENT;
  header.e_entry = kImageEntry;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_W | PF_X;
  segment.p_vaddr = kBase;
  segment.p_filesz = kFileBytes;
  segment.p_memsz = 0x1000;
  if (!symbols.empty()) {
    std::string names(1, '\0');
    std::vector<Elf64_Sym> table(1);
    for (const ImageSymbol& symbol : symbols) {
      Elf64_Sym entry{};
      entry.st_name = static_cast<Elf64_Word>(names.size());
      entry.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      entry.st_shndx = 1;
      entry.st_value = symbol.address;
      entry.st_size = 4;
      table.push_back(entry);
      names += symbol.name + '\0';
    }
    std::array<Elf64_Shdr, 3> sections{};  // none, the symbols and their names
    sections[1].sh_type = SHT_SYMTAB;
    sections[1].sh_offset = file.size();
    sections[1].sh_size = table.size() * sizeof(Elf64_Sym);
    sections[1].sh_entsize = sizeof(Elf64_Sym);
    sections[1].sh_link = 2;
    append(table.data(), sections[1].sh_size);
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = file.size();
    sections[2].sh_size = names.size();
    append(names.data(), names.size());
    header.e_shoff = file.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = sections.size();
    append(sections.data(), sizeof sections);
  }
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, &segment, sizeof segment);
  std::ofstream(path, std::ios::binary).write(file.data(), static_cast<std::streamsize>(file.size()));
}

}  // namespace rubato::chip
