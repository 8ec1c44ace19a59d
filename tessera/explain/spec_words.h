// Specs, meshes and corrections in words.
#ifndef TESSERA_EXPLAIN_SPEC_WORDS_H_
#define TESSERA_EXPLAIN_SPEC_WORDS_H_

#include <string>

#include "tessera/core/shape.h"
#include "tessera/mesh/correction.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera::explain {

// As the command line takes it: "dp=2,tp=4".
std::string MeshWord(const mesh::Mesh& mesh);

// The axes of an entry with their sizes: "tp=4", "fsdp=2 x tp=4".
std::string AxesText(const mesh::SpecEntry& entry, const mesh::Mesh& mesh);

// "dimension 0 of size 6 is no multiple of tp=4", "there is no dimension 2 to split over tp=4".
std::string CorrectionText(const mesh::Correction& correction, DimsView shape,
                           const mesh::Mesh& mesh);

// With two digits after the point.
std::string Rounded(double value);

}  // namespace tessera::explain

#endif  // TESSERA_EXPLAIN_SPEC_WORDS_H_
