package progress

import (
	"regexp"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// operationWords say what the engine does with a resource. Those of an operation that does nothing are empty.
type operationWords struct{ doing, done string }

func words(kind apitype.OpType) operationWords {
	switch kind {
	case apitype.OpCreate, apitype.OpCreateReplacement:
		return operationWords{"being created", "created"}
	case apitype.OpUpdate:
		return operationWords{"being changed", "changed"}
	case apitype.OpDelete, apitype.OpDeleteReplaced:
		return operationWords{"being deleted", "deleted"}
	case apitype.OpRefresh:
		return operationWords{"being read", "read"}
	case apitype.OpImport, apitype.OpImportReplacement:
		return operationWords{"being imported", "imported"}
	default:
		return operationWords{}
	}
}

// outcome says what has become of a resource when an operation on it has ended.
func outcome(step apitype.StepEventMetadata) string {
	deleted := step.Op == apitype.OpDelete || step.Op == apitype.OpDeleteReplaced
	if deleted && step.Old != nil && step.Old.RetainOnDelete {
		return "forgotten; it stays on the host"
	}
	return words(step.Op).done
}

// usual are the times that operations take on a small server with ZFS and a line of 100 Mbit/s, as the lab assumes them at
// time scale 1 (docs/testing.md).
var usual = []struct {
	kind      tokens.Type
	operation apitype.OpType
	takes     time.Duration
}{
	{"proxmoxve:VM/virtualMachine:VirtualMachine", apitype.OpCreate, 15 * time.Second},
	{"proxmoxve:VM/virtualMachine:VirtualMachine", apitype.OpUpdate, 2 * time.Minute},
	{"talos:machine/configurationApply:ConfigurationApply", apitype.OpCreate, 30 * time.Second},
	{"talos:machine/configurationApply:ConfigurationApply", apitype.OpUpdate, 2 * time.Minute},
	{"command:local:Command", apitype.OpCreate, 2 * time.Minute},
	{"command:local:Command", apitype.OpDelete, 2 * time.Minute},
	{"kubernetes:helm.sh/v3:Release", apitype.OpCreate, 2 * time.Minute},
	{"kubernetes:helm.sh/v3:Release", apitype.OpUpdate, 2 * time.Minute},
}

// expected is how long an operation usually takes; zero when nobody knows.
func expected(kind tokens.Type, operation apitype.OpType) time.Duration {
	for _, known := range usual {
		if known.kind == kind && known.operation == operation {
			return known.takes
		}
	}
	return 0
}

// colors are the engine's own marks for colours.
var colors = regexp.MustCompile(`<\{%[^%]*%\}>`)

// unhandled is what the SDK puts before the error of a program (pulumi sdk/v3 v3.254.0, go/pulumi/run.go, and go-multierror).
var unhandled = regexp.MustCompile(`^an unhandled error occurred: (?:program failed: )?(?:\d+ errors? occurred:\s*\* )?`)

// isPassing reports whether a message is for somebody who looks into the engine, or is gone as soon as the next comes. What our
// own operations say comes that way, too, and counts.
func isPassing(message apitype.DiagnosticEvent) bool {
	urn := resource.URN(message.URN)
	ours := urn.IsValid() && urn.Type() == "command:local:Command"
	return message.Severity == "debug" || message.Ephemeral && !ours
}

// isHarmless reports whether a message needs nobody's attention, whatever its tone.
func isHarmless(text string) bool {
	// v6.18.1 of the provider makes a CD-ROM drive only when `enabled` says so; newer code deprecates that (docs/testing.md).
	return strings.Contains(text, "Set `file_id` to `none` to leave the CDROM drive empty")
}
