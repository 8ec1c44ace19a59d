// Table: rows of text in aligned columns, no wider than the terminal.
#ifndef TESSERA_CLI_TABLE_H_
#define TESSERA_CLI_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tessera/cli/terminal.h"

namespace tessera::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  // Cut in the middle where lines would be too long.  Its cells have no colours.
  bool shrinks = false;
  // Left out, from the greatest number down, where cutting is not enough; 0: never.
  int dispensable = 0;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns.  They are shown as they are, so text from outside goes
  // through Printable first.
  void Add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), false}); }
  // A line below what was added so far, for totals.
  void AddLine() { rows_.push_back({{}, true}); }

  bool empty() const { return rows_.empty(); }
  // Titles, if any column has one, and the rows.
  std::string Text(const Terminal& terminal) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool is_line = false;
  };

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace tessera::cli

#endif  // TESSERA_CLI_TABLE_H_
