package drift

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// Resources returns the changes that a preview would make after a refresh: they are the drift of the host from the inventory.
// Changes that were not applied yet are included.
func Resources(steps []plan.Step) []Difference {
	var differences []Difference
	for _, step := range steps {
		name := step.URN.Name()
		switch {
		case token.IsAbstract(string(step.URN.Type())):
			continue // components and providers are not on the host
		case step.Op == apitype.OpCreate:
			differences = append(differences, Difference{Subject: name, Property: "existence", Want: "there", Have: "absent"})
		case step.Op == apitype.OpDelete:
			differences = append(differences, Difference{Subject: name, Property: "existence", Want: "absent", Have: "there"})
		case step.Op == apitype.OpReplace && len(step.Changed) == 0:
			differences = append(differences, Difference{Subject: name, Property: "existence", Want: "made anew", Have: "there"})
		case step.Op == apitype.OpUpdate || step.Op == apitype.OpReplace:
			for _, path := range step.Changed {
				differences = append(differences, Difference{name, path, shown(propertymap.At(step.New, path)), shown(propertymap.At(step.Old, path))})
			}
		}
	}
	return differences
}

// shown returns a value as text; the engine has removed secrets.
func shown(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
