// Everything that a bot needs.
#pragma once

#include "arbiter/backoff.hpp"       // IWYU pragma: export
#include "arbiter/bot.hpp"           // IWYU pragma: export
#include "arbiter/cli.hpp"           // IWYU pragma: export
#include "arbiter/client.hpp"        // IWYU pragma: export
#include "arbiter/credentials.hpp"   // IWYU pragma: export
#include "arbiter/errors.hpp"        // IWYU pragma: export
#include "arbiter/hooks.hpp"         // IWYU pragma: export
#include "arbiter/local_match.hpp"   // IWYU pragma: export
#include "arbiter/log.hpp"           // IWYU pragma: export
#include "arbiter/opening_book.hpp"  // IWYU pragma: export
#include "arbiter/plain_text.hpp"    // IWYU pragma: export
#include "arbiter/playing.hpp"       // IWYU pragma: export
#include "arbiter/think_time.hpp"    // IWYU pragma: export
#include "arbiter/values.hpp"        // IWYU pragma: export
