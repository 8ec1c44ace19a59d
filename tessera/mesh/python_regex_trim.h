// Shortens a pattern without changing the texts in which a search finds it.
#ifndef TESSERA_MESH_PYTHON_REGEX_TRIM_H_
#define TESSERA_MESH_PYTHON_REGEX_TRIM_H_

#include "tessera/mesh/python_regex_syntax.h"

namespace tessera::mesh {

// Drops from both ends of each alternative what can also match nothing: .*a.* is found where a
// is.  Leaves a pattern with references alone, for they need what was captured.
RegexSyntax TrimForSearch(RegexSyntax syntax);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_PYTHON_REGEX_TRIM_H_
