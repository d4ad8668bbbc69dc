package risk

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// RenamedVolume is a disk of a node whose volume is to have another name.
type RenamedVolume struct {
	// Node is the node's name.
	Node string
	// Key of the name in nodes.yaml, as dataDisks[0].mount.
	Key string
	// Has and Wanted are the names of the volume on the disk and of the inventory's.
	Has, Wanted string
}

// addRenamed refuses other names of volumes. Talos finds a volume by its label, and makes a new one on a disk with free space. A data disk has
// none, because its first volume fills it: the volume of the new name would wait for ever, and the former one would no longer be mounted (decision
// 12). A machine that is made anew has new disks.
func (a *Assessment) addRenamed(renamed []RenamedVolume, cluster topology) {
	for _, urn := range cluster.order {
		n := cluster.nodes[urn]
		if n.machine == nil || n.machine.Op != apitype.OpSame && n.machine.Op != apitype.OpUpdate {
			continue
		}
		for _, volume := range renamed {
			if volume.Node == n.name {
				a.add(volume.refusal(rankOf(n)))
			}
		}
	}
}

func (v RenamedVolume) refusal(rank int) Finding {
	return Finding{
		Kind: Impossible, Subject: v.Node, rank: rank,
		What:  []string{fmt.Sprintf("%s %s → %s cannot change: the disk keeps the volume that was made on it", v.Key, v.Has, v.Wanted)},
		Means: []string{"for a disk of that name, append one and move the data, or remove the node, run up, and add it again with empty disks"},
		Undo:  []string{fmt.Sprintf("set %s back to %s", v.Key, v.Has)},
	}
}

// add merges a finding into that of its subject, or appends it.
func (a *Assessment) add(found Finding) {
	at := slices.IndexFunc(a.Findings, func(f Finding) bool { return f.Subject == found.Subject })
	if at < 0 {
		a.Findings = append(a.Findings, found)
	} else {
		a.Findings[at].merge(found)
	}
}
