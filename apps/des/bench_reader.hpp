// Reads netlists in the .bench format of the ISCAS-85 benchmarks (Brglez, Fujiwara, ISCAS 1985), plain or
// gzip:
//   # comment      INPUT(net)      OUTPUT(net)      net = GATE(net, net, ...)
// GATE is AND, NAND, OR, NOR, XOR, XNOR, NOT, BUF or BUFF, in any case. As ABC and mockturtle write them,
// also:
//   net = LUT 0x8 (net, net)       net = vdd       net = gnd
// A table becomes the gate that has it, else a sum of products, whose inner nets are named `net=...`. Nets
// may be used before they are driven. Whatever is malformed, undriven, driven twice or cyclic is refused with
// file and line.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "apps/des/circuit.hpp"

namespace rubato::apps {

/// Delays are not set. @throws InputError
Circuit read_bench(const std::string& path);

}  // namespace rubato::apps
