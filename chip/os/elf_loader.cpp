// The ELF loader: every field is checked before it is used, every refusal says what the file is instead.
// SPDX-License-Identifier: MIT
#include "chip/os/elf_loader.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"

#ifndef EM_RISCV
#define EM_RISCV 243
#endif

namespace rubato::chip {
namespace {

constexpr std::uint32_t kFlagFloatMask = 6, kFlagFloatQuad = 6, kFlagRve = 8;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{4} << 30;

std::string architecture_name(unsigned machine) {
  switch (machine) {
    case EM_386:
      return "x86 (32-bit)";
    case EM_X86_64:
      return "x86-64";
    case EM_ARM:
      return "ARM (32-bit)";
    case EM_AARCH64:
      return "ARM64 (AArch64)";
    case EM_PPC:
      return "PowerPC";
    case EM_PPC64:
      return "PowerPC 64";
    case EM_S390:
      return "IBM S/390";
    case EM_MIPS:
      return "MIPS";
    case EM_SPARC:
    case EM_SPARCV9:
      return "SPARC";
    case EM_IA_64:
      return "Itanium";
    case 258:
      return "LoongArch";
    default:
      return fmt::format("ELF machine {}", machine);
  }
}

class Loader {
 public:
  Loader(const std::string& path, AddressSpace& memory) : path_(path), memory_(memory) {}

  LoadedProgram load() {
    read_file();
    check_identity();
    check_header();
    read_program_headers();
    find_interpreter();
    if (header_.e_type == ET_DYN) base_ = ElfLimits::kPositionIndependentBase;
    if (is_library_) place_beside_programs();
    map_segments();
    // As Linux has it: what a library starts as a program may lie where the heap would be.
    if (is_library_) program_.end = ElfLimits::highest(memory_) / 2;
    read_symbols();
    read_lock_marks();
    return std::move(program_);
  }

  void load_for(LoadedProgram& program) {
    read_file();
    check_identity();
    check_header();
    read_program_headers();
    find_interpreter();
    if (header_.e_type != ET_DYN || !program_.interpreter.empty())
      refuse("is no dynamic loader, though a program names it as its own");
    place_beside_programs();
    map_segments();
    program.start = program_.start;
    program.interpreter_base = base_;
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw UsageError("{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

  void read_file() {
    const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) refuse("cannot open the program: {}", std::strerror(errno));
    struct stat info {};
    std::string problem;
    if (fstat(fd, &info) != 0) {
      problem = fmt::format("cannot read the program: {}", std::strerror(errno));
    } else if (S_ISDIR(info.st_mode)) {
      problem = "is a directory, expected a RISC-V executable";
    } else if (!S_ISREG(info.st_mode)) {
      problem = "is not a regular file, expected a RISC-V executable";
    } else if (static_cast<std::uint64_t>(info.st_size) > kMaxFileBytes) {
      problem = "is larger than 4 GiB, which no program is";
    } else {
      file_.resize(static_cast<std::size_t>(info.st_size));
      std::size_t got = 0;
      while (got < file_.size()) {
        const ssize_t n = ::read(fd, file_.data() + got, file_.size() - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) problem = fmt::format("cannot read the program: {}", std::strerror(errno));
        if (n <= 0) break;
        got += static_cast<std::size_t>(n);
      }
      file_.resize(got);
    }
    close(fd);
    if (!problem.empty()) refuse("{}", problem);
  }

  /// Copies a T out of the file, or nothing if it lies (partly) behind the end.
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > file_.size() || sizeof(T) > file_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }
  bool inside_file(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= file_.size() && bytes <= file_.size() - offset;
  }

