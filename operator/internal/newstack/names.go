package newstack

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// longestNode is the longest end of the name of a node, which begins with that of its cluster.
const longestNode = "-control-99"

// CheckNames checks what the new files get their names from. The error names the flag: its reader has no file yet.
func (a Answers) CheckNames() error {
	if a.Kind == manifest.Hosts || a.Kind == manifest.Systems {
		return checkName("--stack", a.Stack, "", "the resources of the stack are named after it", "")
	}
	if a.Cluster != "" {
		return checkCluster("--cluster", a.Cluster, "")
	}
	return checkCluster("--stack", a.Stack, ", or name the cluster with --cluster")
}

func checkCluster(flag, name, otherwise string) error {
	return checkName(flag, name, longestNode, "the cluster and its nodes are named after it", otherwise)
}

// checkName checks a name that others begin with. A missing name is not checked.
func checkName(flag, name, end, because, otherwise string) error {
	isValid := func(name string) bool { return len(validation.IsDNS1123Label(name+end)) == 0 }
	if name == "" || isValid(name) {
		return nil
	}
	do := "choose another name"
	guess := strings.Trim(strings.NewReplacer("_", "-", ".", "-", " ", "-").Replace(strings.ToLower(name)), "-")
	if isValid(guess) {
		do += ", such as " + guess
	}
	return fmt.Errorf("%s: %q is not valid, because %s (a-z, 0-9 and -, a letter or digit first and last, at most %d characters): %s%s",
		flag, name, because, validation.DNS1123LabelMaxLength-len(end), do, otherwise)
}
