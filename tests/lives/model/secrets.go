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
			if slices.ContainsFunc(forms(secret), func(form string) bool { return len(form) >= shortest && strings.Contains(texts[name], form) }) {
				b.say("%s holds a secret of %d bytes", name, len(secret))
			}
		}
	}
	return b.found
}

func forms(secret string) []string {
	written, err := json.Marshal(secret)
	if err != nil {
		panic(err) // a text
	}
	found := []string{secret, strings.Trim(string(written), `"`)}
	if decoded, err := base64.StdEncoding.DecodeString(secret); err == nil && len(decoded) >= shortest {
		found = append(found, string(decoded))
	}
	return found
}