  void check_identity() const {
    if (file_.empty()) refuse("is empty, expected a RISC-V executable");
    if (file_.size() >= 2 && file_[0] == '#' && file_[1] == '!') {
      const auto end = std::find(file_.begin(), file_.end(), '\n');
      refuse("is a script ({}), expected a RISC-V executable: run its interpreter and give it the script",
             std::string(file_.begin(), std::min(end, file_.begin() + 60)));
    }
    if (file_.size() < SELFMAG || std::memcmp(file_.data(), ELFMAG, SELFMAG) != 0)
      refuse("is not an ELF file, expected a RISC-V executable");
    if (file_.size() < EI_NIDENT) refuse("is truncated: {} bytes end inside the ELF header", file_.size());
    const auto elf_class = static_cast<unsigned char>(file_[EI_CLASS]);
    const auto data = static_cast<unsigned char>(file_[EI_DATA]);
    if (elf_class != ELFCLASS64 && elf_class != ELFCLASS32)
      refuse("has an ELF class of {}, which is neither 32-bit nor 64-bit", elf_class);
    if (data == ELFDATA2MSB) {
      // e_machine lies at the same place in both classes.
      const auto swapped = at<std::uint16_t>(18).value_or(0);
      const unsigned machine = static_cast<unsigned>((swapped >> 8) | ((swapped & 0xff) << 8));
      refuse("is a big-endian executable ({}), expected little-endian RISC-V",
             machine == EM_RISCV ? "RISC-V" : architecture_name(machine));
    }
    if (data != ELFDATA2LSB) refuse("has an ELF byte order of {}, which does not exist", data);
    const auto machine = at<std::uint16_t>(18);
    if (machine && *machine != EM_RISCV)
      refuse("is an executable for {}, expected RISC-V (compile it with riscv64-linux-gnu-g++ -static)",
             architecture_name(*machine));
    if (elf_class == ELFCLASS32)
      refuse(
          "is a 32-bit RISC-V executable, expected a 64-bit one (compile it with riscv64-linux-gnu-g++ "
          "-static)");
  }

  void check_header() {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header) refuse("is truncated: {} bytes end inside the ELF header", file_.size());
    header_ = *header;
    if (header_.e_type == ET_REL)
      refuse("is a relocatable object file, not yet a program: link it with -static");
    if (header_.e_type == ET_CORE) refuse("is a core dump, expected an executable");
    if (header_.e_type != ET_EXEC && header_.e_type != ET_DYN)
      refuse("has ELF type {}, expected an executable", header_.e_type);
    const auto os = static_cast<unsigned char>(header_.e_ident[EI_OSABI]);
    if (os != ELFOSABI_SYSV && os != ELFOSABI_LINUX)
      refuse("is made for another operating system (OS ABI {}), expected Linux", os);
    if ((header_.e_flags & kFlagRve) != 0) refuse("uses the RV64E register set, expected RV64GC");
    if ((header_.e_flags & kFlagFloatMask) == kFlagFloatQuad)
      refuse("uses the quad-precision float ABI, expected RV64GC (lp64d)");
    if (header_.e_phnum == 0) refuse("has no program headers: nothing could be loaded");
    if (header_.e_phentsize != sizeof(Elf64_Phdr))
      refuse("has program headers of {} bytes, expected {}", header_.e_phentsize, sizeof(Elf64_Phdr));
  }

  void read_program_headers() {
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      const std::uint64_t step = i * sizeof(Elf64_Phdr);
      const auto header =
          header_.e_phoff > file_.size() ? std::nullopt : at<Elf64_Phdr>(header_.e_phoff + step);
      if (!header) refuse("is truncated: its program headers end behind the file's {} bytes", file_.size());
      segments_.push_back(*header);
    }
  }

