package operator

import (
	"errors"
	"fmt"
	"slices"
)

// layers are the kinds of stacks from the lowest layer up: each stands on the ones before it.
var layers = []Kind{KindHosts, KindSystems, KindPlatform}

// StacksByLayer returns the stacks of the project that a folder belongs to in the order in which they are brought up: hosts, then systems, such as
// the site's DNS, then platforms; those of one layer by their names. An empty folder is the current one. Only files are read. A project
// without stacks and one with a stack whose files are wrong are refused.
func StacksByLayer(folder string) ([]StackSummary, error) {
	found, err := Stacks(folder)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, refused(errors.New("this project has no stack: make one with `em-infra init`"))
	}
	var problems []error
	for _, one := range found {
		if one.Problem != "" {
			problems = append(problems, fmt.Errorf("%s: %s", one.Stack, one.Problem))
		}
	}
	if len(problems) > 0 {
		return nil, refused(errors.Join(problems...))
	}
	slices.SortStableFunc(found, func(a, b StackSummary) int { return slices.Index(layers, a.Kind) - slices.Index(layers, b.Kind) })
	return found, nil
}
