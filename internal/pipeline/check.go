package pipeline

import (
	"fmt"
	"regexp"
)

// plain matches names that need no quotes in YAML, in a shell and in an expression of a forge.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// Check refuses names that a pipeline cannot contain.
func (p Pipeline) Check() error {
	for _, name := range []struct{ flag, value string }{{"--stack", p.Stack}, {"--runner", p.Runner}, {"--branch", p.Branch}} {
		if !plain.MatchString(name.value) {
			return fmt.Errorf("%s: %q has characters that a pipeline would interpret: use letters, digits, dots, hyphens, underscores and slashes", name.flag, name.value)
		}
	}
	return nil
}