  void find_interpreter() {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_INTERP) continue;
      if (!inside_file(segment.p_offset, segment.p_filesz) || segment.p_filesz >= PATH_MAX)
        refuse("is damaged: the name of its dynamic loader is not in the file");
      program_.interpreter = std::string(file_.data() + segment.p_offset,
                                         strnlen(file_.data() + segment.p_offset, segment.p_filesz));
    }
    if (header_.e_type != ET_DYN || !program_.interpreter.empty()) return;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC || !inside_file(segment.p_offset, segment.p_filesz)) continue;
      for (std::uint64_t o = 0; o + sizeof(Elf64_Dyn) <= segment.p_filesz; o += sizeof(Elf64_Dyn)) {
        const auto entry = at<Elf64_Dyn>(segment.p_offset + o);
        if (!entry || entry->d_tag == DT_NULL) break;
        is_library_ = is_library_ || entry->d_tag == DT_SONAME;
        if (entry->d_tag == DT_NEEDED)
          refuse("needs shared libraries and names no dynamic loader: it is a library, or link with -static");
      }
    }
    if (header_.e_entry == 0) refuse("is a shared library, expected an executable");
  }

  /// The place is where mappings begin: a dynamic loader leaves the addresses of programs to the program that
  /// it loads.
  void place_beside_programs() {
    base_ = ElfLimits::highest(memory_);
    limit_ = memory_.size() / 2;
  }

  void map_segments() {
    bool any = false;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
      any = true;
      map_segment(segment);
    }
    if (!any) refuse("has no segment to load");
    program_.entry = program_.start = base_ + header_.e_entry;
    if (!memory_.allows(program_.entry, 2, Page::kExecute))
      refuse("has its entry point at {:#x}, which is not in an executable segment", program_.entry);
    program_.program_header_count = header_.e_phnum;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_PHDR) program_.program_headers = base_ + segment.p_vaddr;
      if (segment.p_type == PT_LOAD && program_.program_headers == 0 && segment.p_offset <= header_.e_phoff &&
          header_.e_phoff - segment.p_offset < segment.p_filesz)
        program_.program_headers = base_ + segment.p_vaddr + (header_.e_phoff - segment.p_offset);
    }
  }

  void map_segment(const Elf64_Phdr& segment) {
    if (segment.p_filesz > segment.p_memsz)
      refuse("has a segment with more bytes in the file ({}) than in memory ({})", segment.p_filesz,
             segment.p_memsz);
    if (!inside_file(segment.p_offset, segment.p_filesz))
      refuse("is truncated: a segment needs bytes {} to {}, the file has {}", segment.p_offset,
             segment.p_offset + segment.p_filesz, file_.size());
    const Addr begin = base_ + segment.p_vaddr, highest = limit_;
    if (segment.p_vaddr > highest || begin < ElfLimits::kLowest || begin >= highest ||
        segment.p_memsz > highest - begin)
      refuse("has a segment at {:#x} of {} bytes, outside of the addresses for programs, {:#x} to {:#x}",
             segment.p_vaddr, segment.p_memsz, ElfLimits::kLowest, highest);
    std::uint8_t rights = 0;
    if ((segment.p_flags & PF_R) != 0) rights |= Page::kRead;
    if ((segment.p_flags & PF_W) != 0) rights |= Page::kRead | Page::kWrite;
    if ((segment.p_flags & PF_X) != 0) rights |= Page::kExecute;
    const Addr first = begin & ~AddressSpace::kPageMask,
               end = (begin + segment.p_memsz + AddressSpace::kPageMask) & ~AddressSpace::kPageMask;
    if (memory_.none_mapped(first, end - first)) {
      memory_.map(first, end - first, rights);
    } else {  // segments that share a page: its rights are those of both
      for (Addr page = first; page < end; page += AddressSpace::kPageBytes) {
        const std::uint8_t old = memory_.attributes(page);
        if (old == 0) {
          memory_.map(page, AddressSpace::kPageBytes, rights);
        } else {
          memory_.protect(page, AddressSpace::kPageBytes, static_cast<std::uint8_t>(old | rights));
        }
      }
    }
    if (segment.p_filesz != 0)
      std::memcpy(memory_.host(begin), file_.data() + segment.p_offset, segment.p_filesz);
    program_.end = std::max(program_.end, end);
  }

  // A damaged symbol table costs names, not the run.
  void read_symbols() {
    std::vector<Symbols::Symbol> symbols;
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) return;
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const auto section = section_header(i);
      if (!section || section->sh_type != SHT_SYMTAB || section->sh_entsize != sizeof(Elf64_Sym)) continue;
      const auto strings = section_header(section->sh_link);
      if (!strings || !inside_file(strings->sh_offset, strings->sh_size) ||
          !inside_file(section->sh_offset, section->sh_size))
        continue;
      for (std::uint64_t o = 0; o + sizeof(Elf64_Sym) <= section->sh_size; o += sizeof(Elf64_Sym)) {
        const Elf64_Sym symbol = *at<Elf64_Sym>(section->sh_offset + o);
        const unsigned type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || symbol.st_name >= strings->sh_size)
          continue;
        if (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE && type != STT_GNU_IFUNC &&
            type != STT_TLS)
          continue;
        const char* text = file_.data() + strings->sh_offset + symbol.st_name;
        std::string name(text, strnlen(text, strings->sh_size - symbol.st_name));
        if (type == STT_TLS) {  // an offset, not an address
          if (name == "errno") program_.errno_offset = symbol.st_value;
          continue;
        }
        if (name.empty() || name[0] == '$' || name.starts_with(".L")) continue;
        symbols.push_back({base_ + symbol.st_value,
                           symbol.st_size,
                           {},
                           std::move(name),
                           type == STT_FUNC || type == STT_GNU_IFUNC});
      }
    }
    program_.symbols = Symbols(std::move(symbols), sources());
  }

  /// From .debug_aranges (DWARF 5, 6.1.2), which names the code of each compilation unit with debugging
  /// information. A section that is compressed or damaged tells nothing.
  std::vector<Symbols::Source> sources() const {
    std::vector<Symbols::Source> found;
    const auto section = section_named(".debug_aranges");
    if (!section || (section->sh_flags & SHF_COMPRESSED) != 0) return found;
    const std::uint64_t end = section->sh_offset + section->sh_size;
    for (std::uint64_t unit = section->sh_offset; unit + 12 <= end;) {
      // The header of 32-bit DWARF: length, version, offset of the unit, sizes of an address and of a
      // segment.
      const auto length = at<std::uint32_t>(unit);
      const auto version = at<std::uint16_t>(unit + 4);
      const auto sizes = at<std::array<std::uint8_t, 2>>(unit + 10);
      if (!length || *length < 8 || *length > end - unit - 4 || version != 2 || !sizes || (*sizes)[0] != 8 ||
          (*sizes)[1] != 0)
        break;
      const std::uint64_t next = unit + 4 + *length;
      using Range = std::array<std::uint64_t, 2>;  // begin and length, aligned to their size within the unit
      for (std::uint64_t o = unit + sizeof(Range); o + sizeof(Range) <= next; o += sizeof(Range)) {
        const auto range = at<Range>(o);
        if (!range || ((*range)[0] == 0 && (*range)[1] == 0)) break;
        found.push_back({base_ + (*range)[0], base_ + (*range)[0] + (*range)[1]});
      }
      unit = next;
    }
    return found;
  }

  std::optional<Elf64_Shdr> section_named(std::string_view wanted) const {
    const auto names = section_header(header_.e_shstrndx);
    for (unsigned i = 0; names && i < header_.e_shnum; ++i) {
      const auto section = section_header(i);
      if (!section || section->sh_name > names->sh_size) continue;
      const std::uint64_t name = names->sh_offset + section->sh_name;
      if (inside_file(name, wanted.size() + 1) &&
          std::memcmp(file_.data() + name, wanted.data(), wanted.size()) == 0 &&
          file_[name + wanted.size()] == '\0' && inside_file(section->sh_offset, section->sh_size))
        return section;
    }
    return std::nullopt;
  }

  // Without them a report says less.
  void read_lock_marks() {
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) return;
    const auto section = section_named("rubato_locks");
    if (!section || section->sh_type != SHT_PROGBITS) return;
    using Mark = std::array<std::uint64_t, 2>;
    for (std::uint64_t o = 0; o + sizeof(Mark) <= section->sh_size; o += sizeof(Mark)) {
      const auto mark = at<Mark>(section->sh_offset + o);
      if (mark && (*mark)[0] != 0 && (*mark)[1] <= static_cast<std::uint64_t>(LockMarks::Kind::wanted))
        program_.lock_marks.add(base_ + (*mark)[0], static_cast<LockMarks::Kind>((*mark)[1]));
    }
  }

  std::optional<Elf64_Shdr> section_header(std::uint64_t index) const {
    if (header_.e_shoff > file_.size() || index >= header_.e_shnum) return std::nullopt;
    return at<Elf64_Shdr>(header_.e_shoff + index * sizeof(Elf64_Shdr));
  }

  const std::string& path_;
  AddressSpace& memory_;
  Addr base_ = 0;  ///< added to every address of the file
  Addr limit_ = ElfLimits::highest(memory_);
  bool is_library_ = false;  ///< it has the name of a library, as dynamic loaders have
  std::vector<char> file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  LoadedProgram program_;
};

}  // namespace

LoadedProgram load_elf(const std::string& path, AddressSpace& memory) { return Loader(path, memory).load(); }

void load_interpreter(const std::string& path, AddressSpace& memory, LoadedProgram& program) {
  Loader(path, memory).load_for(program);
}

}  // namespace rubato::chip
