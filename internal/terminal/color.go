package terminal

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// ColorChoice determines when colours are written.
type ColorChoice string

// The choices.
const (
	// ColorAuto writes colours on a terminal that supports them.
	ColorAuto ColorChoice = "auto"
	// ColorAlways writes them wherever the output goes.
	ColorAlways ColorChoice = "always"
	// ColorNever writes none.
	ColorNever ColorChoice = "never"
)

// ColorChoices returns all choices.
func ColorChoices() []string {
	return []string{string(ColorAuto), string(ColorAlways), string(ColorNever)}
}

// String implements pflag.Value.
func (c *ColorChoice) String() string { return string(*c) }

// Type implements pflag.Value.
func (c *ColorChoice) Type() string { return "string" }

// Set implements pflag.Value.
func (c *ColorChoice) Set(text string) error {
	for _, known := range ColorChoices() {
		if text == known {
			*c = ColorChoice(text)
			return nil
		}
	}
	return fmt.Errorf("%q is no choice: say %s", text, strings.Join(ColorChoices(), ", "))
}

// wanted reports whether colours are written. NO_COLOR counts with any value but the empty one (no-color.org); TERM=dumb is a
// terminal without colours; in CI, which GitHub and GitLab mark by the variable CI, programs read the log.
func (c ColorChoice) wanted(onTerminal bool, getenv func(string) string) bool {
	switch c {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	default:
		term := getenv("TERM")
		return onTerminal && getenv("NO_COLOR") == "" && getenv("CI") == "" && term != "" && term != "dumb"
	}
}

// Tone is the meaning of a word for its reader. The word itself means the same.
type Tone int

// Tones.
const (
	// Plain is ordinary text.
	Plain Tone = iota
	// Good is in order.
	Good
	// Warn needs attention.
	Warn
	// Bad is wrong, or deletes something.
	Bad
	// Strong is the subject of a line.
	Strong
)

// The styles use only the first eight colours, which every terminal with colours has in a form that suits its background.
func (t Tone) style() ansi.Style {
	switch t {
	case Good:
		return ansi.Style{}.ForegroundColor(ansi.Green)
	case Warn:
		return ansi.Style{}.ForegroundColor(ansi.Yellow)
	case Bad:
		return ansi.Style{}.Bold().ForegroundColor(ansi.Red)
	case Strong:
		return ansi.Style{}.Bold()
	default:
		return ansi.Style{}
	}
}
