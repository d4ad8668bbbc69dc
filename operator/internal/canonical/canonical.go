// Package canonical writes a file of an inventory in its canonical form: two blanks for each level, lists below their keys indented, no
// blanks at the ends of lines, one blank line at most between two others, and a line feed at the end. Keys, values and comments
// stay as they are, in their order. Pure.
package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/yamlfmt"
	"github.com/google/yamlfmt/formatters/basic"
	"go.yaml.in/yaml/v3"
)

// settings of the formatter (github.com/google/yamlfmt, docs/config-file.md). The rest is its default.
var settings = map[string]any{
	"indent":                    2,
	"line_ending":               yamlfmt.LineBreakStyleLF, // on each system: the files are in Git
	"retain_line_breaks_single": true,
	"eof_newline":               true,
	"pad_line_comments":         1,
	"scan_folded_as_literal":    true, // its lines stay
}

var (
	// ErrNoYAML means that a text is not YAML.
	ErrNoYAML = errors.New("is no YAML")
	// ErrChanged means that the formatter would have changed more than the form.
	ErrChanged = errors.New("would lose a value or a comment")
)

// passes is how often a text is formatted until nothing changes. A text on several lines without quotes takes two.
const passes = 4

// Form returns a text in its canonical form. A second call with the result does not change it.
func Form(text []byte) ([]byte, error) {
	for range passes {
		formed, err := pass(text)
		if err != nil || bytes.Equal(formed, text) {
			return formed, err
		}
		text = formed
	}
	return nil, ErrChanged
}

func pass(text []byte) ([]byte, error) {
	formatter, err := (&basic.BasicFormatterFactory{}).NewFormatter(settings)
	if err != nil {
		return nil, err
	}
	before, err := contentOf(text)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoYAML, err)
	}
	if trimmed := blanksAtEnd.ReplaceAll(text, nil); before.isThatOf(trimmed) { // else they are a part of a text
		text = trimmed
	}
	formed, err := formatter.Format(text)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoYAML, err)
	}
	if tidied := commaAtEnd.ReplaceAll(formed, []byte("$1")); before.isThatOf(tidied) {
		formed = tidied
	}
	if !before.isThatOf(formed) {
		return nil, ErrChanged
	}
	return formed, nil
}

var (
	blanksAtEnd = regexp.MustCompile(`(?m)[ \t\r]+$`)
	// commaAtEnd is what the formatter writes for a flow mapping or list with a comment in the lines below it.
	commaAtEnd = regexp.MustCompile(`(?m),([}\]])$`)
)

// content is what a form must not change.
type content struct {
	value    any
	comments []string
}

func (c content) isThatOf(text []byte) bool {
	other, err := contentOf(text)
	return err == nil && reflect.DeepEqual(c, other)
}

func contentOf(text []byte) (content, error) {
	var (
		found content
		root  yaml.Node
	)
	if err := yaml.Unmarshal(text, &root); err != nil {
		return found, err
	}
	if root.Kind == 0 {
		return found, nil // nothing but blanks and comments
	}
	found.comments = commentsIn(&root)
	slices.Sort(found.comments) // the parser may give a comment to another node than before
	return found, root.Decode(&found.value)
}

func commentsIn(node *yaml.Node) (all []string) {
	for _, comment := range []string{node.HeadComment, node.LineComment, node.FootComment} {
		for line := range strings.Lines(comment) {
			if line = strings.TrimSpace(line); line != "" {
				all = append(all, line)
			}
		}
	}
	for _, child := range node.Content {
		all = append(all, commentsIn(child)...)
	}
	return all
}
