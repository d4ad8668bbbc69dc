// Package shell writes texts for the command line of a POSIX shell.
package shell

import (
	"regexp"
	"strings"
)

// plain needs no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// Word is text as one word of a command line, quoted only where it must be.
func Word(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
