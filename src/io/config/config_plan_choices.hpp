#pragma once
// What a config says of plans: the sections `training` and `parallelism`.

#include "io/text/map_reader.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

/// The section `training`, into the task; `others_are_right` says whether its model and machine can
/// be held against it.
void read_plan_choices(const YamlEntry& section, bool others_are_right, training::Task& task,
                       InputMessages& messages);

/// The section `parallelism`, a degree for every role.
void read_role_degrees(const YamlEntry& section, training::Task& task, InputMessages& messages);

/// Holds what is given of plans against the model, the machine and each other; `root` is the
/// config that the task was read from without a message.  Accepts it if and only if there is a
/// plan of such degrees, batches and stages; that memory is too small is a result.
void check_plan_choices(const YamlNode& root, const training::Task& task, InputMessages& messages);

}  // namespace dfsearch
