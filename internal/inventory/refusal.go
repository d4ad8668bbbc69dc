package inventory

import (
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// ClusterProblem returns a problem that only those see who use the inventory, such as a file that it names and that is not
// there, in the words and with the place of those that [Load] finds. The keys lead to the value in cluster.yaml.
func (i *Inventory) ClusterProblem(fault strictyaml.Fault, keys ...string) Problem {
	at := key(keys...)
	finding := strictyaml.Finding{Path: at.String(), Fault: fault}
	finding.Line, finding.Column = i.clusterSource.Position(at)
	return Problem{File: filepath.Join(i.Dir, ClusterFile), Finding: finding}
}

// OrNil is the problems as an error, sorted; nil when there are none.
func (p Problems) OrNil() error {
	if len(p) == 0 {
		return nil
	}
	p.sort()
	return &p
}
