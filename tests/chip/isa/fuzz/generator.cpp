// Random instruction sequences: operand values that sit on edges, items by weight.
// SPDX-License-Identifier: MIT
#include "tests/chip/isa/fuzz/generator.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "tests/chip/isa/encode.hpp"

namespace rubato::chip::isa::test {
namespace {

constexpr std::uint64_t kIntegers[] = {0,
                                       1,
                                       2,
                                       3,
                                       7,
                                       31,
                                       32,
                                       63,
                                       64,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x7fff,
                                       0x8000,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x100000000,
                                       0x7fffffffffffffff,
                                       0x8000000000000000,
                                       0x8000000000000001,
                                       0xffffffff80000000,
                                       0xffffffff7fffffff,
                                       0xfffffffffffffffe,
                                       0xffffffffffffffff,
                                       0x5555555555555555,
                                       0x0123456789abcdef};

constexpr std::uint64_t kDoubles[] = {
    0x0000000000000000, 0x0000000000000001, 0x000fffffffffffff, 0x0010000000000000, 0x0010000000000001,
    0x3ca0000000000000, 0x3fdfffffffffffff, 0x3fe0000000000000, 0x3fe0000000000001, 0x3fefffffffffffff,
    0x3ff0000000000000, 0x3ff0000000000001, 0x3ff8000000000000, 0x4000000000000000, 0x4004000000000000,
    0x400921fb54442d18, 0x41dfffffffc00000, 0x41e0000000000000, 0x41efffffffe00000, 0x41f0000000000000,
    0x41dfffffffe00000, 0x43dfffffffffffff, 0x43e0000000000000, 0x43efffffffffffff, 0x43f0000000000000,
    0x7fe0000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000,
    0x7fffffffffffffff, 0x380fffffffffffff, 0x3810000000000000, 0x36a0000000000000, 0x3690000000000000,
    0x3690000000000001, 0x47efffffe0000000, 0x47effffff0000000, 0x47efffffefffffff, 0x0340000000000000};

constexpr std::uint32_t kSingles[] = {
    0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x00800001, 0x33800000, 0x3effffff, 0x3f000000,
    0x3f000001, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000, 0x40000000, 0x40200000, 0x40490fdb,
    0x4effffff, 0x4f000000, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0x5f7fffff, 0x5f800000,
    0x7f000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x0c000000, 0x1fffffff};

/// Names of instructions that are an item by themselves, by their form.
std::vector<const Encoding*> encodings(auto&& wanted) {
  std::vector<const Encoding*> list;
  for (const Encoding& e : kEncodings)
    if (wanted(e)) list.push_back(&e);
  return list;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : rng_(seed) {}

  Sequence sequence() {
    Sequence s;
    s.start = record();
    // Most sequences mix everything; some dwell on one kind so that flags and values build up.
    const std::uint64_t focus = rng_.below(4);
    const std::uint64_t items = 10 + rng_.below(40);
    for (std::uint64_t i = 0; i < items; ++i) s.items.push_back(item(focus));
    return s;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  T any(const T (&list)[N]) {
    return list[below(N)];
  }
  const Encoding& any(const std::vector<const Encoding*>& list) { return *list[below(list.size())]; }

  std::uint64_t integer() {
    switch (below(4)) {
      case 0:
        return any(kIntegers);
      case 1:
        return below(64);
      case 2:
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(rng_())));
      default:
        return rng_() >> below(64);
    }
  }
  std::uint64_t float_bits() {
    const std::uint64_t sign = rng_() & (std::uint64_t{1} << 63);
    switch (below(8)) {
      case 0:
        return any(kDoubles) | sign;
      case 1:
        return rng_();
      case 2:
        return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int32_t>(rng_())));
      case 3:  // near one: sums cancel, products round
        return ((0x3f0 + below(0x20)) << 52 | (rng_() & 0x000fffffffffffff)) | sign;
      case 4:
        return 0xffffffff00000000 | any(kSingles) | (sign >> 32);
      case 5:
        return 0xffffffff00000000 | (rng_() & 0xffffffff);
      case 6:
        return 0xffffffff00000000 | ((0x78 + below(0x10)) << 23) | (rng_() & 0x807fffff);
      default:
        return any(kIntegers);  // also singles that are not NaN-boxed
    }
  }
  Record record() {
    Record r{};
    for (auto& x : r.x) x = integer();
    for (auto& f : r.f) f = float_bits();
    for (auto& w : r.scratch) w = one_in(2) ? integer() : float_bits();
    r.fcsr = below(5) << 5 | (one_in(2) ? 0 : below(32));
    return r;
  }

  /// A register that may be written: not a base register; x0 now and then.
  unsigned target() {
    for (;;) {
      const auto x = static_cast<unsigned>(below(30));
      if (x != 2 && x != 8) return x;
    }
  }
  unsigned nonzero_target() {
    for (;;)
      if (const unsigned x = target(); x != 0) return x;
  }
  unsigned short_target() { return 9 + static_cast<unsigned>(below(7)); }
  unsigned source() { return static_cast<unsigned>(below(32)); }
  unsigned base() {
    static constexpr unsigned kBases[] = {kBase, kBase, 2, 8};
    return any(kBases);
  }
  unsigned rounding() {
    static constexpr unsigned kModes[] = {0, 0, 1, 1, 2, 3, 4, 7, 7, 7};
    return any(kModes);
  }
  std::int32_t offset(unsigned bytes) {
    const auto o =
        static_cast<std::int32_t>(below(256 - bytes + 1)) - static_cast<std::int32_t>(kScratchMiddle);
    return one_in(3) ? o : o & -static_cast<std::int32_t>(bytes);  // a third of them misaligned
  }

  static void append(Item& item, std::uint32_t word, unsigned bytes = 4) {
    const auto* raw = reinterpret_cast<const std::uint8_t*>(&word);
    item.code.insert(item.code.end(), raw, raw + bytes);
  }
  static void append(Item& item, std::string_view name, Operands o) { append(item, encode(name, o)); }

  Item item(std::uint64_t focus) {
    const std::uint64_t choice = below(100);
    if (focus == 1 && choice < 60) return floating();
    if (focus == 2 && choice < 60) return arithmetic();
    if (choice < 25) return arithmetic();
    if (choice < 38) return compressed();
    if (choice < 50) return access();
    if (choice < 57) return atomic();
    if (choice < 85) return floating();
    if (choice < 90) return control_register();
    if (choice < 97) return jump();
    return load_reserved();
  }

  Item arithmetic() {
    static const auto list = encodings([](const Encoding& e) {
      return ((e.form == Form::r || e.form == Form::r2) && e.floats == kInt) || e.form == Form::i ||
             e.form == Form::shift6 || e.form == Form::shift5 || e.form == Form::u;
    });
    Item item;
    const Encoding& e = any(list);
    append(
        item,
        encode(e,
               {.rd = target(), .rs1 = source(), .rs2 = source(), .imm = static_cast<std::int32_t>(rng_())}));
    return item;
  }

  static unsigned access_bytes(std::string_view name) {
    if (name.ends_with(".d") || name == "ld" || name == "sd" || name == "fld" || name == "fsd") return 8;
    const char last = name.back() == 'u' ? name[name.size() - 2] : name.back();
    return last == 'b' ? 1 : last == 'h' ? 2 : 4;
  }

  Item access() {
    static const auto list =
        encodings([](const Encoding& e) { return e.form == Form::load || e.form == Form::store; });
    Item item;
    const Encoding& e = any(list);
    const bool is_float = e.floats & kFd;
    append(item, encode(e, {.rd = is_float ? source() : target(),
                            .rs1 = base(),
                            .rs2 = source(),
                            .imm = offset(access_bytes(e.name))}));
    return item;
  }

  /// Puts an aligned scratch address into a register.
  unsigned address(Item& item, unsigned bytes) {
    const unsigned to = nonzero_target();
    const auto at =
        static_cast<std::int32_t>(below(256 / bytes) * bytes) - static_cast<std::int32_t>(kScratchMiddle);
    append(item, "addi", {.rd = to, .rs1 = kBase, .imm = at});
    return to;
  }

  Item atomic() {
    static const auto list = encodings([](const Encoding& e) { return e.form == Form::amo; });
    Item item;
    const Encoding& e = any(list);  // an sc here fails: every lr has its own sc
    const unsigned at = address(item, access_bytes(e.name));
    append(item, encode(e, {.rd = target(), .rs1 = at, .rs2 = source()}) |
                     static_cast<std::uint32_t>(below(4) << 25));
    return item;
  }

  Item load_reserved() {
    Item item;
    const bool is_double = one_in(2);
    unsigned at = address(item, is_double ? 8 : 4);
    append(item, is_double ? "lr.d" : "lr.w", {.rd = other_than(at), .rs1 = at});
    if (one_in(4)) at = address(item, is_double ? 8 : 4);  // mostly another one: the sc fails
    for (std::uint64_t i = below(3); i > 0; --i)
      append(item, "addi", {.rd = other_than(at), .rs1 = source(), .imm = static_cast<std::int32_t>(rng_())});
    append(item, is_double ? "sc.d" : "sc.w", {.rd = target(), .rs1 = at, .rs2 = source()});
    if (one_in(2))
      append(item, is_double ? "sc.d" : "sc.w", {.rd = other_than(at), .rs1 = kBase, .rs2 = source()});
    return item;
  }
  unsigned other_than(unsigned x) {
    for (;;)
      if (const unsigned y = target(); y != x) return y;
  }

  Item floating() {
    static const auto list = encodings(
        [](const Encoding& e) { return e.floats != kInt && e.form != Form::load && e.form != Form::store; });
    Item item;
    const Encoding& e = any(list);
    append(item, encode(e, {.rd = e.floats & kFd ? source() : target(),
                            .rs1 = source(),
                            .rs2 = source(),
                            .rs3 = source(),
                            .rm = rounding()}));
    return item;
  }

  Item control_register() {
    constexpr std::int32_t kFflags = 1, kFrm = 2, kFcsr = 3;
    Item item;
    const unsigned rd = target();
    switch (below(8)) {
      case 0:
        append(item, "csrrs", {.rd = rd, .rs1 = 0, .imm = static_cast<std::int32_t>(1 + below(3))});
        break;
      case 1:
        append(item, "csrrwi", {.rd = rd, .rs1 = static_cast<unsigned>(below(5)), .imm = kFrm});
        break;
      case 2:
        append(item, "csrrw", {.rd = rd, .rs1 = source(), .imm = kFflags});
        break;
      case 3:
        append(item, "csrrs", {.rd = rd, .rs1 = source(), .imm = kFflags});
        break;
      case 4:
        append(item, one_in(2) ? "csrrsi" : "csrrwi", {.rd = rd, .rs1 = source(), .imm = kFflags});
        break;
      case 5:
        append(item, "csrrc", {.rd = rd, .rs1 = source(), .imm = static_cast<std::int32_t>(1 + below(3))});
        break;
      case 6:
        append(item, "csrrci", {.rd = rd, .rs1 = source(), .imm = static_cast<std::int32_t>(1 + below(3))});
        break;
      default: {
        const unsigned value = nonzero_target();
        append(item, "addi",
               {.rd = value, .rs1 = 0, .imm = static_cast<std::int32_t>(below(5) << 5 | below(32))});
        append(item, "csrrw", {.rd = rd, .rs1 = value, .imm = kFcsr});
        break;
      }
    }
    return item;
  }

  Item jump() {
    Item item;
    item.skip = static_cast<unsigned>(below(4));
    item.choice = static_cast<std::uint32_t>(rng_());
    const std::uint64_t kind = below(10);
    if (kind < 6) {
      item.encode = [](std::uint32_t c, std::int32_t distance) {
        static constexpr std::string_view kNames[] = {"beq", "bne", "blt", "bge", "bltu", "bgeu"};
        const unsigned rs1 = (c >> 8) & 31, rs2 = (c >> 16) & 7 ? (c >> 20) & 31 : rs1;
        return encode(kNames[(c & 0xff) % 6], {.rs1 = rs1, .rs2 = rs2, .imm = distance});
      };
    } else if (kind < 8) {
      item.choice = nonzero_target();
      item.encode = [](std::uint32_t c, std::int32_t distance) {
        return encode("jal", {.rd = c, .imm = distance});
      };
    } else {  // auipc to, 0; jalr rd, distance(to): the distance counts from the jalr
      const unsigned to = nonzero_target();
      append(item, "auipc", {.rd = to});
      item.choice = target() | to << 8;
      item.encode = [](std::uint32_t c, std::int32_t distance) {
        return encode("jalr", {.rd = c & 31, .rs1 = c >> 8, .imm = distance + 4});
      };
    }
    append(item, 0);  // patched by Sequence::code
    return item;
  }

  // Compressed forms, put together from the manual's field layout. `spread` places bit n of a value at bit
  // places[n].
  static std::uint32_t spread(std::uint32_t value, std::initializer_list<int> places) {
    std::uint32_t half = 0;
    for (const int place : places) {
      if (place >= 0) half |= (value & 1) << place;
      value >>= 1;
    }
    return half;
  }
  std::uint32_t imm6() { return spread(static_cast<std::uint32_t>(rng_()), {2, 3, 4, 5, 6, 12}); }
  std::uint32_t nonzero_imm6() {
    return spread(1 + static_cast<std::uint32_t>(below(63)), {2, 3, 4, 5, 6, 12});
  }

  Item compressed() {
    Item item;
    append(item, one_in(2) ? compressed_arithmetic() : compressed_access(), 2);
    return item;
  }
  std::uint32_t compressed_arithmetic() {
    const unsigned rd = nonzero_target(), rds = (short_target() - 8) << 7,
                   rs2s = static_cast<unsigned>(below(8)) << 2;
    const unsigned rs2 = (1 + static_cast<unsigned>(below(31))) << 2;
    switch (below(16)) {
      case 0:
        return 0x0001 | rd << 7 | imm6();  // c.addi
      case 1:
        return 0x2001 | rd << 7 | imm6();  // c.addiw
      case 2:
        return 0x4001 | rd << 7 | imm6();  // c.li
      case 3:
        return 0x6001 | rd << 7 | nonzero_imm6();  // c.lui
      case 4:
        return 0x8001 | rds | imm6();  // c.srli
      case 5:
        return 0x8401 | rds | imm6();  // c.srai
      case 6:
        return 0x8801 | rds | imm6();  // c.andi
      case 7:
        return 0x8c01 | rds | rs2s | static_cast<unsigned>(below(4)) << 5;  // c.sub, c.xor, c.or, c.and
      case 8:
        return 0x9c01 | rds | rs2s | static_cast<unsigned>(below(2)) << 5;  // c.subw, c.addw
      case 9:
        return 0x0002 | rd << 7 | imm6();  // c.slli
      case 10:
      case 11:
        return 0x8002 | rd << 7 | rs2;  // c.mv
      case 12:
      case 13:
        return 0x9002 | rd << 7 | rs2;  // c.add
      case 14:
        return 0x0001;  // c.nop
      default:          // c.addi4spn
        return 0x0000 | (short_target() - 8) << 2 |
               spread(1 + static_cast<std::uint32_t>(below(255)), {6, 5, 11, 12, 7, 8, 9, 10});
    }
  }
  std::uint32_t compressed_access() {
    // Offsets count words or doublewords; all stay below the end of the scratch memory behind its middle.
    const auto w = static_cast<std::uint32_t>(below(32)), d = static_cast<std::uint32_t>(below(16));
    const unsigned s0 = 0 << 7, short_x = (short_target() - 8) << 2,
                   any_short = static_cast<unsigned>(below(8)) << 2;
    const unsigned x = nonzero_target() << 7, f = source() << 7, rs2 = source() << 2;
    const std::uint32_t offset_w = spread(w, {6, 10, 11, 12, 5}), offset_d = spread(d, {10, 11, 12, 5, 6});
    switch (below(12)) {
      case 0:
        return 0x2000 | s0 | any_short | offset_d;  // c.fld
      case 1:
        return 0x4000 | s0 | short_x | offset_w;  // c.lw
      case 2:
        return 0x6000 | s0 | short_x | offset_d;  // c.ld
      case 3:
        return 0xa000 | s0 | any_short | offset_d;  // c.fsd
      case 4:
        return 0xc000 | s0 | any_short | offset_w;  // c.sw
      case 5:
        return 0xe000 | s0 | any_short | offset_d;  // c.sd
      case 6:
        return 0x2002 | f | spread(d, {5, 6, 12, 2, 3, 4});  // c.fldsp
      case 7:
        return 0x4002 | x | spread(w, {4, 5, 6, 12, 2, 3});  // c.lwsp
      case 8:
        return 0x6002 | x | spread(d, {5, 6, 12, 2, 3, 4});  // c.ldsp
      case 9:
        return 0xa002 | rs2 | spread(d, {10, 11, 12, 7, 8, 9});  // c.fsdsp
      case 10:
        return 0xc002 | rs2 | spread(w, {9, 10, 11, 12, 7, 8});  // c.swsp
      default:
        return 0xe002 | rs2 | spread(d, {10, 11, 12, 7, 8, 9});  // c.sdsp
    }
  }

  Rng rng_;
};

}  // namespace

std::vector<std::uint8_t> Sequence::code(std::size_t items_used) const {
  std::vector<std::uint8_t> all;
  for (std::size_t i = 0; i < items_used; ++i) {
    const Item& item = items[i];
    all.insert(all.end(), item.code.begin(), item.code.end());
    if (item.encode == nullptr) continue;
    std::int32_t distance = 4;
    for (std::size_t over = i + 1; over < std::min(i + 1 + item.skip, items_used); ++over)
      distance += static_cast<std::int32_t>(items[over].code.size());
    const std::uint32_t word = item.encode(item.choice, distance);
    std::memcpy(all.data() + all.size() - 4, &word, 4);
  }
  return all;
}

Sequence generate(std::uint64_t seed, std::uint64_t index) {
  return Generator(mix64(seed) ^ mix64(~index)).sequence();
}

}  // namespace rubato::chip::isa::test
