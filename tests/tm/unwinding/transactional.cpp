// SPDX-License-Identifier: MIT
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "program.hpp"

#define SAFE __attribute__((transaction_safe))
#define BEGIN __transaction_atomic {
#define CANCEL __transaction_cancel
#define END }

namespace transactional {
#include "run.inc"
}
