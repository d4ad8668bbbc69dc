package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// RuleFile is the name of the file in which sops looks for the recipients of a new file, from the current folder upwards.
const RuleFile = ".sops.yaml"

// WriteRule sets the recipients of the secrets of a folder in the rules of the project's root, for plain `sops`. The first rule that
// matches counts, so a new one comes first; the others are unchanged. A folder outside the project gets a file of its own.
func WriteRule(root, dir string, recipients []string) (string, error) {
	relative, err := filepath.Rel(root, dir)
	if err != nil || strings.HasPrefix(relative, "..") {
		root, relative = dir, "."
	}
	pattern := "^" + regexp.QuoteMeta(filepath.ToSlash(filepath.Join(relative, File))) + "$"
	path := filepath.Join(root, RuleFile)
	text, err := os.ReadFile(path) //nolint:gosec // in the project
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	changed, err := withRule(text, pattern, strings.Join(recipients, ","))
	if err != nil {
		return "", fmt.Errorf("%s %w: it needs a list creation_rules, so correct it or move it away", path, err)
	}
	return path, atomicfile.Write(path, changed, 0o644)
}

// withRule returns the text of a file of rules with a rule in it.
func withRule(text []byte, pattern, recipients string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, ErrInvalid
	}
	if document.Kind == 0 {
		document = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	top := document.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, ErrInvalid
	}
	rules := entry(top, "creation_rules")
	if rules == nil {
		rules = &yaml.Node{Kind: yaml.SequenceNode}
		top.Content = append(top.Content, scalar("creation_rules"), rules)
	}
	if rules.Kind != yaml.SequenceNode {
		return nil, ErrInvalid
	}
	setRule(rules, pattern, recipients)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// setRule sets the recipients of the rule with a pattern, or puts a new one in front.
func setRule(rules *yaml.Node, pattern, recipients string) {
	for _, rule := range rules.Content {
		if found := entry(rule, "path_regex"); found == nil || found.Value != pattern {
			continue
		}
		if ages := entry(rule, "age"); ages != nil {
			*ages = *scalar(recipients)
		} else {
			rule.Content = append(rule.Content, scalar("age"), scalar(recipients))
		}
		return
	}
	rule := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		scalar("path_regex"), scalar(pattern), scalar("age"), scalar(recipients),
	}}
	rules.Content = append([]*yaml.Node{rule}, rules.Content...)
}

// entry returns the value of a key in a mapping; nil if there is none.
func entry(mapping *yaml.Node, key string) *yaml.Node {
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func scalar(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }
