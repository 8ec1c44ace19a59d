// The manual page, made from the table of verbs.
#ifndef TESSERA_CLI_MAN_PAGE_H_
#define TESSERA_CLI_MAN_PAGE_H_

#include <span>
#include <string>
#include <string_view>

#include "tessera/cli/verb.h"

namespace tessera::cli {

// tessera(1) in the macros of man(7), ASCII only.
std::string ManPage(std::span<const Verb> verbs, std::string_view version);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_MAN_PAGE_H_
