package strictyaml

import (
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest returns the candidate that was probably meant by a misspelt word, or "" when none is near: the same but for
// capitals, or one edit away for every three characters. Of equally near ones the first counts.
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
