package hosts

import (
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// ItemProblem returns a problem of an item of a list, such as storages, that only a run can find, such as a missing password, in the form of the
// problems of [Load].
func (i *Inventory) ItemProblem(list string, index int, problem strictyaml.Fault) manifest.Problem {
	at := key(list).Index(index)
	found := strictyaml.Finding{Path: at.String(), Fault: problem}
	found.Line, found.Column = i.source.Position(at)
	return manifest.Problem{File: filepath.Join(i.Dir, manifest.HostsFile), Finding: found}
}
