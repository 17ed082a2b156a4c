// SPDX-License-Identifier: MIT
#include "workloads/web/request.hpp"

#include <cstdio>
#include <string>

namespace rubato::workloads::web {
namespace {

/// Reads a number at the beginning of `text` and takes it off.
bool take_number(std::string_view& text, unsigned& number) {
  std::size_t i = 0;
  number = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
    number = number * 10 + static_cast<unsigned>(text[i] - '0');
  text.remove_prefix(i);
  return i > 0;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (text.substr(0, word.size()) != word) return false;
  text.remove_prefix(word.size());
  return true;
}

/// Header names are compared without regard to case.
bool is_header(std::string_view name, std::string_view lower) {
  if (name.size() != lower.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i)
    if ((name[i] | 0x20) != lower[i]) return false;
  return true;
}

}  // namespace

void write_request(RequestText& to, const Site& site, const Clients& clients, Rng& rng) {
  const bool is_built = rng.below(100) < clients.built;
  const std::string path =
      is_built ? "/page/" + std::to_string(rng.below(clients.templates)) : Site::path(site.draw(rng));
  static constexpr std::array<const char*, 3> kAgents{"Mozilla/4.0 (compatible; MSIE 5.5; Windows NT 5.0)",
                                                      "Mozilla/5.0 (X11; U; SunOS sun4u; en-US)",
                                                      "Lynx/2.8.4rel.1"};
  to.size = static_cast<unsigned>(std::snprintf(
      to.text.data(), to.text.size(),
      "GET %s HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: %s\r\nAccept: text/html, image/gif, */*\r\n"
      "Cookie: user=%u\r\nConnection: %s\r\n\r\n",
      path.c_str(), kAgents[rng.below(kAgents.size())], static_cast<unsigned>(rng.below(clients.users)),
      rng.below(6) != 0 ? "keep-alive" : "close"));
}

bool parse_request(std::string_view text, Request& to) {
  to = {};
  if (!take_word(text, "GET ")) return false;
  const std::size_t end_of_path = text.find(' ');
  if (end_of_path == std::string_view::npos) return false;
  to.path = text.substr(0, end_of_path);
  text.remove_prefix(end_of_path);
  if (!take_word(text, " HTTP/1.") || !(take_word(text, "1") || take_word(text, "0")) ||
      !take_word(text, "\r\n"))
    return false;
  to.path = to.path.substr(0, to.path.find('?'));
  if (std::string_view rest = to.path; take_word(rest, "/page/"))
    to.is_built = take_number(rest, to.page) && rest.empty();
  while (!take_word(text, "\r\n")) {
    const std::size_t colon = text.find(':'), end = text.find("\r\n");
    if (colon == std::string_view::npos || end == std::string_view::npos || colon > end) return false;
    const std::string_view name = text.substr(0, colon);
    std::string_view value = text.substr(colon + 1, end - colon - 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    ++to.headers;
    if (is_header(name, "connection")) to.keeps_alive = value == "keep-alive";
    if (is_header(name, "cookie") && (!take_word(value, "user=") || !take_number(value, to.user)))
      return false;
    text.remove_prefix(end + 2);
  }
  return true;
}

}  // namespace rubato::workloads::web
