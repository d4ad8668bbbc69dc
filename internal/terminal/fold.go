package terminal

import (
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// narrowest is the width below which nothing is folded: single words in a column would be unreadable.
const narrowest = 30

// Fold breaks a line at spaces so that each part has at most width columns; 0 means any width. Further parts are indented to
// the beginning of the text in the first part. A command is kept whole if it fits in a line, and otherwise broken by
// backslashes, so that a shell accepts the copy. A word that is longer than a line, such as a path, is not broken, so that it
// can be copied.
func Fold(line string, width int) []string {
	if width < narrowest || ansi.StringWidth(line) <= width {
		return []string{line}
	}
	f := folder{width: width, hang: hangOf(line, width)}
	for _, a := range atomsOf(line) {
		f.add(a)
	}
	return append(f.lines, f.current)
}

// Pad appends spaces to a text up to a width; colours have no width.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// folder fills lines.
type folder struct {
	width, hang int
	lines       []string
	current     string
}

// add appends an atom to the line, or begins the next one.
func (f *folder) add(a atom) {
	text := a.text()
	column := ansi.StringWidth(f.current) + len(a.gap)
	if column > f.hang && column+ansi.StringWidth(text) > f.width { // else the next line has no more room
		f.next(f.hang)
		a.gap = ""
	}
	f.current += a.gap
	if ansi.StringWidth(f.current)+ansi.StringWidth(text) <= f.width || !a.command {
		f.current += text
		return
	}
	f.addWords(a.words)
}

// continuation ends a line of a command that continues.
const continuation = ` \`

// addWords breaks a command, beginning in the current line.
func (f *folder) addWords(words []string) {
	for i, word := range words {
		if i == 0 {
			f.current += word
			continue
		}
		room := f.width
		if i < len(words)-1 {
			room -= len(continuation)
		}
		if ansi.StringWidth(f.current)+1+ansi.StringWidth(word) > room {
			f.current += continuation
			f.next(f.hang + 2)
			f.current += word
			continue
		}
		f.current += " " + word
	}
}

func (f *folder) next(indent int) {
	f.lines = append(f.lines, f.current)
	f.current = strings.Repeat(" ", indent)
}

// label is the part before the text of a line: spaces, or a few words followed by two spaces, or a mark.
var label = regexp.MustCompile(`^ *(?:\S+(?: \S+){0,3} {2,}|→ )?`)

// hangOf returns the column where the text of a line begins. A line without a label, or with a long one, is indented by two
// columns.
func hangOf(line string, width int) int {
	plain := ansi.Strip(line)
	before := label.FindString(plain)
	indent := len(before) - len(strings.TrimLeft(before, " "))
	if hang := ansi.StringWidth(before); hang > indent && hang <= width/3 {
		return hang
	}
	return min(indent+2, width/3)
}

// atom is not broken if possible: a word, or a command of several.
type atom struct {
	gap     string // spaces before it
	words   []string
	command bool
}

func (a atom) text() string { return strings.Join(a.words, " ") }

// programs are the programs whose commands messages contain. The next word distinguishes a command from a sentence that begins
// with its name.
var programs = []string{
	"em-infra", "kubectl", "talosctl", "pulumi", "qm", "pvesm", "pvesh", "pveum", "pvecm", "systemctl", "helm", "flux", "sops", "ssh",
	"go", "git", "etcdctl", "eval", "export", "unset", "cd", "rm", "mv", "cp", "kill", "sudo",
}

var argument = regexp.MustCompile(`^[-a-z"$'./~][^:;,]*$`)

func isCommand(words []string) bool {
	return len(words) > 1 && slices.Contains(programs, strings.TrimLeft(words[0], "`(")) && argument.MatchString(strings.TrimRight(words[1], "`.,;:)"))
}

var spaced = regexp.MustCompile(`( *)([^ ]+)`)

// atomsOf returns the words of a line; a command, in backquotes or on its own, is one atom.
func atomsOf(line string) []atom {
	var words, gaps []string
	for _, match := range spaced.FindAllStringSubmatch(line, -1) {
		gaps, words = append(gaps, match[1]), append(words, match[2])
	}
	var atoms []atom
	for i := 0; i < len(words); {
		end := i + 1
		command := false
		switch closed := closing(words, i); {
		case closed > i+1:
			end = closed
			command = isCommand(words[i:end])
			if !command {
				end = i + 1 // a quotation is folded like any text
			}
		case standsAlone(words, i) && isCommand(words[i:]):
			end, command = endOf(words, gaps, i), true
		}
		one := atom{gap: gaps[i], words: words[i:end], command: command}
		if command {
			one.words = arguments(words[i:end], gaps[i+1:end])
		}
		atoms, i = append(atoms, one), end
	}
	return atoms
}

// closing returns the index after the word that closes the backquotes which a word opens; the next index if it opens none.
func closing(words []string, at int) int {
	if strings.Count(words[at], "`")%2 == 0 {
		return at + 1
	}
	for i := at + 1; i < len(words); i++ {
		if strings.Contains(words[i], "`") {
			return i + 1
		}
	}
	return at + 1
}

// standsAlone reports whether a command may begin here without backquotes: at the beginning, or after a colon or a mark.
func standsAlone(words []string, at int) bool {
	return at == 0 || strings.HasSuffix(words[at-1], ":") || slices.Contains([]string{"·", "→"}, words[at-1])
}

// endOf returns where a command without backquotes ends: at a mark, a comment, or the end of the line.
func endOf(words, gaps []string, at int) int {
	for i := at + 1; i < len(words); i++ {
		if words[i] == "·" || strings.HasPrefix(words[i], "#") && len(gaps[i]) > 1 {
			return i
		}
	}
	return len(words)
}

// arguments joins words within the quotes of a shell, which no backslash may break.
func arguments(words, gaps []string) []string {
	joined := []string{words[0]}
	open := quoteLeftOpen("", words[0])
	for i, word := range words[1:] {
		if open != "" {
			joined[len(joined)-1] += gaps[i] + word
		} else {
			joined = append(joined, word)
		}
		open = quoteLeftOpen(open, word)
	}
	return joined
}

// quoteLeftOpen returns the quote that is open after a word, given the one that was open before it.
func quoteLeftOpen(open, word string) string {
	for _, r := range word {
		switch quote := string(r); {
		case open == quote:
			open = ""
		case open == "" && (quote == `'` || quote == `"`):
			open = quote
		}
	}
	return open
}
