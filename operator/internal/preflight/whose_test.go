package preflight_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// TestWhoseMachinesAre: a machine with our VMID, name and MAC address is ours if its description names this stack, or names none and
// the state has its VMID.
func TestWhoseMachinesAre(t *testing.T) {
	t.Parallel()
	ours := ownership.Owner{Stack: "home", Cluster: "0123456789ab"}
	others := ownership.Owner{Stack: "home-old", Cluster: "ba9876543210"}
	before := ownership.Owner{Stack: "home", Cluster: "ba9876543210"}
	source := ownership.Owner{Stack: "home-old", Cluster: "0123456789ab"}
	marked := func(owner ownership.Owner) string { return "Talos machine, " + owner.Mark() + ".\n" }
	taken := func(whose, remedy string) []preflight.Check {
		return []preflight.Check{
			{Name: "vmid", Result: preflight.Fail, Sentence: "VMID 102 of w1 is taken by VM 102 (w1 on pve2)" + whose, Remedy: remedy + "give w1 another vmid in nodes.yaml"},
			{
				Name: "template", Result: preflight.Fail, Sentence: "VMID 9001 of the template on pve2 is taken by template 9001 (talos-v1.12.4-base on pve2)" + whose,
				Remedy: remedy + "set another proxmox.template.vmid, or perHost for a further host",
			},
		}
	}
	const restore = "put the state that knows it back with `em-infra state restore`, or, without a backup, write it with `em-infra adopt`; or "
	for _, test := range []struct {
		name        string
		description string
		owner       ownership.Owner
		isKnown     bool
		want        []preflight.Check
	}{
		{"ours", marked(ours), ours, true, nil},
		{"ours, and the state does not know it", marked(ours), ours, false, nil},
		{"from before the marks", "Talos worker, made by em-infra.\n", ours, true, nil},
		{"of the stack that this one is a copy of, whose state is empty", marked(source), ownership.Owner{Stack: "home"}, false, taken(", which belongs to stack home-old, cluster 0123456789ab", "")},
		{"of another stack, in the place of ours", marked(others), ours, true, taken(", which belongs to stack home-old, cluster ba9876543210", "")},
		{"of the stack before its state was lost", marked(before), ownership.Owner{Stack: "home"}, false, taken(", which belongs to stack home, cluster ba9876543210: this stack's state is of another cluster", restore)},
		{"of the stack whose state was copied", marked(source), ours, true, taken(
			", which belongs to stack home-old: this stack's state is a copy of that one's, or that one was renamed",
			"work on stack home-old, or, after a rename, take it back with `pulumi stack rename --stack home home-old`; or ",
		)},
		{
			"of the cluster before, beside machines of another one", marked(before), ours, true,
			taken(", which belongs to stack home, cluster ba9876543210: this stack's state is of another cluster", "put the state that knows it back with `em-infra state restore`; or "),
		},
		{
			"from before the marks, and the state was lost", "Talos worker, made by em-infra.\n", ownership.Owner{Stack: "home"}, false,
			taken(", which the state does not know, and whose description does not say that this stack has made it", restore),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inv, found := sound(t)
			found.Owner, found.Knows = test.owner, map[int]bool{102: test.isKnown, 9001: test.isKnown}
			add(&found, pve.Guest{VMID: 102, Name: "w1", Node: "pve2", Type: "qemu", Status: "running"}, pve.GuestConfig{
				"net0": "virtio=BC:24:11:00:00:02,bridge=vmbr0,tag=20", "scsi0": "tank:vm-102-disk-0,size=128G", "description": test.description,
			})
			add(&found, pve.Guest{VMID: 9001, Name: "talos-v1.12.4-base", Node: "pve2", Type: "qemu", Template: true}, pve.GuestConfig{
				"ide0": "local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso,media=cdrom,size=300M", "description": test.description,
			})
			var unsound []preflight.Check
			for _, check := range preflight.Evaluate(inv, found).Unsound() {
				if check.Name != "storage" {
					unsound = append(unsound, check)
				}
			}
			require.Equal(t, test.want, unsound)
		})
	}
}
