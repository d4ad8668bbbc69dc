package explain

import (
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Nearest is the row whose error has most in common with a text that no row matches. It is only a guess.
type Nearest struct {
	// Explanation is the row's explanation. Values that its error would contain (a VMID, a host) are written as words in capitals,
	// because the text does not contain them. Said is the line that was compared.
	Explanation
	// Shared are the common words of the line and the row's error, in the order of the line.
	Shared []string
	// Of is the number of words in the row's error.
	Of int
}

// The minimum that a line and a row must have in common: a number of words, one of which is in few rows, and a part of the weight of
// the row's words. The part is a half and not more, because a pattern contains the words of all errors that it matches.
const (
	leastShared  = 2
	rareAmong    = 3 // rows
	leastPortion = 2 // one in this many parts
)

// FindNearest returns the row that is nearest to a text; false if none is near.
func FindNearest(raw string) (Nearest, bool) {
	var best Nearest
	var bestRank, of uint64 = 0, 1 // a fraction
	for line := range strings.Lines(raw) {
		words := wordsOf(line)
		for i, r := range table {
			shared, rare, weight := inCommon(words, i)
			if len(shared) < leastShared || !rare || weight*leastPortion < vocabulary().weights[i] {
				continue
			}
			// The rank is the common share of the row's weight; among equal ranks the first row in the table counts.
			if rank := weight * weight; rank*of > bestRank*vocabulary().weights[i] {
				bestRank, of = rank, vocabulary().weights[i]
				best = Nearest{Explanation: r.guess(line), Shared: shared, Of: len(vocabulary().rows[i])}
			}
		}
	}
	return best, bestRank > 0
}

// inCommon returns the words of a line that are in row i, whether one of them is rare, and their total weight.
func inCommon(words []string, i int) (shared []string, rare bool, weight uint64) {
	for _, word := range words {
		if !slices.Contains(vocabulary().rows[i], word) {
			continue
		}
		shared = append(shared, word)
		rare = rare || vocabulary().frequency[word] <= rareAmong
		weight += vocabulary().weight(word)
	}
	return shared, rare, weight
}

// lexicon contains the words of the errors in the table.
type lexicon struct {
	// rows are the words of each row's pattern, without duplicates.
	rows [][]string
	// frequency is the number of rows with a word.
	frequency map[string]int
	// weights are the total weights of the words of each row.
	weights []uint64
}

var vocabulary = sync.OnceValue(newLexicon)

func newLexicon() lexicon {
	l := lexicon{frequency: map[string]int{}}
	for _, r := range table {
		words := wordsOf(literalsOf(r.pattern()))
		l.rows = append(l.rows, words)
		for _, word := range words {
			l.frequency[word]++
		}
	}
	for _, words := range l.rows {
		var total uint64
		for _, word := range words {
			total += l.weight(word)
		}
		l.weights = append(l.weights, total)
	}
	return l
}

// weight returns a higher value for a word in fewer rows: the binary logarithm of its rarity.
func (l lexicon) weight(word string) uint64 {
	return uint64(bits.Len(uint(len(l.rows) / l.frequency[word]))) //nolint:gosec // neither is negative
}

var (
	// syntax matches the parts of a pattern that are not words of an error.
	syntax = regexp.MustCompile(`\(\?P<\w+>|\(\?[a-z]*:?|\[[^\]]*\]|\\[A-Za-z]|\{\d[\d,]*\}`)
	// alphabetic matches a word; shorter ones are not specific.
	alphabetic = regexp.MustCompile(`[a-z]{3,}`)
	// around matches what the provider, gRPC and Proxmox VE add to every error.
	around = regexp.MustCompile(`received an HTTP \d+ response - Reason:|task "UPID:[^"]*" failed to complete with exit code:|error waiting for [\w ]+:|rpc error: code = \w+ desc =|TASK ERROR:`)
	// common are words of every sentence.
	common = strings.Fields("and are but can did for from get had has have its not one the that then this was were which while with you your")
	// placeholder matches a placeholder for a value in a row's texts.
	placeholder = regexp.MustCompile(`\{[a-z]+\}`)
)

func literalsOf(pattern *regexp.Regexp) string { return syntax.ReplaceAllString(pattern.String(), " ") }

// wordsOf returns the words of a text without duplicates, in order, without the plural s.
func wordsOf(text string) []string {
	var words []string
	for _, word := range alphabetic.FindAllString(strings.ToLower(around.ReplaceAllString(text, " ")), -1) {
		if slices.Contains(common, word) {
			continue
		}
		if len(word) > 3 {
			word = strings.TrimSuffix(word, "s")
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// guess returns the row's explanation for a line that does not contain the values of the row's error.
func (r row) guess(line string) Explanation {
	unfilled := func(text string) string {
		return placeholder.ReplaceAllStringFunc(text, func(value string) string { return strings.ToUpper(strings.Trim(value, "{}")) })
	}
	e := Explanation{
		Name: r.name, Speaker: r.speaker, Failure: r.failure, Source: r.source, Said: strings.TrimSpace(line),
		Meaning: unfilled(r.meaning), do: unfilled(r.do), safe: unfilled(r.safe),
	}
	return e.For(anyVerb)
}
