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

// shortestSecret is the fewest bytes of what is taken out wherever it stands; anything shorter is a word that stands
// everywhere, and what is secret in it is the property, which the engine leaves out itself.
const shortestSecret = 8

// Redactor takes secrets out of texts, as they are and as JSON writes them.
type Redactor struct {
	secrets  []string
	replacer *strings.Replacer
}

// NewRedactor makes a redactor of what must not be seen.
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

// forms are a secret as it is, and as it stands in JSON, with and without the escapes for HTML.
func forms(secret string) []string {
	written := []string{secret}
	for _, escape := range []bool{true, false} {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(escape)
		if err := encoder.Encode(secret); err != nil {
			continue // a string always has a form
		}
		written = append(written, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text.String()), `"`), `"`))
	}
	slices.Sort(written)
	return slices.Compact(written)
}

// Secrets are those that are taken out.
func (r *Redactor) Secrets() []string { return slices.Clone(r.secrets) }

// Redact returns the text without the secrets.
func (r *Redactor) Redact(text []byte) []byte { return []byte(r.replacer.Replace(string(text))) }

// redactFolder takes the secrets out of every file in a folder.
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
