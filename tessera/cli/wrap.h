// Text in lines of a width.
#ifndef TESSERA_CLI_WRAP_H_
#define TESSERA_CLI_WRAP_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "tessera/cli/terminal.h"

namespace tessera::cli {

// How wide a paragraph may be: as the terminal, but no wider than is good to read.
size_t ParagraphWidth(const Terminal& terminal);

// Words in lines of at most `width`, each after `indent` blanks; blank lines stay.  A word that is
// too long has a line of its own.
std::string Wrapped(std::string_view text, size_t indent, size_t width);

// A command for a shell: a line that goes on in the next one ends with a backslash, so that it can
// be copied as it is.  Blanks between quotes are kept together.
std::string WrappedCommand(std::string_view command, size_t indent, size_t width);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_WRAP_H_
