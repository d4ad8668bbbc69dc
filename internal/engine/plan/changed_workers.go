package plan

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// ChangedWorkers returns the URNs of all resources of the workers that exist and are changed or removed. A removal deletes a Node, and a
// change may restart the machine, whose Talos API needs a control plane for its certificate: both end only when Kubernetes answers.
func ChangedWorkers(steps []Step) []string {
	var urns []string
	for _, member := range steps {
		removal := propertymap.Text(member.Old, "delete")
		if member.URN.Type() != token.Command || !strings.Contains(removal, " node remove ") || strings.HasSuffix(removal, " --control-plane") {
			continue
		}
		name := strings.TrimSuffix(member.URN.Name(), "-membership")
		var own []string
		changes := false
		for _, s := range steps {
			if s.URN == member.URN || s.URN.Name() == name || s.Parent != "" && s.Parent.Name() == name {
				own, changes = append(own, string(s.URN)), changes || s.Op != apitype.OpSame
			}
		}
		if changes {
			urns = append(urns, own...)
		}
	}
	return urns
}
