// The smallest executable that loads: one segment, one page of code, for tests that make the system calls
// themselves.
// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace rubato::chip {

inline void write_elf_image(const std::filesystem::path& path) {
  constexpr std::uint64_t kBase = 0x10000, kFileBytes = 0x200;
  std::vector<char> file(kFileBytes, 0);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = 243;  // EM_RISCV
  header.e_version = EV_CURRENT;
  header.e_entry = kBase + 0x100;
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
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, &segment, sizeof segment);
  std::ofstream(path, std::ios::binary).write(file.data(), static_cast<std::streamsize>(file.size()));
}

}  // namespace rubato::chip
