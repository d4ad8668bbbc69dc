package secrets

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	"go.yaml.in/yaml/v3"
)

// ErrSeveralGroups is the error of a rule that splits the data key.
var ErrSeveralGroups = errors.New("has several groups of keys")

// RuleRecipients returns the age recipients that the rules of the project have for the secrets of a folder: those of the first rule whose
// path_regex matches, or that has none, as sops selects it (parseCreationRuleForFile of its package config). Without such a rule there
// are none. A rule with keys of other kinds returns [ErrOtherKeys], one with several groups [ErrSeveralGroups]: a new file cannot be
// encrypted for those here.
func RuleRecipients(root, dir string) ([]string, error) {
	p, err := placeOf(root, dir)
	if err != nil {
		return nil, err
	}
	text, err := p.read()
	if err != nil {
		return nil, err
	}
	_, rules, err := parsedRules(text)
	if err != nil {
		return nil, p.invalid(err)
	}
	file := filepath.FromSlash(p.file)
	if matches, err := p.matched(rules, file); err != nil || !matches {
		return nil, err
	}
	rule, err := config.LoadCreationRuleForFile(p.rules, filepath.Join(filepath.Dir(p.rules), file), nil)
	if err != nil { // the library's error may quote a key
		return nil, fmt.Errorf("%s %w: its rule for %s cannot be read, so correct that", p.rules, ErrInvalid, p.file)
	}
	return p.recipients(rule.KeyGroups)
}

// matched reports whether a rule is for the file.
func (p place) matched(rules *yaml.Node, file string) (bool, error) {
	for _, rule := range rules.Content {
		pattern := entry(rule, "path_regex")
		if pattern == nil || pattern.Value == "" {
			return true, nil
		}
		matches, err := regexp.MatchString(pattern.Value, file)
		if err != nil {
			return false, fmt.Errorf("%s %w: the path_regex %q is no regular expression, so correct it", p.rules, ErrInvalid, pattern.Value)
		}
		if matches {
			return true, nil
		}
	}
	return false, nil
}

// recipients returns the age keys of the groups of a rule.
func (p place) recipients(groups []sops.KeyGroup) ([]string, error) {
	do := fmt.Sprintf("put a rule with path_regex %s and only age recipients before it", p.pattern())
	if len(groups) > 1 {
		return nil, fmt.Errorf("the rule of %s for %s %w: %s", p.rules, p.file, ErrSeveralGroups, do)
	}
	var recipients, others []string
	for _, key := range slices.Concat(groups...) {
		if mine, is := key.(*age.MasterKey); is {
			recipients = append(recipients, mine.Recipient)
		} else if kind := key.TypeToIdentifier(); !slices.Contains(others, kind) {
			others = append(others, kind)
		}
	}
	if len(others) > 0 {
		return nil, fmt.Errorf("the rule of %s for %s %w (%s): %s", p.rules, p.file, ErrOtherKeys, strings.Join(others, ", "), do)
	}
	return recipients, nil
}
