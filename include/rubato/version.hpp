// Version of the task model's headers. Nothing here, and no other macro, changes the layout of a public type.
// SPDX-License-Identifier: MIT
#pragma once

/// The version, as docs and packages have it.
///@{
#define RUBATO_VERSION_MAJOR 0
#define RUBATO_VERSION_MINOR 1
#define RUBATO_VERSION_PATCH 0
///@}
/// One number to compare: 10000 * major + 100 * minor + patch.
#define RUBATO_VERSION (10000 * RUBATO_VERSION_MAJOR + 100 * RUBATO_VERSION_MINOR + RUBATO_VERSION_PATCH)
