package risk

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Off is a machine of a node that is off, and that a run switches on.
type Off struct {
	// Name of the node.
	Name string
	// VMID of the machine.
	VMID int
}

// StartFirst are the machines to switch on before the engine works: all that it would switch on, if it would also change the
// hardware of one of them; none otherwise. The provider starts such a machine and reboots it at once (bpg v0.69.1, vm.go,
// vmUpdate: started, then vmUpdateDiskLocationAndSize), when nothing in it listens to the power button yet: the update then
// fails when the shutdown's time has run out, after half an hour. The others are among them because a worker's Talos does
// not answer before a control plane's does.
func StartFirst(steps []Step) []Off {
	cluster := topologyOf(steps, nil)
	var off []Off
	needed := false
	for _, s := range steps {
		n := cluster.nodes[s.Parent]
		if n == nil || s.URN.Type() != typeVM || s.Op != apitype.OpUpdate || !switchesOn(s.Old, s.New) {
			continue
		}
		vmid, _ := At(s.New, "vmId").(float64)
		off = append(off, Off{Name: n.name, VMID: int(vmid)})
		needed = needed || slices.ContainsFunc(s.Changed, rebootsFor)
	}
	if !needed {
		return nil
	}
	return off
}

// StartsAndReboots says whether the provider starts a machine for an update of its inputs, and reboots it at once.
func StartsAndReboots(before, after resource.PropertyMap) bool {
	return switchesOn(before.Mappable(), after.Mappable()) && Reboots(before, after)
}

// switchesOn says whether a machine is off before an update and on after it.
func switchesOn(before, after map[string]any) bool {
	return At(before, "started") == false && At(after, "started") == true
}

// rebootsFor says whether the provider reboots a machine for a change of a property.
func rebootsFor(path string) bool {
	return !computed.MatchString(path) && propertyAt(path).effect == Reboot
}
