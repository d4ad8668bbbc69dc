package strictyaml

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Finding is one problem of a document.
type Finding struct {
	// Path of the value, empty for the document as a whole.
	Path string `json:"path,omitempty"`
	// Line of the value, counted from 1; 0 for the document as a whole.
	Line int `json:"line,omitempty"`
	// Column in that line, counted from 1.
	Column int `json:"column,omitempty"`
	Fault
}

// Fault is a problem of a value. It is also the error that an UnmarshalText returns to choose its own message.
type Fault struct {
	// What is wrong, to be read after the path: "lies outside the network".
	What string `json:"problem"`
	// Rule that was violated, unless What already contains it.
	Rule string `json:"rule,omitempty"`
	// Got is the value that was found, if any. An UnmarshalText sets it only to hide a secret in its place.
	Got string `json:"got,omitempty"`
	// Do is what to do about it.
	Do string `json:"do,omitempty"`
}

// Error returns the fault in one line.
func (f *Fault) Error() string { return f.String() }

// String returns "what (rule; got value): do", without empty parts.
func (f Fault) String() string {
	var aside []string
	if f.Rule != "" {
		aside = append(aside, f.Rule)
	}
	if f.Got != "" {
		aside = append(aside, "got "+Shown(f.Got))
	}
	text := f.What
	if len(aside) > 0 {
		text += " (" + strings.Join(aside, "; ") + ")"
	}
	if f.Do != "" {
		text += ": " + f.Do
	}
	return text
}

// shownRunes is how much of a value a message quotes.
const shownRunes = 60

// Shown returns a value for a message: shortened, and quoted if it is empty or not recognisable as one word.
func Shown(value string) string {
	short := value
	if utf8.RuneCountInString(value) > shownRunes {
		short = string([]rune(value)[:shownRunes]) + "…"
	}
	plain := func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
	if short != "" && strings.IndexFunc(short, func(r rune) bool { return !plain(r) }) < 0 {
		return short
	}
	return strconv.Quote(short)
}
