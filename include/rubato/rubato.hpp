// The task model: everything a program needs. Three engines run it; see task.hpp for the functions.
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/annotations.hpp"
#include "rubato/create_all.hpp"
#include "rubato/errors.hpp"
#include "rubato/group.hpp"
#include "rubato/resource.hpp"
#include "rubato/serial_region.hpp"
#include "rubato/synchronization.hpp"
#include "rubato/task.hpp"
#include "rubato/task_type.hpp"
#include "rubato/tracked.hpp"
#include "rubato/version.hpp"
