package model

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// shortest is the length from which a text is looked for: a shorter one may stand anywhere by chance.
const shortest = 12

// Leaks returns the names of texts in which one of the secrets stands: as it is, as in JSON, or decoded from base64.
func Leaks(secrets []string, texts map[string]string) []Violation {
	b := &broken{invariant: Secrets}
	for name, text := range texts {
		for _, secret := range secrets {
			for _, form := range forms(secret) {
				if len(form) >= shortest && strings.Contains(text, form) {
					b.say("%s holds a secret of %d bytes", name, len(secret))
				}
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
