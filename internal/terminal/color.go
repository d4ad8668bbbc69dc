package terminal

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// ColorChoice is when colours are written.
type ColorChoice string

// The choices.
const (
	// ColorAuto writes them on a terminal that has them.
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
// terminal without colours, and in CI the log is read by other programs, which GitHub and GitLab say by the variable CI.
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

// Tone is what a word means for whoever reads it. The word itself says the same.
type Tone int

// Tones.
const (
	// Plain is like everything else.
	Plain Tone = iota
	// Good is as it should be.
	Good
	// Warn deserves a look.
	Warn
	// Bad is wrong, or deletes something.
	Bad
	// Strong is what a line is about.
	Strong
)

// The styles use the first eight colours alone, which every terminal with colours has in a form that suits its background.
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
