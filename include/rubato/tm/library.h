/* librubato_tm: functions of libc that transactions may call, in C and C++ (T54, T55). Outside of
   transactions each is libc's function; inside, the compiler calls a clone that reads and writes by barriers.
   Works on GCC's libitm and on librubato_itm. docs/transactions.md says what is deferred until commit, and
   what is not supported. */
/* SPDX-License-Identifier: MIT */
#ifndef RUBATO_TM_LIBRARY_H
#define RUBATO_TM_LIBRARY_H

#include <semaphore.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#if defined(__GNUC__) && !defined(__clang__)
/** A function that transactions may call, and that is then instrumented. */
#define RUBATO_TM_SAFE __attribute__((transaction_safe))
/** A function that transactions may call as it is. */
#define RUBATO_TM_PURE __attribute__((transaction_pure))
#else /* Clang has no transactions. */
#define RUBATO_TM_SAFE
#define RUBATO_TM_PURE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Memory and strings: as libc's functions without `tm_`. */
/**@{*/
RUBATO_TM_SAFE int tm_memcmp(const void* a, const void* b, size_t n);
RUBATO_TM_SAFE void* tm_memchr(const void* p, int c, size_t n);
RUBATO_TM_SAFE void* tm_memcpy(void* to, const void* from, size_t n);
RUBATO_TM_SAFE void* tm_memmove(void* to, const void* from, size_t n);
RUBATO_TM_SAFE void* tm_memset(void* p, int c, size_t n);
RUBATO_TM_SAFE size_t tm_strlen(const char* s);
RUBATO_TM_SAFE size_t tm_strnlen(const char* s, size_t n);
RUBATO_TM_SAFE int tm_strcmp(const char* a, const char* b);
RUBATO_TM_SAFE int tm_strncmp(const char* a, const char* b, size_t n);
RUBATO_TM_SAFE char* tm_strchr(const char* s, int c);
RUBATO_TM_SAFE char* tm_strncpy(char* to, const char* from, size_t n);
RUBATO_TM_SAFE char* tm_strncat(char* to, const char* from, size_t n);
RUBATO_TM_SAFE void* tm_realloc(void* p, size_t n);
/**@}*/

/** Numbers and characters: as libc's functions without `tm_`. */
/**@{*/
RUBATO_TM_SAFE long tm_strtol(const char* s, char** end, int base);
RUBATO_TM_SAFE unsigned long tm_strtoul(const char* s, char** end, int base);
RUBATO_TM_SAFE long long tm_strtoll(const char* s, char** end, int base);
RUBATO_TM_SAFE unsigned long long tm_strtoull(const char* s, char** end, int base);
RUBATO_TM_SAFE double tm_strtod(const char* s, char** end);
RUBATO_TM_SAFE int tm_atoi(const char* s);
RUBATO_TM_PURE int tm_isspace(int c);
RUBATO_TM_PURE int tm_isdigit(int c);
RUBATO_TM_PURE int tm_tolower(int c);
RUBATO_TM_PURE uint16_t tm_htons(uint16_t x);
RUBATO_TM_PURE uint32_t tm_htonl(uint32_t x);
RUBATO_TM_PURE uint16_t tm_ntohs(uint16_t x);
RUBATO_TM_PURE uint32_t tm_ntohl(uint32_t x);
/**@}*/

/** Printing into memory. In transactions all conversions but those of wide characters and with numbered
   arguments, which end the program. */
/**@{*/
RUBATO_TM_SAFE int tm_snprintf(char* to, size_t n, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
RUBATO_TM_SAFE int tm_vsnprintf(char* to, size_t n, const char* format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
/**@}*/

/** Output of the program: formatted or copied at the call, done after the outermost commit, in this order
   within a thread. The answers are those of success. */
/**@{*/
RUBATO_TM_SAFE int tm_fprintf(FILE* to, const char* format, ...) __attribute__((format(printf, 2, 3)));
RUBATO_TM_SAFE void tm_perror(const char* s);
RUBATO_TM_SAFE ssize_t tm_write(int file, const void* p, size_t n);
RUBATO_TM_SAFE int tm_sem_post(sem_t* semaphore);
RUBATO_TM_SAFE int tm_eventfd_signal(int file, uint64_t value);
/**@}*/

/** At once, in transactions too: what such code sees is true, since no attempt ever sees an inconsistent
 * state. */
/**@{*/
RUBATO_TM_PURE void tm_abort(void) __attribute__((noreturn));
RUBATO_TM_PURE void tm_assert_failed(const char* condition, const char* file, int line)
    __attribute__((noreturn));
#define tm_assert(condition) ((condition) ? (void)0 : tm_assert_failed(#condition, __FILE__, __LINE__))
/**@}*/

/** Deferred actions (T58). Outside of transactions on_commit runs f at once, and on_abort does nothing.
   f is called outside of any transaction, on_commit's in the order of calls, on_abort's in the reverse one.
 */
/**@{*/
RUBATO_TM_SAFE void tm_on_commit(void (*f)(void*), void* argument);
RUBATO_TM_SAFE void tm_on_abort(void (*f)(void*), void* argument);
/**@}*/
/** A promise of the outermost transaction: it makes no shared memory private, neither by what it takes out of
   shared structures nor by freeing (which is put off). Its commit then waits for no other transaction. 1 if
   the library knows of it, 0 on GCC's libitm, where it changes nothing. */
RUBATO_TM_PURE int tm_makes_nothing_private(void);
/** 1 in a transaction, else 0. */
RUBATO_TM_PURE int tm_in_transaction(void);

#ifdef __cplusplus
}
#endif
#endif
