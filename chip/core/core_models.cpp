// The factory of core models. Each model defines its maker, make_NAME_core, in its own source.
// SPDX-License-Identifier: MIT
#include "chip/config/core_models.hpp"

#include "base/check.hpp"
#include "chip/core/core_model.hpp"

namespace rubato::chip {

#define DECLARE_MAKER(name) std::unique_ptr<CoreModel> make_##name##_core(const Config&, PipelineParts&);
RUBATO_CORE_MODELS(DECLARE_MAKER)
#undef DECLARE_MAKER

std::unique_ptr<CoreModel> make_core_model(const Config& config, PipelineParts& parts) {
#define MAKE(name) \
  if (config.core.model == #name) return make_##name##_core(config, parts);
  RUBATO_CORE_MODELS(MAKE)
#undef MAKE
  RUBATO_CHECK(false, "the schema admits the models of the list only");
  return nullptr;
}

void CoreModel::register_stats(StatRegistry&, const std::string&) const {}

}  // namespace rubato::chip
