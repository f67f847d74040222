// Tables in columns, for terminals and for pipes.
#pragma once

#include <string>
#include <vector>

#include "cli/view.h"

namespace moulin::cli {

enum class Align { kLeft, kRight };
// What gives room when a table is wider than the terminal: kCut is shortened, down to a few
// columns; kWhole is not, because it is copied and pasted, or is a number.
enum class Fit { kCut, kWhole };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  Fit fit = Fit::kCut;  // only of kLeft: the others hold numbers and stay whole
};

struct Cell {
  std::string text;  // made printable by the table
  Ink ink = Ink::kPlain;
};

// Cells of a row stand in the order of the columns; missing ones are empty. Columns are
// as wide as their widest cell, two blanks apart; a column without any text is left out.
// No line is wider than the terminal: first the widest columns are shortened, and at last
// the line ends at the edge.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }
  // With the line of titles; empty without rows.
  std::string text(const View& view) const;

 private:
  std::vector<size_t> widths() const;
  void fit(std::vector<size_t>& widths, const View& view) const;
  bool may_shrink(size_t column, const std::vector<size_t>& widths) const;
  std::string line(const std::vector<Cell>& cells, const std::vector<size_t>& widths, const View& view) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Names and values one below the other, as `show` has them; empty values are left out. A
// value that is too long for the terminal goes on below itself.
class Facts {
 public:
  void add(std::string name, std::string value, Ink ink = Ink::kPlain);
  std::string text(const View& view) const;

 private:
  struct Fact {
    std::string name;
    Cell value;
  };
  std::vector<Fact> facts_;
};

}  // namespace moulin::cli
