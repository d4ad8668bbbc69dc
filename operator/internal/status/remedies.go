package status

import (
	"fmt"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
)

// IsAlarmed reports whether etcd has an alarm, which no wait ends.
func (r Report) IsAlarmed() bool {
	return slices.ContainsFunc(r.Members, func(m nodeops.EtcdMember) bool { return m.Alarmed })
}

// IsTaken reports whether another guest has the VMID of a machine, which no wait ends.
func (r Report) IsTaken() bool {
	return slices.ContainsFunc(r.Machines, func(m Machine) bool { return m.Taken != "" })
}

// Away returns the names of the machines that are off, absent, or not in the state. Only an up starts or creates them: no other wait ends
// that. One that is paused, whose host is off, or whose VMID is taken, is not started or created by an up.
func (r Report) Away() []string {
	var away []string
	for _, machine := range r.Machines {
		isAway := machine.VM == stopped || machine.VM == absent || machine.VM != "" && !machine.Known
		if isAway && machine.Taken == "" {
			away = append(away, machine.Name)
		}
	}
	return away
}

// IsHostSilent reports whether nothing is known about any machine, or a host is off that has one.
func (r Report) IsHostSilent() bool {
	isKnown := slices.ContainsFunc(r.Machines, func(m Machine) bool { return m.VM != "" })
	isOff := slices.ContainsFunc(r.Machines, func(m Machine) bool { return m.VM == unknown })
	return len(r.Machines) > 0 && (!isKnown || isOff)
}

// promotion is how long Talos tries to give a new member of etcd its vote.
const promotion = 10 * time.Minute

// Remedies returns what to do about problems that do not disappear by themselves: a machine that is halted, whose host is off or whose VMID is
// taken, an etcd member that stays a learner (talos v1.12.4, internal/app/machined/pkg/system/services/etcd.go, promoteMember), and an etcd
// whose data is lost. waited is how long the cluster was watched: a learner may get its vote until Talos gives up.
func (r Report) Remedies(waited time.Duration) []string {
	var remedies []string
	for _, machine := range r.Machines {
		isHalted := machine.Known && machine.VM != "" && machine.VM != running && !slices.Contains(r.Away(), machine.Name)
		if isHalted || machine.Taken != "" {
			remedies = append(remedies, machine.Name+": "+r.place.Complete(machine.vmRemedy()))
		}
	}
	for _, member := range r.Members {
		if member.Learner && waited >= promotion {
			remedies = append(remedies, fmt.Sprintf("%s: `talosctl --nodes %s reset --system-labels-to-wipe EPHEMERAL --reboot` has it join etcd anew: "+
				"Talos tries for ten minutes to give a member its vote, and not again", member.Name, member.Address))
		}
	}
	if r.runsNoEtcd() {
		remedies = append(remedies, r.place.Complete("etcd: it runs on no control plane, and all of them answer: if its data is lost, bring it back from a snapshot with `em-infra etcd restore`"))
	}
	return remedies
}

// runsNoEtcd reports whether all control planes answer and none runs etcd.
func (r Report) runsNoEtcd() bool {
	controlPlanes := 0
	for _, machine := range r.Machines {
		if machine.Role != inventory.RoleControlPlane {
			continue
		}
		if machine.Node == nil || machine.Node.Talos == "" {
			return false
		}
		controlPlanes++
	}
	return controlPlanes > 0 && len(r.Members) == 0 && !r.nodesRead
}
