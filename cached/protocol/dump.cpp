// SPDX-License-Identifier: MIT
#include "cached/protocol/dump.hpp"

#include <fmt/format.h>

namespace rubato::cached {

std::string escaped(std::string_view key) {
  std::string text;
  for (const char byte : key) {
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' ||
                       byte == '~';
    if (plain)
      text += byte;
    else
      text += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
  }
  return text;
}

void append_dump_line(Output& output, Dump kind, const ItemReport& report, const Clock& clock) {
  const Item& item = *report.item;
  if (kind == Dump::mgdump) {
    output.append(fmt::format("mg {}\r\n", report.key));
    return;
  }
  output.append(fmt::format("key={} exp={} la={} cas={} fetch={} cls={} size={}\n", escaped(report.key),
                            item.expiry ? clock.wall(item.expiry) : -1, clock.wall(item.time), item.cas(),
                            item.is(Item::kFetched) ? "yes" : "no", item.lru & kClassMask, item.total()));
}

}  // namespace rubato::cached
