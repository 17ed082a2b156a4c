// Reads netlists in the .bench format of the ISCAS-85 and ISCAS-89 benchmarks (Brglez and others, ISCAS 1985
// and 1989), plain or gzip:
//   # comment      INPUT(net)      OUTPUT(net)      net = GATE(net, net, ...)      net = DFF(net)
// GATE is AND, NAND, OR, NOR, XOR, XNOR (NXOR), NOT (INV), BUF or BUFF, in any case. As ABC and mockturtle
// write them, also:
//   net = LUT 0x8 (net, net)       net = vdd       net = gnd       net = DFF0(net)       net = DFF1(net)
//   net = DFFRSE( net, gnd, gnd, gnd, gnd )        net = GATE(net, gnd)
// A table becomes the gate that has it, else a sum of products, whose inner nets are named `net=...`. DFF0
// and DFF1 begin at 0 and 1, others as the caller says. Nets may be used before they are driven. A netlist
// that is malformed, or has a net that is undriven, driven twice, or on a cycle without a flip-flop, is
// refused with file and line.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "apps/des/circuit.hpp"

namespace rubato::apps {

/// State, before the first vector, of the flip-flops for which the file says none.
enum class InitialState { zeros, ones, random };

/// Delays are not set. `seed` is that of random states. @throws InputError
Circuit read_bench(const std::string& path, InitialState initial = InitialState::zeros,
                   std::uint64_t seed = 0);

}  // namespace rubato::apps
