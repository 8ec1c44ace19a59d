#include "tessera/cli/table.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace tessera::cli {
namespace {

constexpr size_t kGap = 2;        // between columns
constexpr size_t kNarrowest = 8;  // what a column may be cut to

// Which columns are shown, and how wide each is.
struct Layout {
  std::vector<size_t> shown;
  std::vector<size_t> widths;  // of all columns

  size_t LineWidth() const {
    size_t sum = shown.empty() ? 0 : (shown.size() - 1) * kGap;
    for (size_t column : shown) sum += widths[column];
    return sum;
  }
};

// Takes from the columns that shrink until lines are `columns` wide, or nothing is left to take.
void Shrink(const std::vector<Column>& columns, size_t limit, Layout& layout) {
  for (size_t column : layout.shown) {
    const size_t line = layout.LineWidth();
    if (line <= limit) return;
    if (!columns[column].shrinks || layout.widths[column] <= kNarrowest) continue;
    layout.widths[column] -= std::min(line - limit, layout.widths[column] - kNarrowest);
  }
}

bool DropOne(const std::vector<Column>& columns, Layout& layout) {
  const auto worst = std::max_element(
      layout.shown.begin(), layout.shown.end(),
      [&](size_t a, size_t b) { return columns[a].dispensable < columns[b].dispensable; });
  if (worst == layout.shown.end() || columns[*worst].dispensable == 0) return false;
  layout.shown.erase(worst);
  return true;
}

Layout Fit(const std::vector<Column>& columns, std::vector<size_t> widths, int limit) {
  Layout full;
  full.widths = std::move(widths);
  full.shown.resize(columns.size());
  std::iota(full.shown.begin(), full.shown.end(), 0);
  if (limit <= 0) return full;
  while (true) {
    Layout fitted = full;
    Shrink(columns, static_cast<size_t>(limit), fitted);
    if (fitted.LineWidth() <= static_cast<size_t>(limit) || !DropOne(columns, full)) return fitted;
  }
}

std::string Padded(const std::string& cell, const Column& column, size_t width, bool is_last,
                   const Terminal& terminal) {
  std::string text = column.shrinks ? CutMiddle(cell, width, terminal) : cell;
  const size_t used = DisplayWidth(text);
  const std::string blanks(width > used ? width - used : 0, ' ');
  if (column.align == Align::kRight) return blanks + text;
  return is_last ? text : text + blanks;
}

}  // namespace

std::string Table::Text(const Terminal& terminal) const {
  std::vector<size_t> widths;
  bool titled = false;
  for (const Column& column : columns_) {
    widths.push_back(DisplayWidth(column.title));
    titled = titled || !column.title.empty();
  }
  for (const Row& row : rows_) {
    for (size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row.cells[i]));
    }
  }
  const Layout layout = Fit(columns_, std::move(widths), terminal.columns);

  std::string text;
  const auto add = [&](const auto& cell_of) {
    std::string line;
    for (size_t column : layout.shown) {
      if (!line.empty()) line.append(kGap, ' ');
      line += Padded(cell_of(column), columns_[column], layout.widths[column],
                     column == layout.shown.back(), terminal);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1);
    text += '\n';
  };
  if (titled) add([&](size_t column) { return terminal.Bold(columns_[column].title); });
  for (const Row& row : rows_) {
    if (row.is_line) {
      std::string line;
      for (size_t i = 0; i < layout.LineWidth(); ++i) line += terminal.unicode ? "─" : "-";
      text += terminal.Dim(line) + "\n";
    } else {
      add([&](size_t column) { return row.cells[column]; });
    }
  }
  return text;
}

}  // namespace tessera::cli
