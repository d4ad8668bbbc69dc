package terminal

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// gap is what stands between two columns.
const gap = "  "

// Table has at most [Columns] columns of text, on a terminal and in a pipe. Cells that are too long are folded at their spaces.
// Where that is not enough, for a name of 63 characters, each row is a block of lines instead: its first cell, and below it the others
// with their headings.
type Table struct {
	Header []string
	Rows   [][]string
}

// Write writes the table; one without rows is nothing.
func (t Table) Write(out io.Writer) error {
	if len(t.Rows) == 0 {
		return nil
	}
	var text strings.Builder
	if widths, fits := t.widths(); fits {
		for _, row := range append([][]string{t.Header}, t.Rows...) {
			writeRow(&text, row, widths)
		}
	} else {
		t.writeBlocks(&text)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// widths are those of the columns: as wide as their cells where there is room, else the widest is narrowed, down to its longest
// word.
func (t Table) widths() (widths []int, fits bool) {
	widths, least := make([]int, len(t.Header)), make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
			for word := range strings.FieldsSeq(cell) {
				least[i] = max(least[i], ansi.StringWidth(word))
			}
		}
	}
	for total(widths) > Columns {
		widest := -1
		for i := range widths {
			if widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
	}
	return t.used(widths), true
}

// used are the widths that folded cells leave of those that they were given.
func (t Table) used(widths []int) []int {
	used := make([]int, len(widths))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i, cell := range row {
			for _, line := range foldCell(cell, widths[i]) {
				used[i] = max(used[i], ansi.StringWidth(line))
			}
		}
	}
	return used
}

func total(widths []int) int {
	sum := len(gap) * (len(widths) - 1)
	for _, width := range widths {
		sum += width
	}
	return sum
}

// writeRow writes a row, in as many lines as its tallest cell has.
func writeRow(text *strings.Builder, row []string, widths []int) {
	cells := make([][]string, len(row))
	height := 0
	for i, cell := range row {
		cells[i] = foldCell(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	for n := range height {
		var line strings.Builder
		for i := range cells {
			part := ""
			if n < len(cells[i]) {
				part = cells[i][n]
			}
			line.WriteString(part + strings.Repeat(" ", widths[i]-ansi.StringWidth(part)) + gap)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// foldCell fills lines with the words of a cell.
func foldCell(cell string, width int) []string {
	if ansi.StringWidth(cell) <= width {
		return []string{cell}
	}
	var lines []string
	current := ""
	for word := range strings.FieldsSeq(cell) {
		if current != "" && ansi.StringWidth(current)+1+ansi.StringWidth(word) > width {
			lines, current = append(lines, current), ""
		}
		if current != "" {
			current += " "
		}
		current += word
	}
	return append(lines, current)
}

// writeBlocks writes each row as a block.
func (t Table) writeBlocks(text *strings.Builder) {
	width := 0
	for _, heading := range t.Header[1:] {
		width = max(width, ansi.StringWidth(heading))
	}
	indent := len(gap) + width + len(gap)
	for _, row := range t.Rows {
		text.WriteString(row[0] + "\n")
		for i, cell := range row[1:] {
			heading := t.Header[i+1]
			lines := foldCell(cell, Columns-indent)
			text.WriteString(gap + heading + strings.Repeat(" ", width-ansi.StringWidth(heading)) + gap + lines[0] + "\n")
			for _, line := range lines[1:] {
				text.WriteString(strings.Repeat(" ", indent) + line + "\n")
			}
		}
	}
}
