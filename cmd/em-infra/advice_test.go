package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// advice is a command of a third-party client in our messages and pages, with its test or the reason for none.
type advice struct{ Text, Run, Fails, Elsewhere string }

const adviceFile = "../../tests/e2e/testdata/advice.yaml"

var (
	// otherTool matches the beginning of a command of a third-party client.
	otherTool = regexp.MustCompile(`(?:^|[^\w/.-])((?:kubectl|helm|flux|sops) )`)
	// aboutTools are sentences about these clients, and places in their sources.
	aboutTools = regexp.MustCompile(`^(?:kubectl (?:has read|gets, |itself|apply notes|pkg/)|helm v3 pkg/|sops (?:looks|wrote|and age)|flux -\.-)`)
)

// TestAdviceIsKnown: the list contains exactly the commands of kubectl, helm, flux and sops in messages and pages, and a test
// runs each.
func TestAdviceIsKnown(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(adviceFile)
	require.NoError(t, err)
	var known []advice
	require.NoError(t, yaml.Unmarshal(text, &known))
	slices.SortFunc(known, func(a, b advice) int { return len(b.Text) - len(a.Text) })
	named := map[string]bool{}
	for place, texts := range textsForPeople(t) {
		for _, text := range texts {
			for _, sentence := range sentencesFrom(otherTool, filled(text)) {
				if aboutTools.MatchString(sentence) {
					continue
				}
				at := slices.IndexFunc(known, func(a advice) bool { return a.fits(sentence) })
				require.NotEqual(t, -1, at, "%s tells people to run %q: add it to %s", place, sentence, adviceFile)
				named[known[at].Text] = true
			}
		}
	}
	for _, a := range known {
		require.True(t, named[a.Text], "nothing names %q any more: remove it from %s", a.Text, adviceFile)
		require.True(t, (a.Run == "") != (a.Elsewhere == ""), "%q has a test or the reason for none", a.Text)
	}
}

// sentencesFrom returns the possible commands in a text, which begin with the first group of a pattern.
func sentencesFrom(pattern *regexp.Regexp, text string) []string {
	var sentences []string
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		sentence := text[at[2]:]
		if end := strings.IndexAny(sentence, "\n`\"…·|;#>"); end >= 0 {
			sentence = sentence[:end]
		}
		sentences = append(sentences, strings.TrimSpace(sentence))
	}
	return sentences
}

var anyWord = regexp.MustCompile(`\b[A-Z]+\b`)

// fits reports whether a sentence begins with the command.
func (a advice) fits(sentence string) bool {
	pattern := anyWord.ReplaceAllString(regexp.QuoteMeta(a.Text), `[^ ]+`)
	return regexp.MustCompile(`^` + pattern + `(?:$|[^\w-])`).MatchString(sentence)
}

// textsForPeople returns the strings of the sources and the pages, by file.
func textsForPeople(t *testing.T) map[string][]string {
	t.Helper()
	texts := literalsOfSources(t)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		if !strings.Contains(page, "/decisions/") {
			texts[page] = []string{string(text)}
		}
	}
	return texts
}
