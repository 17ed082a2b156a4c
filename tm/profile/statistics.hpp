// The summary at the program's end (T63): RUBATO_ITM_STATS=1, or a file that it is added to.
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::tm {

bool is_summary_wanted();

}  // namespace rubato::tm
