// Terminal: what the reader of an output can show.
#ifndef TESSERA_CLI_TERMINAL_H_
#define TESSERA_CLI_TERMINAL_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::cli {

// A value; the default one is a pipe that takes UTF-8.
struct Terminal {
  bool is_terminal = false;
  int columns = 0;  // 0: lines may be of any length
  bool colour = false;
  bool unicode = true;

  // Of a file descriptor, by the environment: NO_COLOR, TERM, COLUMNS, and the locale's character
  // set of LC_ALL, LC_CTYPE or LANG.
  static Terminal Of(int descriptor);
  // The same for a rank: mpirun gives each a terminal of its own, whatever itself writes to.
  static Terminal OfRank(int descriptor);

  std::string Bold(std::string_view text) const { return Painted("1", text); }
  std::string Dim(std::string_view text) const { return Painted("2", text); }
  std::string Red(std::string_view text) const { return Painted("31", text); }
  std::string Green(std::string_view text) const { return Painted("32", text); }
  std::string Yellow(std::string_view text) const { return Painted("33", text); }
  std::string Cyan(std::string_view text) const { return Painted("36", text); }
  // With the parameters of an SGR sequence; as it is where there are no colours.
  std::string Painted(std::string_view parameters, std::string_view text) const;

  // What stands for a part that was left out.
  std::string_view ellipsis() const { return unicode ? "…" : "..."; }
};

// Text from a checkpoint, fit to be shown: control characters and bytes that are not UTF-8 become
// \xNN, so that a name cannot steer the terminal; where it shows ASCII only, others become \u{NN}.
std::string Printable(std::string_view text, const Terminal& terminal);

// How many columns a text takes that Printable has made; sequences of colours take none.
size_t DisplayWidth(std::string_view text);

// Cut in the middle to at most `columns`, so that both ends can be read.
std::string CutMiddle(std::string_view text, size_t columns, const Terminal& terminal);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_TERMINAL_H_
