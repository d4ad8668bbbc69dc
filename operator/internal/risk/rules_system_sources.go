package risk

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// isSource reports whether a step is that of a Command that makes the template of an image, or has a host download an ISO or a template of
// containers.
func isSource(s plan.Step) bool {
	return s.URN.Type() == token.Command && strings.Contains(propertymap.Text(s.Present(), "create"), " image ")
}

// sourceOfSystems matches the Commands of what systems are made from.
func sourceOfSystems(s plan.Step, _ topology) bool { return s.Op != apitype.OpSame && isSource(s) }

// sourcesAfter returns the names of the Commands that a run leaves, by the volumes that they have hosts download.
func sourcesAfter(all []plan.Step) map[string][]string {
	sources := map[string][]string{}
	for _, s := range all {
		if s.Op != apitype.OpDelete && isSource(s) && !isTemplate(s) {
			_, volume := downloadOf(s.Present())
			sources[volume] = append(sources[volume], s.URN.Name())
		}
	}
	return sources
}

// isTemplate reports whether a Command makes a template, which it deletes; a file that was downloaded stays.
func isTemplate(s plan.Step) bool { return propertymap.Text(s.Present(), "delete") != "" }

// downloadOf returns the host and the volume of a download, which end the text of its Command.
func downloadOf(inputs map[string]any) (host, volume string) {
	words := strings.Fields(propertymap.Text(inputs, "create"))
	return words[len(words)-2], words[len(words)-1]
}

// sourceChanged: another file of a download is another volume, beside the one from before.
func sourceChanged(s plan.Step, t topology) *Finding {
	f := &Finding{Kind: kinds[s.Op], Subject: s.URN.Name(), rank: rankRest}
	if isTemplate(s) {
		f.What = []string{"template of an image"}
		if s.Op != apitype.OpCreate {
			f.Means = []string{"machines that were cloned from it do not notice"}
		}
		return f
	}
	if s.Op == apitype.OpDelete {
		f.Kind = Change
		f.addGivenUp(s, t)
		return f
	}
	_, volume := downloadOf(s.New)
	f.What = []string{volume + ", unless the host has it"}
	if s.Op == apitype.OpReplace {
		f.Kind = Create
		if _, before := downloadOf(s.Old); before != volume {
			f.addGivenUp(s, t)
		}
	}
	return f
}

// addGivenUp adds that a file stays, and how to remove it. The file of another host can be the same one, if both have the storage.
func (f *Finding) addGivenUp(s plan.Step, t topology) {
	host, volume := downloadOf(s.Old)
	if others := t.sources[volume]; len(others) > 0 {
		f.What = append(f.What, fmt.Sprintf("%s is still needed by %s, and stays", volume, strings.Join(others, " and ")))
		return
	}
	once := "nothing else uses it"
	if strings.Contains(volume, ":iso/") {
		once = "no machine and no snapshot has it in its drive"
	}
	f.What = append(f.What, fmt.Sprintf("%s is not needed any more, and stays on %s", volume, host))
	f.Means = append(f.Means, fmt.Sprintf("to remove it, once %s, as root on %s: `pvesm free %s`", once, host, volume))
}
