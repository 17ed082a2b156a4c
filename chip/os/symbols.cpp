// Look-up by address (binary search) and by name; names are demangled when first asked for, since a C++
// program has ten thousands and a run looks at few.
// SPDX-License-Identifier: MIT
#include "chip/os/symbols.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace rubato::chip {
namespace {

std::string demangled(const std::string& raw) {
  if (!raw.starts_with("_Z")) return raw;
  int status = 0;
  char* text = ::abi::__cxa_demangle(raw.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : raw;
  std::free(text);
  return name;
}

// A symbol without a size (hand-written assembly) covers what follows it, but not for ever.
constexpr std::uint64_t kUnsizedReach = 4096;

}  // namespace

Symbols::Symbols(std::vector<Symbol> symbols, std::vector<Source> sources)
    : symbols_(std::move(symbols)), sources_(std::move(sources)) {
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
  std::sort(sources_.begin(), sources_.end(),
            [](const Source& a, const Source& b) { return a.begin < b.begin; });
}

bool Symbols::has_source(Addr a) const {
  const auto after = std::upper_bound(sources_.begin(), sources_.end(), a,
                                      [](Addr address, const Source& s) { return address < s.begin; });
  return after != sources_.begin() && a < std::prev(after)->end;
}

const std::string& Symbols::name(const Symbol& symbol) {
  if (symbol.name.empty()) symbol.name = demangled(symbol.raw);
  return symbol.name;
}

std::optional<Addr> Symbols::find(std::string_view wanted) const {
  for (const Symbol& symbol : symbols_)
    if (symbol.raw == wanted) return symbol.address;
  for (const Symbol& symbol : symbols_) {
    const std::string& full = name(symbol);
    if (full == wanted) return symbol.address;
    // "solve" finds "solve(int)" too: people rarely type parameter lists.
    if (full.starts_with(wanted) && full.size() > wanted.size() && full[wanted.size()] == '(')
      return symbol.address;
  }
  return std::nullopt;
}

std::optional<Addr> Symbols::find_function(std::string_view raw) const {
  for (const Symbol& symbol : symbols_)
    if (symbol.is_function && symbol.raw == raw) return symbol.address;
  return std::nullopt;
}

std::vector<std::optional<Addr>> Symbols::find_functions(std::span<const std::string> raw) const {
  std::vector<std::optional<Addr>> found(raw.size());
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < raw.size(); ++i) places.emplace(raw[i], i);
  for (const Symbol& symbol : symbols_) {
    if (!symbol.is_function) continue;
    const auto place = places.find(symbol.raw);
    if (place != places.end() && !found[place->second]) found[place->second] = symbol.address;
  }
  return found;
}

const Symbols::Symbol* Symbols::at(Addr a) const {
  auto after = std::upper_bound(symbols_.begin(), symbols_.end(), a,
                                [](Addr address, const Symbol& s) { return address < s.address; });
  // Aliases and locals share an address; among those that cover `a` the last with a size wins, functions
  // first.
  const Symbol* best = nullptr;
  Addr nearest = 0;
  for (int looked = 0; after != symbols_.begin() && looked < 64; ++looked) {
    const Symbol& symbol = *--after;
    if (best != nullptr && symbol.address != nearest) break;
    const std::uint64_t reach = symbol.size != 0 ? symbol.size : kUnsizedReach;
    if (a - symbol.address >= reach) continue;
    if (best == nullptr || (symbol.is_function && !best->is_function) ||
        (symbol.size != 0 && best->size == 0)) {
      best = &symbol;
      nearest = symbol.address;
    }
  }
  if (best != nullptr) (void)name(*best);
  return best;
}

std::string Symbols::describe(Addr a) const {
  const Symbol* symbol = at(a);
  if (symbol == nullptr) return fmt::format("{:#x}", a);
  if (a == symbol->address) return name(*symbol);
  return fmt::format("{}+{:#x}", name(*symbol), a - symbol->address);
}

std::string Symbols::describe(LineAddr line) const {
  std::string names;
  const Symbol* last = nullptr;
  for (Addr a = addr_of(line); line_of(a) == line; ++a) {
    const Symbol* const symbol = at(a);
    if (symbol == nullptr || symbol == last) continue;
    names += (last != nullptr ? ", " : "") + describe(a);
    last = symbol;
  }
  return last != nullptr ? names : describe(addr_of(line));
}

}  // namespace rubato::chip
