package machineconfig

import "strings"

// birthNote is the comment in a configuration that precedes the birth identifier.
const birthNote = "# Made for the machine with the UUID "

// NoBirth is the birth identifier of a configuration that its machine has lost.
const NoBirth = "none"

// WithBirth returns a configuration with the birth identifier of its machine appended; without one it is unchanged.
func WithBirth(configuration, mark string) string {
	if mark == "" {
		return configuration
	}
	return strings.TrimRight(configuration, "\n") + "\n" + birthNote + mark + "\n"
}

// BirthIn returns the birth identifier in a configuration, the last one if there are several; "" if there is none.
func BirthIn(configuration string) string {
	i := strings.LastIndex(configuration, birthNote)
	if i < 0 {
		return ""
	}
	mark, _, _ := strings.Cut(configuration[i+len(birthNote):], "\n")
	return mark
}
