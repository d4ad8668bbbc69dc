package cause

import (
	"regexp"
	"strings"

	"github.com/em-infra/em-infra/operator/internal/explain"
	"github.com/em-infra/em-infra/operator/internal/progress"
)

// once removes the wrappings of other programs from failures, and drops repeated reports about the same resource.
func once(failures []progress.Failure) []progress.Failure {
	var reported []progress.Failure
	for _, failure := range failures {
		failure.Text = bare(failure.Text)
		repeated := false
		for i, before := range reported {
			if before.Name != failure.Name || before.Phase != failure.Phase || !repeats(before.Text, failure.Text) {
				continue
			}
			repeated = true
			if len(failure.Text) > len(before.Text) {
				reported[i].Text = failure.Text
			}
		}
		if !repeated {
			reported = append(reported, failure)
		}
	}
	return reported
}

// repeats reports whether one of two texts about a resource contains the other, or both have the same explanations.
func repeats(a, b string) bool {
	if strings.Contains(a, b) || strings.Contains(b, a) {
		return true
	}
	known, again := explain.Text(a), explain.Text(b)
	if len(known) == 0 || len(known) != len(again) {
		return false
	}
	for i := range known {
		if known[i].Name != again[i].Name || known[i].Said != again[i].Said {
			return false
		}
	}
	return true
}

// The wrappings that other programs add to an error.
var wrappings = []*regexp.Regexp{
	// the log of the bridge (pulumi-terraform-bridge, unstable/logging): place, logger, text, provider
	regexp.MustCompile(`^\s*[\w./-]+\.go:\d+: [\w.-]+: `),
	regexp.MustCompile(`: provider=\S+@[\w.+-]+\s*$`),
	// hashicorp/go-multierror, ListFormatFunc, of one error; the bridge nests them
	regexp.MustCompile(`^1 error occurred:\s*\* `),
	// pulumi-terraform-bridge pkg/tfbridge/provider.go: the operation and its resource
	regexp.MustCompile(`^(?:creating|updating|deleting|reading) urn:\S+: `),
	// pulumi-command, a command that failed: its exit status and its text
	regexp.MustCompile(`^exit status \d+: running "[^\n]*":\n`),
}

// bare returns a text without its wrappings.
func bare(text string) string {
	for text = strings.TrimSpace(text); ; {
		before := text
		for _, wrapping := range wrappings {
			text = strings.TrimSpace(wrapping.ReplaceAllString(text, ""))
		}
		if text == before {
			return text
		}
	}
}

// Node is a node of the cluster.
type Node struct {
	// Name is the node's name in the inventory.
	Name string
	// Logical is the prefix of the names of its resources (components.NodeName).
	Logical string
}

// nodeOf returns the name of a resource's node; empty if it belongs to none. If several names match, such as worker-1 and
// worker-1-b, the longest counts.
func nodeOf(resource string, nodes []Node) string {
	found := Node{}
	for _, node := range nodes {
		if strings.HasPrefix(resource, node.Logical+"-") && len(node.Logical) > len(found.Logical) {
			found = node
		}
	}
	return found.Name
}

// names reports whether a text contains a node's name, and not only as a part of another name.
func names(text, node string) bool {
	for rest := text; ; {
		at := strings.Index(rest, node)
		if at < 0 {
			return false
		}
		before, after := rest[:at], rest[at+len(node):]
		if !endsInName(before) && !beginsInName(after) {
			return true
		}
		rest = after
	}
}

func endsInName(text string) bool { return text != "" && isNameByte(text[len(text)-1]) }

func beginsInName(text string) bool { return text != "" && isNameByte(text[0]) }

func isNameByte(b byte) bool {
	return b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
