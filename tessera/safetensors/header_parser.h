// The JSON text of a header, as values; whether they fit together is Validate's to say.
#ifndef TESSERA_SAFETENSORS_HEADER_PARSER_H_
#define TESSERA_SAFETENSORS_HEADER_PARSER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/safetensors/header.h"

namespace tessera::safetensors {

// The name that no tensor can have.
inline constexpr std::string_view kMetadataMember = "__metadata__";

// Tensors in the order of the text.  InvalidArgument with tensor, member and byte for text that is
// no JSON, or not of that form.  Whether it is UTF-8 is not looked at.
absl::StatusOr<Header> ParseHeader(std::string_view text);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_HEADER_PARSER_H_
