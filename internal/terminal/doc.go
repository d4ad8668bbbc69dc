// Package terminal writes text for people: lines that fit the width of the terminal, tables of 80 columns, and colours if the
// terminal supports them.
//
// Text in a pipe is unchanged, for grep and for programs: no line is folded and nothing is coloured. Tables have at most 80
// columns there, too.
package terminal

// Columns is the maximal width of a table, and the assumed width of a terminal that does not report one.
const Columns = 80
