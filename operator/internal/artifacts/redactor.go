package artifacts

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// redacted replaces a secret.
const redacted = "[secret]"

// shortestSecret is the minimum length in bytes of a secret that is replaced. Shorter ones would also match ordinary words; the
// engine itself removes the secret properties that contain them.
const shortestSecret = 8

// Redactor removes secrets from texts, also in their JSON encoding.
type Redactor struct {
	secrets  []string
	replacer *strings.Replacer
}

// NewRedactor returns a redactor for secrets.
func NewRedactor(secrets []string) *Redactor {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(strings.TrimSpace(s)) < shortestSecret })
	// The longest first, so that a secret that contains another one is replaced as a whole.
	slices.SortFunc(secrets, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	secrets = slices.Compact(secrets)
	var pairs []string
	for _, secret := range secrets {
		for _, written := range forms(secret) {
			pairs = append(pairs, written, redacted)
		}
	}
	return &Redactor{secrets: secrets, replacer: strings.NewReplacer(pairs...)}
}

// forms returns a secret as plain text and in JSON, with and without escapes for HTML.
func forms(secret string) []string {
	written := []string{secret}
	for _, escape := range []bool{true, false} {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(escape)
		if err := encoder.Encode(secret); err != nil {
			continue // encoding a string does not fail
		}
		written = append(written, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text.String()), `"`), `"`))
	}
	slices.Sort(written)
	return slices.Compact(written)
}

// Secrets returns the secrets that are removed.
func (r *Redactor) Secrets() []string { return slices.Clone(r.secrets) }

// Redact returns the text without the secrets.
func (r *Redactor) Redact(text []byte) []byte { return []byte(r.replacer.Replace(string(text))) }

// redactFolder removes the secrets from every file in a folder.
func (r *Redactor) redactFolder(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // below the run's own folder
		if err != nil {
			return err
		}
		if clean := r.Redact(text); !bytes.Equal(clean, text) {
			return os.WriteFile(path, clean, privateFile)
		}
		return nil
	})
}
