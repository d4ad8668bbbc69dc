package risk

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// deviceOfNode matches the mapping of a node's GPU that is to hold another device.
func deviceOfNode(s plan.Step, t topology) bool {
	return s.URN.Type() == token.PCIMapping && s.Op == apitype.OpUpdate && t.gpuWorker(s.Parent) != nil && len(deviceFacts(s)) > 0
}

// deviceChanged returns the finding that a machine keeps the device that it was started with: Proxmox VE reads a mapping when it starts a machine
// (F14), and the machine's own configuration, which names the mapping, does not change.
func deviceChanged(s plan.Step, t topology) *Finding {
	n := t.gpuWorker(s.Parent)
	f := &Finding{Kind: Change, Subject: n.name, What: deviceFacts(s), rank: rankOf(n)}
	switch {
	case n.machine == nil:
		return f
	case n.machine.Op != apitype.OpSame && n.machine.Op != apitype.OpUpdate:
		return nil // a machine that is made anew begins with it
	case n.machine.Op == apitype.OpUpdate && nodeChanged(*n.machine, t).Kind == Reboot:
		return f // Proxmox VE stops and starts it after the mapping has changed
	}
	vmid, _ := propertymap.At(n.machine.Present(), "vmId").(float64)
	f.Means = []string{fmt.Sprintf("the node has the former device until its VM is stopped and started, which a reboot of Talos does not do: run `qm reboot %d` on %v after the up, when the node may be away for a minute",
		int(vmid), propertymap.At(n.machine.Present(), "nodeName"))}
	return f
}

// deviceFacts returns the changed facts of a mapping's device, in words.
func deviceFacts(s plan.Step) []string {
	var facts []string
	for _, fact := range []struct{ path, words string }{
		{"path", "PCI device"}, {"id", "deviceId"}, {"subsystemId", "subsystemId"}, {"iommuGroup", "iommuGroup"},
	} {
		before, after := fmt.Sprint(propertymap.At(s.Old, "maps[0]."+fact.path)), fmt.Sprint(propertymap.At(s.New, "maps[0]."+fact.path))
		if before != after {
			facts = append(facts, strings.Join([]string{fact.words, before, "→", after}, " "))
		}
	}
	return facts
}

// gpuWorker returns the node of a GpuWorker; nil for another component.
func (t topology) gpuWorker(component resource.URN) *node {
	if !component.IsValid() || component.Type() != token.GPUWorker {
		return nil
	}
	for _, n := range t.nodes {
		if n.component.Parent == component {
			return n
		}
	}
	return nil
}
