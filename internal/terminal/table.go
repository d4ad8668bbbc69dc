package terminal

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// gap separates two columns.
const gap = "  "

// Table has at most [Columns] columns of text, on a terminal and in a pipe. Cells that are too long are folded at their spaces.
// A row that still does not fit, as with a name of 63 characters, is a block of lines: its first cell, and below it the others
// with their headings.
type Table struct {
	Header []string
	Rows   [][]string
}

// Write writes the table; nothing if it has no rows.
func (t Table) Write(out io.Writer) error {
	aligned := t.aligned()
	widths, _ := t.widths(aligned)
	var text strings.Builder
	if len(aligned) > 0 {
		writeRow(&text, t.Header, widths)
	}
	for i, row := range t.Rows {
		if slices.Contains(aligned, i) {
			writeRow(&text, row, widths)
		} else {
			t.writeBlock(&text, row)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// aligned returns the indices of the rows that are written in columns. It leaves out the widest rows until the others fit.
func (t Table) aligned() []int {
	var rows []int
	for i := range t.Rows {
		rows = append(rows, i)
	}
	for len(rows) > 0 {
		if _, fits := t.widths(rows); fits {
			break
		}
		widest := slices.MaxFunc(rows, func(a, b int) int { return cmp.Compare(total(least(t.Rows[a])), total(least(t.Rows[b]))) })
		rows = slices.DeleteFunc(rows, func(i int) bool { return i == widest })
	}
	return rows
}

// among returns the header and some of the rows.
func (t Table) among(rows []int) [][]string {
	lines := [][]string{t.Header}
	for _, i := range rows {
		lines = append(lines, t.Rows[i])
	}
	return lines
}

// least returns the minimal widths of the cells of a row: the widths of their longest words.
func least(row []string) []int {
	widths := make([]int, len(row))
	for i, cell := range row {
		for word := range strings.FieldsSeq(cell) {
			widths[i] = max(widths[i], ansi.StringWidth(word))
		}
	}
	return widths
}

// widths returns the widths of the columns: the widths of the cells of the rows if they fit, else with the widest narrowed.
func (t Table) widths(rows []int) (widths []int, fits bool) {
	widths, narrowest := make([]int, len(t.Header)), make([]int, len(t.Header))
	for _, row := range t.among(rows) {
		words := least(row)
		for i, cell := range row {
			widths[i], narrowest[i] = max(widths[i], ansi.StringWidth(cell)), max(narrowest[i], words[i])
		}
	}
	for total(widths) > Columns {
		widest := -1
		for i := range widths {
			if widths[i] > narrowest[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
	}
	return used(t.among(rows), widths), true
}

// used returns the widths that folded cells really need.
func used(rows [][]string, widths []int) []int {
	used := make([]int, len(widths))
	for _, row := range rows {
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

// writeRow writes a row, in as many lines as its highest cell has.
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
			line.WriteString(Pad(part, widths[i]) + gap)
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

// writeBlock writes a row as a block. A cell with a word too long for the line of its heading, such as a path, is written below
// it.
func (t Table) writeBlock(text *strings.Builder, row []string) {
	width := 0
	for _, heading := range t.Header[1:] {
		width = max(width, ansi.StringWidth(heading))
	}
	indent := len(gap) + width + len(gap)
	text.WriteString(row[0] + "\n")
	words := least(row)
	for i, cell := range row[1:] {
		heading, start := gap+Pad(t.Header[i+1], width)+gap, indent
		if words[i+1] > Columns-indent {
			heading, start = strings.TrimRight(heading, " ")+"\n"+gap+gap, len(gap+gap)
		}
		lines := foldCell(cell, Columns-start)
		text.WriteString(strings.TrimRight(heading+lines[0], " ") + "\n")
		for _, line := range lines[1:] {
			text.WriteString(strings.Repeat(" ", start) + line + "\n")
		}
	}
}
