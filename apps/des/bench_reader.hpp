// Reads netlists in the .bench format of the ISCAS-85 benchmarks (Brglez, Fujiwara, ISCAS 1985), plain or
// gzip:
//   # comment      INPUT(net)      OUTPUT(net)      net = GATE(net, net, ...)
// GATE is AND, NAND, OR, NOR, XOR, XNOR, NOT, BUF or BUFF, in any case. Nets may be used before they are
// driven. Whatever is malformed, undriven, driven twice or cyclic is refused with file and line.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "apps/des/circuit.hpp"

namespace rubato::apps {

/// Delays are not set. @throws InputError
Circuit read_bench(const std::string& path);

}  // namespace rubato::apps
