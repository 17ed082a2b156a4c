// Marks what a transaction may call without instrumenting it. Such a function reads memory as it is: it may
// read only what no other transaction can be writing at that moment, and changes nothing that a rollback
// would have to restore.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#define RUBATO_CACHED_PURE [[gnu::transaction_pure]]
#else  // Clang has no transactions.
#define RUBATO_CACHED_PURE
#endif
