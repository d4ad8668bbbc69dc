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

// giveUpLayers has the model take the loss of what a run may take away, since all plans are consented to. Only an up of the systems alone has the
// consents; one of an engine alone needs none.
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
	if storage := f.site.Layers.Storage; !storage.Protect && layersOf(what)[len(layersOf(what))-1] == site.ClusterLayer {
		stays := storage.Datasets
		if what == "destroy" {
			stays = nil
		}
		f.layers.datasets.GiveUpEmpty(stays, f.layers.madeDatasets)
	}
}

// disturb records that a fault or a kill may have left something behind, for any stack.
func (f *life) disturb(happened bool) {
	f.disturbed = f.disturbed || happened
	if f.layers == nil || !happened {
		return
	}
	for _, layer := range allLayers {
		f.layers.disturbed[layer] = true
	}
}

// layersExcuse reports whether something may be in the way of a run: what was left in its own layer or a lower one, or what waits for an up of
// a lower one. A run of the whole site, and of the engine alone, carries out no plan that takes a consent.
func (f *life) layersExcuse(what string) bool {
	if f.layers == nil {
		return false
	}
	ofRun := layersOf(what)
	own := ofRun[len(ofRun)-1]
	for _, layer := range ofRun {
		if f.layers.disturbed[layer] || f.layers.pending[layer] && (layer != own || what == "site-up" || strings.HasSuffix(what, "pulumi")) {
			return true
		}
	}
	return f.layers.staged
}

// revertStaged reverts what was staged by hand, as a refusal says.
func (f *life) revertStaged(output string) {
	f.t.Helper()
	if f.layers == nil || !f.layers.staged || !strings.Contains(output, "another user has staged changes") {
		return
	}
	f.say("  remedy: revert what is staged")
	require.NoError(f.t, f.api().Delete(f.t.Context(), "/nodes/"+site.Host(1)+"/network", nil))
	f.layers.staged = false
}
