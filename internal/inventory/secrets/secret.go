package secrets

import "fmt"

// Secret is text that no formatting, logging or encoding shows. The zero Secret is empty.
type Secret struct {
	text *string // a pointer, since fmt prints the fields of fields without asking them
}

// newSecret hides a text.
func newSecret(text string) Secret { return Secret{&text} }

// hidden is what stands for a secret wherever it is printed.
const hidden = "[secret]"

// Reveal returns the text itself. Who calls it answers for where it goes.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String hides the text.
func (Secret) String() string { return hidden }

// Format hides the text from every verb, %#v and %x included.
func (Secret) Format(state fmt.State, _ rune) { fmt.Fprint(state, hidden) }

// MarshalText hides the text from JSON, YAML and the like.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
