// Memory that generated programs share, and what they do by functions: types that are passed and returned by
// value, of sizes for one register, two, and memory. tests/system/tm_generated.py makes the programs.
// SPDX-License-Identifier: MIT
#pragma once

using Word = unsigned long;

#define SAFE __attribute__((transaction_safe))
#define APART __attribute__((transaction_safe, noinline))

struct Pair {
  unsigned a;
  short b;
};
struct Triple {
  Word a;
  unsigned char b;
  unsigned short c;
};
struct Mixed {
  signed char c;
  long d;
  unsigned short e;
  double f;  ///< small whole numbers only, so that it is exact
};
struct Wide {
  Word v[5];
};
struct Shared {
  Word w[12];
  unsigned char b[16];
  short h[8];
  Pair p[3];
  Triple t[3];
  Mixed m[2];
  Wide v[2];
};
/// An iterator, as libraries pass them: by value.
struct Cursor {
  Word* at;
  Word* end;
  SAFE Word read() const { return at == end ? 7 : *at; }
  SAFE Cursor next(Word n) const { return {at + n % static_cast<Word>(end - at + 1), end}; }
};

/// Whether this thread's program runs in turn (tests compare with that), or in transactions.
struct Program {
  const char* name;
  Word (*transactional)(Shared*, Word);
  Word (*serial)(Shared*, Word);
  bool cancels_nested;
};

/// In the middle of a transaction: lets the harness's other thread run, if that is under way.
__attribute__((transaction_pure)) void let_other_run();
/// Around code outside of transactions, whose accesses would race with those of the other thread. A program
/// may return between the two.
void keep_other_out();
void let_other_in();

SAFE inline Word value_of(Pair p) { return p.a + 3 * static_cast<Word>(p.b); }
SAFE inline Word value_of(Triple t) { return t.a ^ (t.b + 256ul * t.c); }
SAFE inline Word value_of(Mixed m) {
  return static_cast<Word>(m.d) + static_cast<Word>(m.c) + m.e + static_cast<Word>(m.f);
}
SAFE inline Word value_of(const Wide& w) {
  return w.v[0] + w.v[1] * 3 + w.v[2] * 5 + w.v[3] * 7 + w.v[4] * 9;
}

APART static Word value_apart(Pair p) { return value_of(p) + 1; }
APART static Word value_apart(Triple t) { return value_of(t) + 1; }
APART static Word value_apart(Mixed m) { return value_of(m) + 1; }
APART static Word value_apart(Wide w) { return value_of(w) + 1; }

APART static Pair changed(Pair p, Word k) {
  p.a += static_cast<unsigned>(k), p.b = static_cast<short>(p.b ^ static_cast<short>(k));
  return p;
}
APART static Triple changed(Triple t, Word k) {
  t.a += k, t.b = static_cast<unsigned char>(t.b + k), t.c = static_cast<unsigned short>(t.c ^ k);
  return t;
}
SAFE inline Mixed changed(Mixed m, Word k) {
  m.d ^= static_cast<long>(k >> 3), m.c = static_cast<signed char>(k),
                                    m.e = static_cast<unsigned short>(m.e + k);
  m.f = static_cast<double>(k % 1000);
  return m;
}
APART static Wide changed(Wide w, Word k) {
  for (int i = 0; i < 5; ++i) w.v[i] = w.v[(i + 1) % 5] + (k >> i);
  return w;
}
APART static Cursor after(Cursor c, Word n) { return c.next(n); }
APART static Word read_by_value(Cursor c) { return c.read(); }

/// A function with a transaction of its own. GCC may confuse the transactions of a function into which it has
/// inlined such a one, so that happens on request alone.
template <class T>
#ifdef INLINED_TRANSACTIONS
SAFE inline T add_to(T& where, Word k) {
#else
APART T add_to(T& where, Word k) {
#endif
  __transaction_atomic { where = static_cast<T>(where + k); }
  return where;
}
APART static Word spread(Shared* s, Word k, int depth) {
  s->w[k % 12] += k, s->b[k % 16] = static_cast<unsigned char>(k);
  if (depth == 0) return s->h[k % 8] + k;
  const Word deeper = spread(s, k * 5 + 1, depth - 1);
  return deeper ^ s->w[(k + 5) % 12];
}
