// The instructions beyond RV64GC, by .insn, against plain C on random operands: each interpreter judges
// itself. Then riscv_hwprobe and /proc/cpuinfo, which must say the same. no-qemu: Debian 12's lacks Zicond,
// Zfa and Zfhmin
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int wrong, checks;
static void check(const char* name, uint64_t got, uint64_t right, uint64_t a, uint64_t b) {
  ++checks;
  if (got == right) return;
  if (++wrong < 10)
    printf("%s of %llx, %llx: %llx, right: %llx\n", name, (unsigned long long)a, (unsigned long long)b,
           (unsigned long long)got, (unsigned long long)right);
}

static uint64_t state = 88172645463325252u;
static uint64_t draw(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  switch (state >> 61) {
    case 0:
      return state >> (state & 63);
    case 1:
      return state << (state & 63);
    case 2:
      return (uint64_t)((int64_t)(state % 3) - 1);
    default:
      return state;
  }
}

#define TWO(name, opcode, funct3, funct7, right)                                 \
  do {                                                                           \
    uint64_t got;                                                                \
    __asm__ volatile(".insn r " #opcode ", " #funct3 ", " #funct7 ", %0, %1, %2" \
                     : "=r"(got)                                                 \
                     : "r"(a), "r"(b));                                          \
    check(name, got, (uint64_t)(right), a, b);                                   \
  } while (0)
