package artifacts

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// Phase is a part of the life of a cluster.
type Phase string

// Phases in their order.
const (
	PhaseGenerate  Phase = "generate"
	PhaseProvision Phase = "provision"
	PhaseBootstrap Phase = "bootstrap"
	PhaseAddons    Phase = "addons"
)

var phases = []Phase{PhaseGenerate, PhaseProvision, PhaseBootstrap, PhaseAddons}

// phaseOf is the phase that makes a resource: the first rule that fits.
func phaseOf(kind tokens.Type) Phase {
	for _, rule := range []struct {
		prefix string
		phase  Phase
	}{
		{"proxmoxve:", PhaseProvision},
		{"talos:imageFactory/", PhaseProvision},
		{"talos:machine/secrets:", PhaseGenerate},
		{"talos:", PhaseBootstrap},
		{"command:", PhaseBootstrap},
		{"kubernetes:", PhaseAddons},
	} {
		if strings.HasPrefix(string(kind), rule.prefix) {
			return rule.phase
		}
	}
	return PhaseGenerate
}
