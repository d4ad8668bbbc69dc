package terminal

import (
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// narrowest is the width below which nothing is folded: it would be a column of single words.
const narrowest = 30

// Fold breaks a line at spaces so that each part has at most width columns; 0 is any width. What follows is indented to where
// the text of the first part begins. A command is kept whole where a line can hold it, and otherwise broken by backslashes, so that
// a shell takes what is copied. A word that is longer than a line, such as a path, is left to the terminal: broken, it could not be
// copied.
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

// Pad fills a text with spaces up to a width; its colours take none.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// folder fills lines.
type folder struct {
	width, hang int
	lines       []string
	current     string
}

// add puts an atom behind what stands in the line, or on the next one.
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

// continuation is what ends a line of a command that goes on.
const continuation = ` \`

// addWords breaks a command, from where the line stands.
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

// label is what stands before the text of a line: spaces, or a few words with two spaces behind them, or a mark.
var label = regexp.MustCompile(`^ *(?:\S+(?: \S+){0,3} {2,}|→ )?`)

// hangOf returns where the text of a line begins. A line without a label hangs by two columns, as do lines whose label is long.
func hangOf(line string, width int) int {
	plain := ansi.Strip(line)
	before := label.FindString(plain)
	indent := len(before) - len(strings.TrimLeft(before, " "))
	if hang := ansi.StringWidth(before); hang > indent && hang <= width/3 {
		return hang
	}
	return min(indent+2, width/3)
}

// atom is what is not broken where that can be helped: a word, or a command of several.
type atom struct {
	gap     string // spaces before it
	words   []string
	command bool
}

func (a atom) text() string { return strings.Join(a.words, " ") }

// programs are those whose commands messages print. The next word tells a command from a sentence that begins with its name.
var programs = []string{
	"em-infra", "kubectl", "talosctl", "pulumi", "qm", "pvesm", "pvesh", "pveum", "pvecm", "systemctl", "helm", "flux", "sops", "ssh",
	"go", "git", "etcdctl", "eval", "export", "unset", "cd", "rm", "mv", "cp", "kill", "sudo",
}

var argument = regexp.MustCompile(`^[-a-z"$'./~][^:;,]*$`)

func isCommand(words []string) bool {
	return len(words) > 1 && slices.Contains(programs, strings.TrimLeft(words[0], "`(")) && argument.MatchString(strings.TrimRight(words[1], "`.,;:)"))
}

var spaced = regexp.MustCompile(`( *)([^ ]+)`)

// atomsOf returns the words of a line; those of a command, in backquotes or on its own, are one.
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

// closing is behind the word that closes the backquotes which a word opens; the next word where it opens none.
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

// standsAlone reports whether a command may begin here without backquotes: at the beginning, or behind a colon or a mark.
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

// arguments puts together again what stands in the quotes of a shell, which no backslash may break.
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

// quoteLeftOpen returns the quote that is open behind a word, given that which was open before it.
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
