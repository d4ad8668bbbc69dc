package plan

import (
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// RemovedWorkers returns the URNs of all resources of the workers whose memberships are deleted or replaced. Each removal deletes a Node,
// so the Kubernetes API has to answer.
func RemovedWorkers(steps []Step) []string {
	var members, nodes []string
	for _, s := range steps {
		if s.URN.Type() != token.Command || s.Op != apitype.OpDelete && s.Op != apitype.OpReplace {
			continue
		}
		if removal := propertymap.Text(s.Old, "delete"); strings.Contains(removal, " node remove ") && !strings.HasSuffix(removal, " --control-plane") {
			members, nodes = append(members, string(s.URN)), append(nodes, strings.TrimSuffix(s.URN.Name(), "-membership"))
		}
	}
	var urns []string
	for _, s := range steps {
		if slices.Contains(members, string(s.URN)) || slices.Contains(nodes, s.URN.Name()) || s.Parent != "" && slices.Contains(nodes, s.Parent.Name()) {
			urns = append(urns, string(s.URN))
		}
	}
	return urns
}
