// The tables of options as text: for a terminal, for manual pages and for docs/cached-options.md.
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::cached {

/// The options that this build takes. tools/man makes the manual page of it.
void print_help();
/// All options, in tables of Markdown. tools/docs makes the page of them, so no build option changes them.
void print_tables();

}  // namespace rubato::cached
