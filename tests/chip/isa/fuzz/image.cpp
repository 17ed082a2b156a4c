// Layout of the executable:
//   text   for each sequence: jal link, restore; its code; jal link, save. Then write and exit; restore; save
//   data   variables (pointer to the next start record, to the next result record), scratch, start records,
//   results
// SPDX-License-Identifier: MIT
#include "tests/chip/isa/fuzz/image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "tests/chip/isa/encode.hpp"

namespace rubato::chip::isa::test {
namespace {

constexpr std::uint64_t kText = 0x100000, kDataAt = 0x10000000, kScratch = kDataAt + 0x400,
                        kRecords = kDataAt + 0x1000;
constexpr std::int32_t kNextStart = 0, kNextResult = 8;       // variables, from kDataAt
constexpr std::int32_t kF = 256, kFcsr = 512, kMemory = 520;  // offsets in a Record

class Assembler {
 public:
  std::vector<std::uint8_t> bytes;
  std::uint64_t here() const { return kText + bytes.size(); }
  void emit(std::uint32_t word) {
    const auto* raw = reinterpret_cast<const std::uint8_t*>(&word);
    bytes.insert(bytes.end(), raw, raw + 4);
  }
  void emit(std::string_view name, Operands o) { emit(encode(name, o)); }
  void jump_to(unsigned link, std::uint64_t target) {
    emit("jal", {.rd = link, .imm = static_cast<std::int32_t>(target - here())});
  }
  /// Any 31-bit constant.
  void constant(unsigned rd, std::uint64_t value) {
    const auto v = static_cast<std::int32_t>(value);
    emit("lui", {.rd = rd, .imm = (v + 0x800) & ~0xfff});
    emit("addiw", {.rd = rd, .rs1 = rd, .imm = v << 20 >> 20});
  }
};

constexpr unsigned kTemporary = 1;

/// Loads everything from the next start record; returns through kLink with kBase, sp, s0 at the scratch
/// memory.
void emit_restore(Assembler& a) {
  a.constant(kTemporary, kDataAt);
  a.emit("ld", {.rd = kBase, .rs1 = kTemporary, .imm = kNextStart});
  a.emit("addi", {.rd = 2, .rs1 = kBase, .imm = sizeof(Record)});
  a.emit("sd", {.rs1 = kTemporary, .rs2 = 2, .imm = kNextStart});
  a.constant(kTemporary, kScratch);
  for (unsigned w = 0; w < Record::kScratchWords; ++w) {
    a.emit("ld", {.rd = 2, .rs1 = kBase, .imm = kMemory + 8 * static_cast<std::int32_t>(w)});
    a.emit("sd", {.rs1 = kTemporary, .rs2 = 2, .imm = 8 * static_cast<std::int32_t>(w)});
  }
  for (unsigned f = 0; f < 32; ++f)
    a.emit("fld", {.rd = f, .rs1 = kBase, .imm = kF + 8 * static_cast<std::int32_t>(f)});
  a.emit("ld", {.rd = kTemporary, .rs1 = kBase, .imm = kFcsr});
  a.emit("csrrw", {.rd = 0, .rs1 = kTemporary, .imm = 3});
  for (unsigned x = 1; x < kBase; ++x)
    a.emit("ld", {.rd = x, .rs1 = kBase, .imm = 8 * static_cast<std::int32_t>(x)});
  a.constant(kBase, kScratch + kScratchMiddle);
  a.emit("addi", {.rd = 2, .rs1 = kBase});
  a.emit("addi", {.rd = 8, .rs1 = kBase});
  a.emit("jalr", {.rd = 0, .rs1 = kLink});
}

/// Stores everything to the next result record; returns through kLink.
void emit_save(Assembler& a) {
  a.constant(kBase, kDataAt);
  a.emit("ld", {.rd = kBase, .rs1 = kBase, .imm = kNextResult});
  for (unsigned x = 0; x < kBase; ++x)
    a.emit("sd", {.rs1 = kBase, .rs2 = x, .imm = 8 * static_cast<std::int32_t>(x)});
  for (unsigned f = 0; f < 32; ++f)
    a.emit("fsd", {.rs1 = kBase, .rs2 = f, .imm = kF + 8 * static_cast<std::int32_t>(f)});
  a.emit("csrrs", {.rd = kTemporary, .rs1 = 0, .imm = 3});
  a.emit("sd", {.rs1 = kBase, .rs2 = kTemporary, .imm = kFcsr});
  a.constant(kTemporary, kScratch);
  for (unsigned w = 0; w < Record::kScratchWords; ++w) {
    a.emit("ld", {.rd = 2, .rs1 = kTemporary, .imm = 8 * static_cast<std::int32_t>(w)});
    a.emit("sd", {.rs1 = kBase, .rs2 = 2, .imm = kMemory + 8 * static_cast<std::int32_t>(w)});
  }
  a.constant(kTemporary, kDataAt);
  a.emit("addi", {.rd = kBase, .rs1 = kBase, .imm = sizeof(Record)});
  a.emit("sd", {.rs1 = kTemporary, .rs2 = kBase, .imm = kNextResult});
  a.emit("jalr", {.rd = 0, .rs1 = kLink});
}

/// write(1, results, bytes) until all is written, then exit(0).
void emit_end(Assembler& a, std::uint64_t results, std::uint64_t bytes) {
  a.constant(18, results);
  a.constant(19, bytes);
  const std::uint64_t again = a.here();
  a.constant(10, 1);
  a.emit("addi", {.rd = 11, .rs1 = 18});
  a.emit("addi", {.rd = 12, .rs1 = 19});
  a.constant(17, 64);
  a.emit("ecall", {});
  a.emit("add", {.rd = 18, .rs1 = 18, .rs2 = 10});
  a.emit("sub", {.rd = 19, .rs1 = 19, .rs2 = 10});
  a.emit("bne", {.rs1 = 19, .rs2 = 0, .imm = static_cast<std::int32_t>(again - a.here())});
  a.constant(10, 0);
  a.constant(17, 94);
  a.emit("ecall", {});
}

}  // namespace

Image make_image(std::span<const Sequence> sequences, std::size_t items_used) {
  Assembler a;
  emit_restore(a);
  const std::uint64_t restore = kText, save = a.here();
  emit_save(a);

  Image image;
  image.entry = a.here();
  const std::uint64_t results = kRecords + sequences.size() * sizeof(Record);
  image.data.resize(kRecords - kDataAt + sequences.size() * sizeof(Record));
  std::memcpy(image.data.data() + kNextStart, &kRecords, 8);
  std::memcpy(image.data.data() + kNextResult, &results, 8);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    std::memcpy(image.data.data() + (kRecords - kDataAt) + i * sizeof(Record), &sequences[i].start,
                sizeof(Record));
    a.jump_to(kLink, restore);
    image.sequence_at.push_back(a.here());
    const auto code = sequences[i].code(std::min(items_used, sequences[i].items.size()));
    a.bytes.insert(a.bytes.end(), code.begin(), code.end());
    a.jump_to(kLink, save);
  }
  emit_end(a, results, sequences.size() * sizeof(Record));
  image.text_address = kText;
  image.data_address = kDataAt;
  image.text = std::move(a.bytes);
  image.data_bytes = image.data.size() + sequences.size() * sizeof(Record);
  return image;
}

std::vector<std::uint8_t> Image::elf() const {
  constexpr std::uint64_t kPage = 4096, kFlagDoubleFloat = 4, kFlagCompressed = 1;
  const std::uint64_t data_offset = (kPage + text.size() + kPage - 1) / kPage * kPage;
  std::vector<std::uint8_t> file(data_offset + data.size());
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_RISCV;
  header.e_version = EV_CURRENT;
  header.e_entry = entry;
  header.e_phoff = sizeof header;
  header.e_flags = kFlagDoubleFloat | kFlagCompressed;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  const Elf64_Phdr segments[2] = {
      {PT_LOAD, PF_R | PF_X, kPage, text_address, text_address, text.size(), text.size(), kPage},
      {PT_LOAD, PF_R | PF_W, data_offset, data_address, data_address, data.size(), data_bytes, kPage}};
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, segments, sizeof segments);
  std::memcpy(file.data() + kPage, text.data(), text.size());
  std::memcpy(file.data() + data_offset, data.data(), data.size());
  return file;
}

}  // namespace rubato::chip::isa::test
