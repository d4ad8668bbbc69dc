package secrets

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// RuleFile is the name of the file in which sops looks for the recipients of a new file, from the current folder upwards.
const RuleFile = ".sops.yaml"

// place is where the rules for the secrets of a folder are.
type place struct {
	// rules is the path of the file of rules, which need not exist.
	rules string
	// file is the path of the secrets from the folder of that file, as path_regex sees it.
	file string
}

// placeOf returns the nearest file of rules from the project's root up to the root of its Git repository, as sops finds it when it runs in the
// project's root. Without any, it is a new file in the project's root. For a folder outside the project, the search begins in that folder.
func placeOf(root, dir string) (place, error) {
	if relative, err := filepath.Rel(root, dir); err != nil || strings.HasPrefix(relative, "..") {
		root = dir
	}
	rules := nearestRules(root)
	file, err := filepath.Rel(filepath.Dir(rules), filepath.Join(dir, File))
	return place{rules: rules, file: filepath.ToSlash(file)}, err
}

// nearestRules searches from a folder up to that of its Git repository. It ignores rules above the repository, which belong to other work of its
// owner.
func nearestRules(folder string) string {
	own, found := filepath.Join(folder, RuleFile), ""
	for at := folder; ; at = filepath.Dir(at) {
		if found == "" && exists(filepath.Join(at, RuleFile)) {
			found = filepath.Join(at, RuleFile)
		}
		if exists(filepath.Join(at, ".git")) {
			return cmp.Or(found, own)
		}
		if at == filepath.Dir(at) {
			return own
		}
	}
}

// exists reports whether there is something at a path. It is true for a path that cannot be examined, whose reading then fails.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// pattern is a path_regex for the secrets alone.
func (p place) pattern() string { return "^" + regexp.QuoteMeta(p.file) + "$" }

// read returns the text of the rules; none without a file.
func (p place) read() ([]byte, error) {
	text, err := os.ReadFile(p.rules)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// WriteRule sets the recipients of the secrets of a folder in the rules of the project, for plain `sops`. sops uses the first rule that matches, so
// the rule of the file comes first; the others are unchanged. A folder outside the project has rules of its own.
func WriteRule(root, dir string, recipients []string) (string, error) {
	p, err := placeOf(root, dir)
	if err != nil {
		return "", err
	}
	text, err := p.read()
	if err != nil {
		return "", err
	}
	changed, err := withRule(text, p.pattern(), strings.Join(recipients, ","))
	if err != nil {
		return "", p.invalid(err)
	}
	return p.rules, atomicfile.Write(p.rules, changed, 0o644)
}

// invalid is the error of a file that has no list of rules.
func (p place) invalid(err error) error {
	return fmt.Errorf("%s %w: it needs a list creation_rules, so correct it or move it away", p.rules, err)
}

// withRule returns the text of a file of rules with a rule in it.
func withRule(text []byte, pattern, recipients string) ([]byte, error) {
	document, rules, err := parsedRules(text)
	if err != nil {
		return nil, err
	}
	setRule(rules, pattern, recipients)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(document); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// parsedRules returns the document of a file of rules and its list, which is new if there is none.
func parsedRules(text []byte) (document, rules *yaml.Node, err error) {
	document = &yaml.Node{}
	if err := yaml.Unmarshal(text, document); err != nil {
		return nil, nil, ErrInvalid
	}
	if document.Kind == 0 {
		document = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	top := document.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, nil, ErrInvalid
	}
	rules = entry(top, "creation_rules")
	if rules == nil {
		rules = &yaml.Node{Kind: yaml.SequenceNode}
		top.Content = append(top.Content, scalar("creation_rules"), rules)
	}
	if rules.Kind != yaml.SequenceNode {
		return nil, nil, ErrInvalid
	}
	return document, rules, nil
}

// setRule sets the recipients of the rule with a pattern, or makes one, and puts it in front.
func setRule(rules *yaml.Node, pattern, recipients string) {
	at := slices.IndexFunc(rules.Content, func(rule *yaml.Node) bool {
		found := entry(rule, "path_regex")
		return found != nil && found.Value == pattern
	})
	if at < 0 {
		rules.Content = slices.Insert(rules.Content, 0, &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
			scalar("path_regex"), scalar(pattern), scalar("age"), scalar(recipients),
		}})
		return
	}
	rule := rules.Content[at]
	if ages := entry(rule, "age"); ages != nil {
		*ages = *scalar(recipients)
	} else {
		rule.Content = append(rule.Content, scalar("age"), scalar(recipients))
	}
	rules.Content = slices.Insert(slices.Delete(rules.Content, at, at+1), 0, rule)
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
