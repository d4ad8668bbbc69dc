package explain

import (
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// Nearest is the row whose error has most in common with a text that no row matches. It is a guess: nothing in it is certain.
type Nearest struct {
	// Explanation is the row's; what its error would name (a VMID, a host) stands in it in capitals, since the text has not that
	// error. Said is the line that was compared.
	Explanation
	// Shared are the words that the line has in common with the row's error, in the order of the line.
	Shared []string
	// Of is how many words the row's error has.
	Of int
}

// What has to be in common at least, so that a row is offered: as many words, one of which few rows have, and a part of the weight
// of the row's words. It is half, not more, since a pattern has the words of all the errors that it knows.
const (
	leastShared  = 2
	rareAmong    = 3 // rows
	leastPortion = 2 // one of so many parts
)

// FindNearest is the row that is nearest to a text, false when nothing in the table is near.
func FindNearest(raw string) (Nearest, bool) {
	var best Nearest
	var bestRank, of uint64 = 0, 1 // a fraction
	for line := range strings.Lines(raw) {
		words := wordsOf(line)
		for i, r := range table {
			shared, rare, weight := inCommon(words, i)
			if len(shared) < leastShared || !rare || weight*leastPortion < vocabulary.weights[i] {
				continue
			}
			// A row of which much is there is nearer than one of which little is; of equal ones the first in the table.
			if rank := weight * weight; rank*of > bestRank*vocabulary.weights[i] {
				bestRank, of = rank, vocabulary.weights[i]
				best = Nearest{Explanation: r.guess(line), Shared: shared, Of: len(vocabulary.rows[i])}
			}
		}
	}
	return best, bestRank > 0
}

// inCommon are the words of a line that are in row i, whether one of them is rare, and what they weigh together.
func inCommon(words []string, i int) (shared []string, rare bool, weight uint64) {
	for _, word := range words {
		if !slices.Contains(vocabulary.rows[i], word) {
			continue
		}
		shared = append(shared, word)
		rare = rare || vocabulary.frequency[word] <= rareAmong
		weight += vocabulary.weight(word)
	}
	return shared, rare, weight
}

// lexicon are the words of the errors in the table.
type lexicon struct {
	// rows are the words of each row's pattern, each once.
	rows [][]string
	// frequency is in how many rows a word is.
	frequency map[string]int
	// weights are what the words of each row weigh together.
	weights []uint64
}

var vocabulary = newLexicon()

func newLexicon() lexicon {
	l := lexicon{frequency: map[string]int{}}
	for _, r := range table {
		words := wordsOf(literalsOf(r.pattern))
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

// weight is the more, the fewer rows have a word: the binary logarithm of how rare it is.
func (l lexicon) weight(word string) uint64 {
	return uint64(bits.Len(uint(len(l.rows) / l.frequency[word]))) //nolint:gosec // neither is negative
}

var (
	// syntax is what in a pattern is not the words of an error.
	syntax = regexp.MustCompile(`\(\?P<\w+>|\(\?[a-z]*:?|\[[^\]]*\]|\\[A-Za-z]|\{\d[\d,]*\}`)
	// alphabetic is a word; shorter ones say nothing.
	alphabetic = regexp.MustCompile(`[a-z]{3,}`)
	// around is what the provider, gRPC and Proxmox VE put around every error, and what says nothing of this one.
	around = regexp.MustCompile(`received an HTTP \d+ response - Reason:|task "UPID:[^"]*" failed to complete with exit code:|error waiting for [\w ]+:|rpc error: code = \w+ desc =|TASK ERROR:`)
	// common are words of every sentence.
	common = strings.Fields("and are but can did for from get had has have its not one the that then this was were which while with you your")
	// placeholder is a value of an error in a row's texts.
	placeholder = regexp.MustCompile(`\{[a-z]+\}`)
)

func literalsOf(pattern *regexp.Regexp) string { return syntax.ReplaceAllString(pattern.String(), " ") }

// wordsOf are the words of a text, each once, in its order, without the s of the plural.
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

// guess is what the row says of its own error, of which the line has none of the values.
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
