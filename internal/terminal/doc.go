// Package terminal writes for a person: lines that fit the width of the terminal, tables of 80 columns, and colours where the
// terminal has them.
//
// What is written to a pipe stays as it is, for grep and for programs: no line is folded and nothing is coloured. Tables have
// 80 columns at most there, too.
package terminal

// Columns is how wide a table is at most, and how wide a terminal is taken to be that does not say.
const Columns = 80
