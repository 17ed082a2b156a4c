// Answers of gperftools' configuration for guest programs: static, RISC-V, GCC, the GNU C library. As its own
// configure finds them, as far as libtcmalloc_minimal asks.
// SPDX-License-Identifier: MIT
#pragma once

#define GPERFTOOLS_CONFIG_H_ 1
#define PERFTOOLS_DLL_DECL

#define HAVE_DECL_CFREE 0
#define HAVE_DECL_MEMALIGN 1
#define HAVE_DECL_NANOSLEEP 1
#define HAVE_DECL_POSIX_MEMALIGN 1
#define HAVE_DECL_PVALLOC 1
#define HAVE_DECL_SLEEP 1
#define HAVE_DECL_VALLOC 1

#define HAVE_FCNTL_H 1
#define HAVE_FEATURES_H 1
#define HAVE_FORK 1
#define HAVE_GETEUID 1
#define HAVE_INTTYPES_H 1
#define HAVE_MALLOC_H 1
#define HAVE_MMAP 1
#define HAVE_POLL_H 1
#define HAVE_PROGRAM_INVOCATION_NAME 1
#define HAVE_PTHREAD 1
#define HAVE_SBRK 1
#define HAVE_SCHED_H 1
#define HAVE_STDINT_H 1
#define HAVE_STRUCT_MALLINFO 1
#define HAVE_SYS_CDEFS_H 1
#define HAVE_SYS_PRCTL_H 1
#define HAVE_SYS_SOCKET_H 1
#define HAVE_SYS_SYSCALL_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_WAIT_H 1
#define HAVE_TLS 1
#define HAVE_UNISTD_H 1
#define HAVE___ATTRIBUTE__ 1
#define HAVE___ATTRIBUTE__ALIGNED_FN 1
#define HAVE___ENVIRON 1

#define ENABLE_ALIGNED_NEW_DELETE 1
#define ENABLE_SIZED_DELETE 1
