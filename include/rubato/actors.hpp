// Actors: objects with a mailbox, whose turns are tasks of the engine. Native and serial; see docs/actors.md.
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/engine/select.hpp"
#if defined(RUBATO_ENGINE_CHIP)
#error \
    "actors run on the native and serial engines; on the chip write tasks with the actor's number as locale (.on)"
#else
#include "rubato/actor/actor.hpp"
#include "rubato/actor/ask.hpp"
#include "rubato/actor/behavior.hpp"
#include "rubato/actor/bound.hpp"
#include "rubato/actor/channel.hpp"
#include "rubato/actor/dead_letters.hpp"
#include "rubato/actor/events.hpp"
#include "rubato/actor/living.hpp"
#include "rubato/actor/manual_clock.hpp"
#include "rubato/actor/names.hpp"
#include "rubato/actor/probe.hpp"
#include "rubato/actor/single_steps.hpp"
#include "rubato/actor/spawn.hpp"
#include "rubato/actor/supervision.hpp"
#include "rubato/actor/timer.hpp"
#include "rubato/rubato.hpp"
#endif