#define IMMEDIATE(name, opcode, funct3, imm, right)                                           \
  do {                                                                                        \
    uint64_t got;                                                                             \
    __asm__ volatile(".insn i " #opcode ", " #funct3 ", %0, %1, " #imm : "=r"(got) : "r"(a)); \
    check(name, got, (uint64_t)(right), a, 0);                                                \
  } while (0)

static uint64_t turned(uint64_t v, unsigned by) {
  return by % 64 == 0 ? v : v << by % 64 | v >> (64 - by % 64);
}
static uint32_t turned_word(uint32_t v, unsigned by) {
  return by % 32 == 0 ? v : v << by % 32 | v >> (32 - by % 32);
}
static uint64_t word(uint32_t v) { return (uint64_t)(int64_t)(int32_t)v; }
static int leading(uint64_t v, int width) {
  int n = 0;
  while (n < width && (v >> (width - 1 - n) & 1) == 0) ++n;
  return n;
}
static int trailing(uint64_t v, int width) {
  int n = 0;
  while (n < width && (v >> n & 1) == 0) ++n;
  return n;
}
static int ones(uint64_t v, int width) {
  int n = 0;
  for (int i = 0; i < width; ++i) n += v >> i & 1;
  return n;
}
static uint64_t set_bytes(uint64_t v) {
  uint64_t out = 0;
  for (int i = 0; i < 64; i += 8)
    if (v >> i & 255) out |= (uint64_t)255 << i;
  return out;
}
static uint64_t reversed(uint64_t v) {
  uint64_t out = 0;
  for (int i = 0; i < 64; i += 8) out = out << 8 | (v >> i & 255);
  return out;
}

static void integers(uint64_t a, uint64_t b) {
  const uint64_t low = (uint32_t)a, bit = (uint64_t)1 << (b & 63);
  TWO("add.uw", 0x3b, 0, 0x04, low + b);
  TWO("sh1add", 0x33, 2, 0x10, 2 * a + b);
  TWO("sh2add", 0x33, 4, 0x10, 4 * a + b);
  TWO("sh3add", 0x33, 6, 0x10, 8 * a + b);
  TWO("sh1add.uw", 0x3b, 2, 0x10, 2 * low + b);
  TWO("sh2add.uw", 0x3b, 4, 0x10, 4 * low + b);
  TWO("sh3add.uw", 0x3b, 6, 0x10, 8 * low + b);
  IMMEDIATE("slli.uw 35", 0x1b, 1, 0x80 + 35, low << 35);
  TWO("andn", 0x33, 7, 0x20, a & ~b);
  TWO("orn", 0x33, 6, 0x20, a | ~b);
  TWO("xnor", 0x33, 4, 0x20, ~(a ^ b));
  IMMEDIATE("clz", 0x13, 1, 0x600, leading(a, 64));
  IMMEDIATE("clzw", 0x1b, 1, 0x600, leading(a, 32));
  IMMEDIATE("ctz", 0x13, 1, 0x601, trailing(a, 64));
  IMMEDIATE("ctzw", 0x1b, 1, 0x601, trailing(a, 32));
  IMMEDIATE("cpop", 0x13, 1, 0x602, ones(a, 64));
  IMMEDIATE("cpopw", 0x1b, 1, 0x602, ones(a, 32));
  TWO("max", 0x33, 6, 0x05, (int64_t)a > (int64_t)b ? a : b);
  TWO("maxu", 0x33, 7, 0x05, a > b ? a : b);
  TWO("min", 0x33, 4, 0x05, (int64_t)a > (int64_t)b ? b : a);
  TWO("minu", 0x33, 5, 0x05, a > b ? b : a);
  IMMEDIATE("sext.b", 0x13, 1, 0x604, (int64_t)(int8_t)a);
  IMMEDIATE("sext.h", 0x13, 1, 0x605, (int64_t)(int16_t)a);
  IMMEDIATE("zext.h", 0x3b, 4, 0x80, (uint16_t)a);
  TWO("rol", 0x33, 1, 0x30, turned(a, b & 63));
  TWO("ror", 0x33, 5, 0x30, turned(a, 64 - (b & 63)));
  TWO("rolw", 0x3b, 1, 0x30, word(turned_word((uint32_t)a, b & 31)));
  TWO("rorw", 0x3b, 5, 0x30, word(turned_word((uint32_t)a, 32 - (b & 31))));
  IMMEDIATE("rori 7", 0x13, 5, 0x600 + 7, turned(a, 57));
  IMMEDIATE("roriw 7", 0x1b, 5, 0x600 + 7, word(turned_word((uint32_t)a, 25)));
  IMMEDIATE("orc.b", 0x13, 5, 0x287, set_bytes(a));
  IMMEDIATE("rev8", 0x13, 5, 0x6b8, reversed(a));
  TWO("bclr", 0x33, 1, 0x24, a & ~bit);
  TWO("bext", 0x33, 5, 0x24, (a & bit) != 0);
  TWO("binv", 0x33, 1, 0x34, a ^ bit);
  TWO("bset", 0x33, 1, 0x14, a | bit);
  IMMEDIATE("bclri 40", 0x13, 1, 0x480 + 40, a & ~((uint64_t)1 << 40));
  IMMEDIATE("bexti 40", 0x13, 5, 0x480 + 40, a >> 40 & 1);
  IMMEDIATE("binvi 40", 0x13, 1, 0x680 + 40, a ^ (uint64_t)1 << 40);
  IMMEDIATE("bseti 40", 0x13, 1, 0x280 + 40, a | (uint64_t)1 << 40);
  TWO("czero.eqz", 0x33, 5, 0x07, b == 0 ? 0 : a);
  TWO("czero.nez", 0x33, 7, 0x07, b != 0 ? 0 : a);
}

static uint64_t bits(double v) {
  uint64_t word;
  memcpy(&word, &v, 8);
  return word;
}
#define FLOAT(name, text, right, ...)                             \
  do {                                                            \
    double got_;                                                  \
    __asm__ volatile(".insn r " text : "=f"(got_) : __VA_ARGS__); \
    check(name, bits(got_), bits(right), bits(x), bits(y));       \
  } while (0)
#define FLOAT_TO_INT(name, text, right, ...)                     \
  do {                                                           \
    uint64_t got;                                                \
    __asm__ volatile(".insn r " text : "=r"(got) : __VA_ARGS__); \
    check(name, got, (uint64_t)(right), bits(x), bits(y));       \
  } while (0)

static void floats(double x, double y) {
  const int has_nan = x != x || y != y;
  FLOAT("fminm.d", "0x53, 2, 0x15, %0, %1, %2", has_nan ? (double)NAN : fmin(x, y), "f"(x), "f"(y));
  FLOAT("fmaxm.d", "0x53, 3, 0x15, %0, %1, %2", has_nan ? (double)NAN : fmax(x, y), "f"(x), "f"(y));
  FLOAT("fround.d", "0x53, 0, 0x21, %0, %1, f4", rint(x), "f"(x));
  FLOAT("fround.d rtz", "0x53, 1, 0x21, %0, %1, f4", trunc(x), "f"(x));
  FLOAT("froundnx.d rup", "0x53, 3, 0x21, %0, %1, f5", ceil(x), "f"(x));
  FLOAT("fli.d 0.625", "0x53, 0, 0x79, %0, f13, f1", 0.625, "f"(x));
  FLOAT_TO_INT("fltq.d", "0x53, 5, 0x51, %0, %1, %2", isless(x, y), "f"(x), "f"(y));
  FLOAT_TO_INT("fleq.d", "0x53, 4, 0x51, %0, %1, %2", islessequal(x, y), "f"(x), "f"(y));
  if (fabs(x) < 0x1p62)
    FLOAT_TO_INT("fcvtmod.w.d", "0x53, 1, 0x61, %0, %1, f8", word((uint32_t)(int64_t)x), "f"(x));
  // Half precision and back, of numbers that it has.
  const double whole = (double)(bits(x) % 2048);
  double back;
  uint16_t memory[2] = {0, 0x5a5a};
  __asm__ volatile(
      ".insn r 0x53, 0, 0x22, ft0, %1, f1\n"  // fcvt.h.d
      ".insn s 0x27, 1, ft0, 0(%2)\n"         // fsh
      ".insn i 0x07, 1, ft1, 0(%2)\n"         // flh
      ".insn r 0x53, 0, 0x21, %0, ft1, f2\n"  // fcvt.d.h
      : "=&f"(back)
      : "f"(whole), "r"(memory)
      : "ft0", "ft1", "memory");
  check("half", bits(back), bits(whole), bits(x), 0);
  check("half's neighbour", memory[1], 0x5a5a, 0, 0);
}

static _Alignas(64) uint64_t blocks[3 * 8];
static void cache_blocks(void) {
  for (int n = 0; n < 64; ++n) {
    memset(blocks, 0xee, sizeof blocks);
    char* inside = (char*)(blocks + 8) + n;
    __asm__ volatile(".insn i 0x0f, 2, x0, %0, 4" : : "r"(inside) : "memory");  // cbo.zero
    __asm__ volatile(".insn i 0x0f, 2, x0, %0, 1" : : "r"(inside) : "memory");  // cbo.clean
    __asm__ volatile(".insn i 0x0f, 2, x0, %0, 2" : : "r"(inside) : "memory");  // cbo.flush
    __asm__ volatile(".insn i 0x13, 6, x0, %0, 3" : : "r"(inside));             // prefetch.w
    __asm__ volatile(".word 0x0100000f");                                       // pause
    for (int i = 0; i < 24; ++i)
      check("cbo.zero", blocks[i], i / 8 == 1 ? 0 : 0xeeeeeeeeeeeeeeee, (uint64_t)n, (uint64_t)i);
  }
}

struct pair {
  int64_t key;
  uint64_t value;
};
static long probe(struct pair* pairs, long count, long bytes, void* set, long flags) {
  return syscall(258, pairs, count, bytes, set, flags);
}

static void probes(void) {
  struct pair pairs[18];
  for (int key = 0; key < 18; ++key) pairs[key] = (struct pair){key, 77};
  printf("hwprobe: %ld\n", probe(pairs, 18, 0, NULL, 0));
  for (int key = 0; key < 18; ++key)
    printf("  %d: key %lld value %llx\n", key, (long long)pairs[key].key,
           (unsigned long long)pairs[key].value);
  uint64_t set = 0;
  printf("no core: %ld\n", probe(pairs, 1, 8, &set, 0));
  set = 1;
  printf("core 0: %ld\n", probe(pairs, 1, 8, &set, 0));
  // The cores that have Zba; the base; Zbc, which none has; a key that no Linux has.
  const struct pair asked[] = {{4, 1 << 3}, {3, 1}, {4, 1 << 7}, {99, 0}};
  for (int i = 0; i < 4; ++i) {
    struct pair pair = asked[i];
    set = 0;
    const long result = probe(&pair, 1, 8, &set, 1);
    printf("which %d: %ld, set %llx, key %lld\n", i, result, (unsigned long long)set, (long long)pair.key);
  }
  printf("which without a set: %ld\n", probe(pairs, 1, 0, NULL, 1));
  printf("other flags: %ld\n", probe(pairs, 1, 0, NULL, 2));
  char line[512];
  FILE* info = fopen("/proc/cpuinfo", "r");
  while (fgets(line, sizeof line, info) != NULL)
    if (strncmp(line, "isa", 3) == 0) {
      fputs(line, stdout);
      break;
    }
  fclose(info);
}

int main(void) {
  for (int i = 0; i < 200; ++i) {
    const uint64_t a = draw(), b = draw();
    integers(a, b);
    double x, y;
    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    if (x == x && y == y) floats(x, y);
    floats((double)(int64_t)a / 1024, y != y ? (double)NAN : 0.5);
  }
  cache_blocks();
  uint64_t third = 1;
  __asm__ volatile("csrr %0, hpmcounter3" : "=r"(third));
  check("hpmcounter3", third, 0, 0, 0);
  printf("%d checks, %d wrong\n", checks, wrong);
  probes();
  return wrong != 0;
}
