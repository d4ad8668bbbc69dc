package model

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// shortest is the length from which a text is looked for: a shorter one may stand anywhere by chance.
const shortest = 12

// Leaks returns the names of texts in which one of the secrets stands: as it is, as in JSON, or decoded from base64.
func Leaks(secrets []string, texts map[string]string) []Violation {
	b := &broken{invariant: Secrets}
	secrets = slices.Compact(slices.Sorted(slices.Values(secrets)))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, secret := range secrets {
			written, err := forms(secret)
			if err != nil {
				b.say("a secret of %d bytes cannot be looked for: %v", len(secret), err)
			}
			if slices.ContainsFunc(written, func(form string) bool { return len(form) >= shortest && strings.Contains(texts[name], form) }) {
				b.say("%s holds a secret of %d bytes", name, len(secret))
			}
		}
	}
	return b.found
}

// forms returns the texts that a secret is looked for as.
func forms(secret string) ([]string, error) {
	written, err := json.Marshal(secret)
	if err != nil {
		return nil, err
	}
	found := []string{secret, strings.Trim(string(written), `"`)}
	if decoded, err := base64.StdEncoding.DecodeString(secret); err == nil && len(decoded) >= shortest {
		found = append(found, string(decoded))
	}
	return found, nil
}
