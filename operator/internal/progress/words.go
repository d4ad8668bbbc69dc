package progress

import (
	"regexp"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// operationWords describe what the engine does with a resource; empty for an operation without effect.
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

// outcome describes the result of an operation on a resource.
func outcome(step apitype.StepEventMetadata) string {
	deleted := step.Op == apitype.OpDelete || step.Op == apitype.OpDeleteReplaced
	if deleted && step.Old != nil && step.Old.RetainOnDelete {
		return "forgotten; it stays on the host"
	}
	return words(step.Op).done
}

// times are the durations of an operation.
type times struct {
	usually time.Duration // zero if not known
	atMost  time.Duration // the time limit; zero if it has none of its own
}

// machineLimit is the provider's time limit for an operation on a machine. Its own, longer timeouts have no effect: its resource
// declares no timeouts, so the default holds, and an engine's customTimeouts are ignored (pulumi/terraform-plugin-sdk v2,
// helper/schema/resource_data.go, Timeout; pulumi-terraform-bridge v3.99.0, pkg/tfshim/sdk-v2/provider2.go, configWithTimeouts).
const machineLimit = 20 * time.Minute

// usual are the durations of operations on a small server with ZFS and a line of 100 Mbit/s, as in the lab at time scale 1
// (docs/testing.md), and their limits: the provider's (siderolabs/terraform-provider-talos v0.10.1), the component's, or the
// defaults of the providers' libraries.
var usual = []struct {
	kind      tokens.Type
	operation apitype.OpType
	takes     times
}{
	{token.VirtualMachine, apitype.OpCreate, times{15 * time.Second, machineLimit}},
	{token.VirtualMachine, apitype.OpUpdate, times{2 * time.Minute, machineLimit}},
	{token.VirtualMachine, apitype.OpDelete, times{15 * time.Second, machineLimit}},
	{token.Configuration, apitype.OpCreate, times{30 * time.Second, 15 * time.Minute}},
	{token.Configuration, apitype.OpUpdate, times{2 * time.Minute, 0}}, // the lane has limits of its own
	{token.Bootstrap, apitype.OpCreate, times{30 * time.Second, 10 * time.Minute}},
	{token.Kubeconfig, apitype.OpCreate, times{10 * time.Second, 10 * time.Minute}},
	{token.Command, apitype.OpCreate, times{2 * time.Minute, 15 * time.Minute}},
	{token.Command, apitype.OpDelete, times{2 * time.Minute, 0}},
	{token.Release, apitype.OpCreate, times{2 * time.Minute, 0}},
	{token.Release, apitype.OpUpdate, times{2 * time.Minute, 0}},
}

// timesOf returns the durations of an operation; zero if they are not known.
func timesOf(kind tokens.Type, operation apitype.OpType) times {
	for _, known := range usual {
		if known.kind == kind && known.operation == operation {
			return known.takes
		}
	}
	return times{}
}

// tellsItsWait reports whether the ephemeral messages during an operation describe its wait: they come from our hooks or Commands.
// The messages of a Command during a removal are reported as notes.
func tellsItsWait(kind tokens.Type, operation apitype.OpType) bool {
	switch operation {
	case apitype.OpCreate, apitype.OpCreateReplacement:
		return kind == token.Configuration || kind == token.Command
	case apitype.OpUpdate:
		return kind == token.Configuration || kind == token.VirtualMachine
	default:
		return false
	}
}

// colors matches the engine's colour marks.
var colors = regexp.MustCompile(`<\{%[^%]*%\}>`)

// unhandled matches the SDK's prefix of a program's error (pulumi sdk/v3 v3.254.0, go/pulumi/run.go, and go-multierror).
var unhandled = regexp.MustCompile(`^an unhandled error occurred: (?:program failed: )?(?:\d+ errors? occurred:\s*\* )?`)

// isPassing reports whether a message is for debugging, or is ephemeral. The ephemeral messages of our own Commands count as notes.
func isPassing(message apitype.DiagnosticEvent) bool {
	urn := resource.URN(message.URN)
	ours := urn.IsValid() && urn.Type() == token.Command
	return message.Severity == "debug" || message.Ephemeral && !ours
}

// isHarmless reports whether a message needs no attention, regardless of its severity.
func isHarmless(text string) bool {
	// v6.18.1 of the provider creates a CD-ROM drive only if `enabled` is set; newer code deprecates that (docs/testing.md).
	return strings.Contains(text, "Set `file_id` to `none` to leave the CDROM drive empty")
}
