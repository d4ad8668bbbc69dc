package risk

import (
	"slices"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/machineupdate"
)

// addChanges adds what the change of each property of a machine does, and returns whether a disk grows.
func (f *Finding) addChanges(s plan.Step, of func(path string, before, after map[string]any) (machineupdate.Change, bool)) (grows bool) {
	for _, path := range s.Changed {
		change, isInput := of(path, s.Old, s.New)
		if !isInput {
			continue
		}
		words := change.Difference()
		if change.Moves() {
			f.Means = append(f.Means, "it moves there as it runs")
		}
		if why := change.Refusal(); why != "" {
			f.Kind, f.Means = Impossible, nil
			words += " " + why
			f.Undo = appendNew(f.Undo, change.Undo())
		}
		if change.Effect() != machineupdate.InPlace {
			f.Kind = max(f.Kind, Reboot)
		}
		grows = grows || change.Grows()
		f.What = appendNew(f.What, words)
	}
	if s.Failed && len(f.What) == 0 {
		f.What = append(f.What, "its creation or its last change failed half way: it is tried again")
	}
	return grows
}

// appendNew adds a text to texts that do not have it.
func appendNew(texts []string, text string) []string {
	if slices.Contains(texts, text) {
		return texts
	}
	return append(texts, text)
}
