package secrets

import "fmt"

// Secret is text that no formatting, logging or encoding shows. The zero Secret is empty.
type Secret struct {
	text *string // a pointer, since fmt prints nested fields without calling their methods
}

// newSecret hides a text.
func newSecret(text string) Secret { return Secret{&text} }

// hidden is printed in place of a secret.
const hidden = "[secret]"

// Reveal returns the text itself. The caller must keep it secret.
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
