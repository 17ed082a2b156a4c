// Names of guest addresses, from the program's symbol table; empty for stripped programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class Symbols {
 public:
  struct Symbol {
    Addr address;
    std::uint64_t size;
    mutable std::string name;  ///< demangled; filled when first asked for, see name()
    std::string raw;           ///< as in the file
    bool is_function;
  };
  Symbols() = default;
  /// Addresses [begin, end) that the program has debugging information on.
  struct Source {
    Addr begin, end;
  };
  explicit Symbols(std::vector<Symbol> symbols, std::vector<Source> sources = {});

  /// Address of a symbol by its raw or demangled name, with or without the parameter list.
  std::optional<Addr> find(std::string_view name) const;
  /// Address of a function by its name as in the file.
  std::optional<Addr> find_function(std::string_view raw) const;
  /// The same of several functions, in one pass.
  std::vector<std::optional<Addr>> find_functions(std::span<const std::string> raw) const;
  /// Whether the program has debugging information on `a`. Distributions strip it from their libraries, so
  /// such code is the user's.
  bool has_source(Addr a) const;
  bool empty() const { return symbols_.empty(); }
  /// The demangled name.
  static const std::string& name(const Symbol& symbol);
  /// The symbol that covers `a`, or null; its name is filled.
  const Symbol* at(Addr a) const;
  /// "name+0x12" or "0x1234".
  std::string describe(Addr a) const;
  /// The same of every symbol with bytes in the line, in order.
  std::string describe(LineAddr line) const;

 private:
  std::vector<Symbol> symbols_;  // by address
  std::vector<Source> sources_;  // by address
};

}  // namespace rubato::chip
