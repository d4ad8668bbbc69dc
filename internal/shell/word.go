// Package shell quotes text for the command line of a POSIX shell.
package shell

import (
	"regexp"
	"strings"
)

// plain matches text that needs no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// Word returns text as one word of a command line, quoted only if necessary.
func Word(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
