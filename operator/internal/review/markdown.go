package review

import (
	"fmt"
	"html"
	"strings"
)

// section returns lines after an empty one; none if there are none.
func section(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return append([]string{""}, lines...)
}

// more is the last line of a list that was cut.
func more(left int) string { return fmt.Sprintf("- and %d more", left) }

// fold returns lines that are shown on a click on their summary; none if there are none.
func fold(summary string, lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return append(append([]string{"", "<details><summary>" + html.EscapeString(summary) + "</summary>", ""}, lines...), "", "</details>")
}

// cut returns as many of the first lines as have room, in bytes, and a last line that counts the others.
func cut(lines []string, room int, rest func(left int) string) []string {
	if len(lines) == 0 || length(lines) <= room {
		return lines
	}
	room -= length([]string{rest(len(lines))})
	kept := 0
	for used := 0; used+len(lines[kept])+1 <= room; kept++ {
		used += len(lines[kept]) + 1
	}
	return append(lines[:kept:kept], rest(len(lines)-kept))
}

// length returns how many bytes lines take.
func length(lines []string) int {
	sum := 0
	for _, line := range lines {
		sum += len(line) + 1
	}
	return sum
}

// markup are the characters that Markdown or HTML would interpret in a sentence. Backquotes stay: they mark commands.
var markup = strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "[", `\[`)

// escape returns a sentence without secrets, as Markdown that shows it as it is, with its commands in backquotes.
func (p Plan) escape(sentence string) string {
	parts := strings.Split(p.Hide(sentence), "`")
	for i := range parts {
		if i%2 == 0 { // not between backquotes
			parts[i] = markup.Replace(parts[i])
		}
	}
	return strings.Join(parts, "`")
}

// fence returns commands as a block of code in an item of a list.
func (p Plan) fence(commands []string) string {
	lines := []string{"", "  ```sh"}
	for _, command := range commands {
		lines = append(lines, "  "+strings.ReplaceAll(p.Hide(command), "```", "` ` `"))
	}
	return strings.Join(append(lines, "  ```"), "\n")
}

// cell returns sentences as a cell of a table, a line each.
func (p Plan) cell(sentences ...string) string {
	var lines []string
	for _, sentence := range sentences {
		lines = append(lines, strings.NewReplacer("|", `\|`, "\n", " ").Replace(p.escape(sentence)))
	}
	return strings.Join(lines, "<br>")
}
