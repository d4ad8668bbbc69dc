package strictyaml

import (
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest returns the candidate that was probably meant by a misspelt word, or "" if none is near: equal except for capitals,
// or one edit away for every three characters. The first of equally near candidates wins.
func Nearest(word string, candidates []string) string {
	nearest, least := "", max(1, len(word)/3)+1
	for _, candidate := range candidates {
		if strings.EqualFold(word, candidate) {
			return candidate
		}
		distance := levenshtein.Distance(strings.ToLower(word), strings.ToLower(candidate), nil)
		if distance < least && distance < len(candidate) {
			nearest, least = candidate, distance
		}
	}
	return nearest
}
