package lives_test

import (
	"context"
	"os/exec"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// emOn returns a command of em-infra on the stack of a layer.
func (f *life) emOn(layer site.Layer, args ...string) *exec.Cmd {
	stack, beside := f.lane.beside[layer]
	if !beside {
		stack = f.stack
	}
	return stack.Command(context.Background(), append(args, stack.On()...)...)
}

// commandOfLayers is the command line of what is run of the layers beside the cluster, or of the whole site.
func (f *life) commandOfLayers(what string) (*exec.Cmd, bool) {
	f.t.Helper()
	layer, verb, _ := strings.Cut(what, "-")
	if f.layers == nil || !slices.Contains([]string{"hosts", "systems", "site"}, layer) {
		return nil, false
	}
	if verb == "pulumi" {
		return f.pulumiOn(f.lane.beside[site.Layer(layer)]), true
	}
	args := slices.Clone(arguments[verb])
	if layer == "site" {
		return f.onSite(args...), true
	}
	if what == "systems-up" {
		args = append(args, f.consentsOfSystems()...)
	}
	return f.emOn(site.Layer(layer), args...), true
}

// consentsOfSystems returns the flags for the systems that an up removes or replaces.
func (f *life) consentsOfSystems() (flags []string) {
	f.t.Helper()
	for _, m := range f.see().Systems {
		if m.Template {
			continue
		}
		if one, stays := f.site.Layers.Systems.Find(m.Name); !stays {
			flags = append(flags, "--allow-delete", m.Name)
		} else if one.VMID != m.VMID {
			flags = append(flags, "--allow-replace", m.Name)
		}
	}
	return flags
}

// ups are the runs that bring all stacks up, the lowest layer first.
func (f *life) ups() []string {
	var ups []string
	if f.layers != nil {
		ups = append(ups, "hosts-up", "systems-up")
	}
	if f.site.HasCluster() {
		ups = append(ups, "up")
	}
	return ups
}

// previews are those of all stacks.
func (f *life) previews() []string {
	var previews []string
	for _, up := range f.ups() {
		previews = append(previews, strings.TrimSuffix(up, "up")+"preview")
	}
	return previews
}

// giveUpLayers allows the loss of what a run may remove, since all plans are consented to. Only an up of the systems alone passes the consents; an up
// of the engine alone needs none.
func (f *life) giveUpLayers(what string) {
	f.t.Helper()
	if f.layers == nil {
		return
	}
	if what == "systems-up" || what == "systems-pulumi" {
		for _, m := range f.see().Systems {
			if one, stays := f.site.Layers.Systems.Find(m.Name); !stays || one.VMID != m.VMID {
				f.layers.keeper.GiveUp(m.VMID)
			}
		}
	}
	f.layers.datasets.Run(what, f.site.Layers.Storage, f.layers.madeDatasets)
}

// disturb records that a fault or a kill in a run may have left something behind. With layers, only the stack of the run is concerned.
func (f *life) disturb(what string) {
	if f.layers == nil {
		f.disturbed = true
		return
	}
	f.layers.leftovers.Disturb(what)
}

// revertStaged reverts what was staged by hand, as a refusal says.
func (f *life) revertStaged(output string) {
	f.t.Helper()
	if f.layers == nil || !f.layers.leftovers.Staged || !strings.Contains(output, "another user has staged changes") {
		return
	}
	f.say("  remedy: revert what is staged")
	require.NoError(f.t, f.api().Delete(f.t.Context(), "/nodes/"+site.Host(1)+"/network", nil))
	f.layers.leftovers.Staged = false
}
