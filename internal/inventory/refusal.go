package inventory

import (
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// ClusterProblem returns a problem that only a run can find, such as a missing file that the inventory names, in the form of
// the problems of [Load]. The keys lead to the value in cluster.yaml.
func (i *Inventory) ClusterProblem(fault strictyaml.Fault, keys ...string) Problem {
	at := key(keys...)
	finding := strictyaml.Finding{Path: at.String(), Fault: fault}
	finding.Line, finding.Column = i.clusterSource.Position(at)
	return Problem{File: filepath.Join(i.Dir, ClusterFile), Finding: finding}
}
