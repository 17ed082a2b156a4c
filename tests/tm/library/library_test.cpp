// Functions of librubato_tm in transactions and outside (T54, T55, T58): the same program on GCC's
// libitm and on ours. Each claim is checked against libc's own function.
// SPDX-License-Identifier: MIT
#include "rubato/tm/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

// A transaction that may cancel itself runs instrumented on every library; the compiler must not know that it
// never does.
bool never = false;

namespace {

int sign(int x) { return (x > 0) - (x < 0); }

/// A page whose end is followed by one that may not be read.
class GuardedPage {
 public:
  GuardedPage()
      : page_(static_cast<char*>(
            ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::mprotect(page_ + 4096, 4096, PROT_NONE);
  }
  ~GuardedPage() { ::munmap(page_, 8192); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;
  /// The last `bytes` of the page.
  char* last(std::size_t bytes) { return page_ + 4096 - bytes; }

 private:
  char* page_;
};

TEST(TmLibrary, StringsAreReadAtAnyAlignmentAndNeverBeyondTheirPage) {
  GuardedPage a, b;
  for (std::size_t length = 0; length < 40; ++length) {
    for (std::size_t other = 0; other < 20; ++other) {
      char *const s = a.last(length + 1), *const t = b.last(other + 1);
      std::memset(s, 'x', length);
      std::memset(t, 'x', other);
      s[length] = t[other] = '\0';
      std::size_t found = 0, limited = 0;
      int order = 0, first = 0;
      const char* end = nullptr;
      __transaction_atomic {
        found = tm_strlen(s);
        limited = tm_strnlen(s, 7);
        order = tm_strcmp(s, t);
        first = tm_strncmp(s, t, 9);
        end = tm_strchr(s, '\0');
      }
      EXPECT_EQ(found, length);
      EXPECT_EQ(limited, std::min<std::size_t>(length, 7));
      EXPECT_EQ(sign(order), sign(std::strcmp(s, t)));
      EXPECT_EQ(sign(first), sign(std::strncmp(s, t, 9)));
      EXPECT_EQ(end, s + length);
    }
  }
}

TEST(TmLibrary, MemoryIsComparedAndSearchedAsByUnsignedBytes) {
  const char a[] = "ab\0\x80z", b[] = "ab\0\x7fz";
  int order = 0, equal = 1, none = 1;
  const void *found = nullptr, *lost = a;
  __transaction_atomic {
    order = tm_memcmp(a, b, 5);
    equal = tm_memcmp(a, b, 3);
    none = tm_memcmp(a, b, 0);
    found = tm_memchr(a, 0x80, 5);
    lost = tm_memchr(a, 'z', 4);
  }
  EXPECT_GT(order, 0);
  EXPECT_EQ(equal, 0);
  EXPECT_EQ(none, 0);
  EXPECT_EQ(found, a + 3);
  EXPECT_EQ(lost, nullptr);
}

TEST(TmLibrary, WhatStringFunctionsWriteIsUndoneByACancel) {
  char to[32] = "before", kept[32] = "left";
  __transaction_atomic {
    tm_strncpy(to, "0123456789", 20);
    tm_memset(kept, 'q', 3);
    tm_strncat(kept, "more", 2);
    tm_memcpy(kept + 10, to, 4);
    tm_memmove(to + 1, to, 8);
    __transaction_cancel;
  }
  EXPECT_STREQ(to, "before");
  EXPECT_STREQ(kept, "left");
  char expected[32] = "before";
  __transaction_atomic {
    tm_strncpy(to, "0123456789", 20);
    tm_memmove(to + 1, to, 8);
    tm_strncat(to, "more", 2);
  }
  std::memcpy(expected, "0123456789\0\0\0\0\0\0\0\0\0", 20);
  std::memmove(expected + 1, expected, 8);
  std::strcat(expected, "mo");
  EXPECT_EQ(std::memcmp(to, expected, sizeof to), 0);
}

TEST(TmLibrary, ReallocKeepsWhatWasThereAndIsUndoneByACancel) {
  char* p = static_cast<char*>(std::malloc(10));
  std::strcpy(p, "123456789");
  char* const first = p;
  __transaction_atomic {
    p = static_cast<char*>(tm_realloc(p, 100'000));
    p[0] = 'x';
    __transaction_cancel;
  }
  EXPECT_EQ(p, first);
  EXPECT_STREQ(p, "123456789");
  __transaction_atomic { p = static_cast<char*>(tm_realloc(p, 100'000)); }
  EXPECT_STREQ(p, "123456789");
  __transaction_atomic { p = static_cast<char*>(tm_realloc(p, 0)); }
  EXPECT_EQ(p, nullptr);
}

TEST(TmLibrary, NumbersAreLibcsWithTheirEndsAndErrno) {
  for (const char* text :
       {"42", "  -17x", "0x7fQ", "", "abc", "99999999999999999999", "-9223372036854775808", "077"}) {
    for (const int base : {0, 10, 16}) {
      char *end = nullptr, *expected_end = nullptr;
      long value = 0;
      unsigned long natural = 0;
      errno = 0;
      __transaction_atomic {
        value = tm_strtol(text, &end, base);
        natural = tm_strtoul(text, nullptr, base);
      }
      const int error = errno;
      errno = 0;
      EXPECT_EQ(value, std::strtol(text, &expected_end, base)) << text;
      EXPECT_EQ(end, expected_end) << text;
      EXPECT_EQ(natural, std::strtoul(text, nullptr, base)) << text;
      EXPECT_EQ(error, errno) << text;
    }
  }
  double real = 0;
  char* end = nullptr;
  long long wide = 0;
  unsigned long long natural = 0;
  int small = 0;
  const char* const text = "2.5e3kg";
  __transaction_atomic {
    real = tm_strtod(text, &end);
    wide = tm_strtoll("-5", nullptr, 10);
    natural = tm_strtoull("5", nullptr, 10);
    small = tm_atoi("123abc");
  }
  EXPECT_EQ(real, 2500);
  EXPECT_EQ(end, text + 5);
  EXPECT_EQ(wide, -5);
  EXPECT_EQ(natural, 5u);
  EXPECT_EQ(small, 123);
}

TEST(TmLibrary, CharactersAndByteOrderArePure) {
  bool are_right = false;
  __transaction_atomic {
    are_right = tm_isspace(' ') && !tm_isspace('x') && tm_isdigit('7') && tm_tolower('Q') == 'q' &&
                tm_ntohs(tm_htons(0x1234)) == 0x1234 && tm_htonl(0x01020304u) == 0x04030201u &&
                tm_ntohl(tm_htonl(7)) == 7;
  }
  EXPECT_TRUE(are_right);
}

template <class... Arguments>
void expect_printed(const char* format, Arguments... arguments) {
  char expected[256], found[256];
  std::memset(expected, '#', sizeof expected);
  std::memset(found, '#', sizeof found);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
  for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{8}, sizeof found}) {
    int size = 0;
    const int expected_size = std::snprintf(expected, room, format, arguments...);
    __transaction_atomic { size = tm_snprintf(found, room, format, arguments...); }
    EXPECT_EQ(size, expected_size) << format;
    EXPECT_EQ(std::memcmp(found, expected, sizeof found), 0) << format << ": " << found;
  }
#pragma GCC diagnostic pop
}

TEST(TmLibrary, PrintingIsLibcs) {
  expect_printed("plain");
  expect_printed("%d %i|%5d|%-5d|%05d|%+d|% d", 1, -2, 3, 4, 5, 6, 7);
  expect_printed("%u %o %x %X %#x", 1u, 8u, 255u, 255u, 255u);
  expect_printed("%hhd %hd %ld %lld %zu %jd %td", 300, 70'000, LONG_MIN, LLONG_MAX, std::size_t{9},
                 std::intmax_t{-1}, std::ptrdiff_t{5});
  expect_printed("%*d|%-*d|%.*f", 6, 1, 6, 2, 3, 3.14159);
  expect_printed("%*d|%.*s|", -6, 1, 2, "abc");
  expect_printed("%f %e %g %a %10.3f %Lf", 1.5, 2.5e10, 0.1, 1.0, 2.0 / 3, 1.25L);
  expect_printed("%s|%10s|%-10s|%.2s|%%|%c", "one", "two", "three", "four", 'c');
  expect_printed("%p %p", static_cast<void*>(nullptr), reinterpret_cast<void*>(0x1234));
  expect_printed("%.200s%s", "long", "texts that do not fit into eight bytes");
}

TEST(TmLibrary, ALargeTextIsPrintedWithoutAGuess) {
  const std::string large(50'000, 'y');
  std::vector<char> to(60'000);
  const char* const text = large.c_str();
  char* const found = to.data();
  int size = 0;
  __transaction_atomic { size = tm_snprintf(found, 60'000, "<%s>", text); }
  EXPECT_EQ(size, 50'002);
  EXPECT_EQ(std::string(found), "<" + large + ">");
}

TEST(TmLibrary, PrintedTextIsWhatTheTransactionHasStored) {
  char name[16] = "old", line[32] = "";
  int end = 0;
  __transaction_atomic {
    name[0] = 'g';
    tm_snprintf(line, sizeof line, "%s%n!", name, &end);
  }
  EXPECT_STREQ(line, "gld!");
  EXPECT_EQ(end, 3);
}

/// Contents of a pipe.
std::string drained(int file) {
  char buffer[256];
  const ssize_t size = ::read(file, buffer, sizeof buffer);
  return {buffer, size < 0 ? 0 : static_cast<std::size_t>(size)};
}

TEST(TmLibrary, OutputLeavesAfterCommitInOrderAndNotAtAllAfterACancel) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  std::FILE* const stream = ::fdopen(ends[1], "w");
  std::setvbuf(stream, nullptr, _IONBF, 0);
  const int file = ends[1];
  int cancelled = 0;
  __transaction_atomic {
    tm_fprintf(stream, "never %d\n", 1);
    tm_write(file, "never", 5);
    ++cancelled;
    __transaction_cancel;
  }
  EXPECT_EQ(drained(ends[0]), "");
  int printed = 0;
  ssize_t written = 0;
  errno = ENOENT;
  __transaction_atomic {
    printed = tm_fprintf(stream, "%d,", 12);
    written = tm_write(file, "raw,", 4);
    tm_fprintf(stream, "%s", "end");
  }
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(printed, 3);
  EXPECT_EQ(written, 4);
  EXPECT_EQ(drained(ends[0]), "12,raw,end");
  EXPECT_EQ(tm_fprintf(stream, "%s", "outside"), 7);
  EXPECT_EQ(drained(ends[0]), "outside");
  std::fclose(stream);
  ::close(ends[0]);
}

TEST(TmLibrary, ErrorsAreSaidAsByPerror) {
  errno = ENOENT;
  ::testing::internal::CaptureStderr();
  std::perror("open");
  const std::string expected = ::testing::internal::GetCapturedStderr();
  ::testing::internal::CaptureStderr();
  errno = ENOENT;
  __transaction_atomic { tm_perror("open"); }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), expected);
}

TEST(TmLibrary, SemaphoresAndEventsAreSignalledAfterCommitOnly) {
  sem_t semaphore;
  ::sem_init(&semaphore, 0, 0);
  const int event = ::eventfd(0, EFD_NONBLOCK);
  int x = 0;
  __transaction_atomic {
    ++x;
    tm_sem_post(&semaphore);
    tm_eventfd_signal(event, 3);
    __transaction_cancel;
  }
  eventfd_t count = 0;
  EXPECT_NE(::sem_trywait(&semaphore), 0);
  EXPECT_NE(::eventfd_read(event, &count), 0);
  __transaction_atomic {
    ++x;
    tm_sem_post(&semaphore);
    tm_eventfd_signal(event, 3);
  }
  EXPECT_EQ(::sem_trywait(&semaphore), 0);
  EXPECT_EQ(::eventfd_read(event, &count), 0);
  EXPECT_EQ(count, 3u);
  ::close(event);
  ::sem_destroy(&semaphore);
}

std::string actions;
void note(void* text) { actions += static_cast<const char*>(text); }
char kFirst[] = "1", kSecond[] = "2", kThird[] = "3";

TEST(TmLibrary, ActionsRunAfterCommitOrAfterAbort) {
  actions.clear();
  int x = 0, was_inside = 0;
  __transaction_atomic {
    was_inside = tm_in_transaction();
    ++x;
    tm_on_commit(note, kFirst);
    tm_on_commit(note, kSecond);
    tm_on_abort(note, kThird);
  }
  EXPECT_TRUE(was_inside);
  EXPECT_FALSE(tm_in_transaction());
  EXPECT_EQ(actions, "12");
  actions.clear();
  __transaction_atomic {
    ++x;
    tm_on_commit(note, kFirst);
    tm_on_abort(note, kSecond);
    tm_on_abort(note, kThird);
    __transaction_cancel;
  }
  EXPECT_EQ(actions, "32");
  actions.clear();
  tm_on_commit(note, kFirst);
  tm_on_abort(note, kSecond);
  EXPECT_EQ(actions, "1");
}

TEST(TmLibrary, OutputOfAnIrrevocableTransactionDoesNotOvertakeWhatWasDeferred) {
  actions.clear();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const int file = ends[1];
  __transaction_relaxed {
    tm_write(file, "a", 1);
    ::getpid();  // not safe: becomes irrevocable
    tm_write(file, "b", 1);
  }
  EXPECT_EQ(drained(ends[0]), "ab");
  ::close(ends[0]);
  ::close(ends[1]);
}

typedef std::size_t (*Length)(const char*) __attribute__((transaction_safe));
Length length_by_pointer = tm_strlen;

TEST(TmLibrary, ClonesAreFoundThroughPointers) {
  std::size_t length = 0;
  __transaction_atomic { length = length_by_pointer("seven.."); }
  EXPECT_EQ(length, 7u);
}

TEST(TmLibraryDeathTest, AnAssertionInATransactionNamesItsPlace) {
  int x = 0;
  EXPECT_DEATH(
      __transaction_atomic { tm_assert(++x == 2); },
      "library_test.cpp:[0-9]+: assertion '\\+\\+x == 2' failed");
  EXPECT_DEATH(
      {
        char to[8];
        __transaction_atomic {
          tm_snprintf(to, sizeof to, "%1$d", 1);
          if (never) __transaction_cancel;
        }
      },
      "the format \"%1\\$d\" has");
}

TEST(TmLibrary, ManyThreadsSeeWholeStringsOnly) {
  static char shared[64] = "0000000000000000000000000";
  constexpr int kRounds = 2'000;
  std::vector<std::thread> threads;
  std::vector<int> torn(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &torn] {
      for (int i = 0; i < kRounds; ++i) {
        char copy[64];
        const int digit = (i + t) % 10;
        __transaction_atomic {
          tm_strncpy(copy, shared, sizeof copy);
          tm_memset(shared, '0' + digit, 25);
        }
        torn[static_cast<std::size_t>(t)] += std::string(copy) != std::string(25, copy[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, std::vector<int>(4, 0));
}

TEST(Promises, AreTakenByOurLibraryAlone) {
  const bool is_ours = ::dlsym(RTLD_DEFAULT, "rubato_tm_no_privatization") != nullptr;
  static int value = 0;
  int answer = -1;
  __transaction_atomic {
    answer = tm_makes_nothing_private();
    ++value;
  }
  EXPECT_EQ(answer, is_ours ? 1 : 0);
  EXPECT_EQ(value, 1);
}

}  // namespace
