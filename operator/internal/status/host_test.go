package status_test

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/guestagent"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// aCluster is a Proxmox VE of three hosts, of which pve3 has nothing of the stack. VM 101 on pve1 is the stack's machine.
var aCluster = map[string]string{
	"/nodes": `[{"node":"pve1","status":"online"}, {"node":"pve2","status":"online"}, {"node":"pve3","status":"online"}]`,
	"/cluster/resources": `[{"vmid":101,"name":"control-1","type":"qemu","node":"pve1","status":"running"},
		{"vmid":300,"name":"mail","type":"qemu","node":"pve3","status":"running"}]`,
	"/access/permissions":               `{"/vms":{"VM.Audit":1}}`,
	"/nodes/pve1/qemu/101/config":       `{"name":"control-1","description":"made by em-infra for stack home, cluster 0123456789ab"}`,
	"/nodes/pve3/qemu/300/config":       `{"name":"mail"}`,
	"/nodes/pve1/storage":               `[{"storage":"local","active":1}, {"storage":"tank","active":1}]`,
	"/nodes/pve1/storage/local/content": `[{"volid":"local:iso/talos-v1.12.3-nocloud-0123456789abcdef-amd64.iso","content":"iso","size":1073741824}]`,
	"/nodes/pve1/storage/tank/content":  `[{"volid":"tank:vm-120-disk-0","content":"images","vmid":120,"size":1073741824}]`,
}

// theStack is the stack of one machine on pve1.
var theStack = &inventory.Inventory{
	Cluster: inventory.Cluster{Name: "home", Proxmox: inventory.Proxmox{Host: "pve1", ISOStorage: "local", DiskStorage: "tank"}},
	Nodes:   inventory.Nodes{{Name: "control-1", Role: inventory.RoleControlPlane, Host: "pve1", VMID: 101, MAC: inventory.MAC{0xbc, 0x24, 0x11, 0, 0, 1}, Address: netip.MustParseAddr("192.168.20.11")}},
}

// reportOf is the report about the stack on a cluster with these answers instead of its own; an answer that is empty fails.
func reportOf(t *testing.T, answers map[string]string) status.Report {
	t.Helper()
	return sourcesOf(t, answers).Report(t.Context(), time.Now())
}

func sourcesOf(t *testing.T, answers map[string]string) status.Sources {
	t.Helper()
	return status.Sources{
		Inventory: theStack, Deployment: inState(), Host: clusterWith(t, answers), Owner: ownership.Owner{Stack: "home", Cluster: "0123456789ab"},
	}
}

func clusterWith(t *testing.T, answers map[string]string) pve.Reader {
	t.Helper()
	all := maps.Clone(aCluster)
	for path, answer := range answers {
		if delete(all, path); answer != "" {
			all[path] = answer
		}
	}
	return answering(t, all)
}

// TestGuestsWhoseConfigurationsAreNotKnown: any host of a cluster may be off, and any guest may be deleted while it is read. The report then lists
// no ISOs, which such a guest may name, but everything else.
func TestGuestsWhoseConfigurationsAreNotKnown(t *testing.T) {
	t.Parallel()
	disk := status.Orphan{What: "disk tank:vm-120-disk-0 (1.0 GiB): there is no VM 120", Host: "pve1", Remove: "pvesm free tank:vm-120-disk-0"}
	iso := status.Orphan{What: earlierISO + " (1.0 GiB): no machine boots it", Host: "pve1", Remove: "pvesm free " + earlierISO}
	for _, test := range []struct {
		name    string
		answers map[string]string
		vm      string
		orphans []status.Orphan
		unclear []string
	}{
		{name: "all are read", orphans: []status.Orphan{disk, iso}},
		{
			name: "a host is off, and its guests have their last status",
			answers: map[string]string{
				"/nodes": `[{"node":"pve1","status":"online"}, {"node":"pve3","status":"offline"}]`, "/nodes/pve3/qemu/300/config": "",
			},
			orphans: []status.Orphan{disk},
			unclear: []string{"which ISOs no machine boots: the configuration of VM 300 is not known (its host pve3 is off)", "which machines of the stack the state does not know: the configuration of VM 300 is not known (its host pve3 is off)"},
		},
		{
			name:    "a host does not give a configuration",
			answers: map[string]string{"/nodes/pve3/qemu/300/config": ""},
			orphans: []status.Orphan{disk},
			unclear: []string{"which ISOs no machine boots: the configuration of VM 300 is not known (Internal Server Error)", "which machines of the stack the state does not know: the configuration of VM 300 is not known (Internal Server Error)"},
		},
		{
			name:    "nothing looks unused",
			answers: map[string]string{"/nodes/pve3/qemu/300/config": "", "/nodes/pve1/storage/local/content": `[]`},
			orphans: []status.Orphan{disk},
			unclear: []string{"which machines of the stack the state does not know: the configuration of VM 300 is not known (Internal Server Error)"},
		},
		{
			name: "a machine of the stack is on a host that is off",
			answers: map[string]string{
				"/nodes":                            `[{"node":"pve1","status":"online"}, {"node":"pve2","status":"offline"}]`,
				"/cluster/resources":                `[{"vmid":101,"type":"qemu","node":"pve2","status":"running"}]`,
				"/nodes/pve1/storage/local/content": `[]`,
			},
			vm: "unknown", orphans: []status.Orphan{disk},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			report := reportOf(t, test.answers)
			require.Empty(t, report.Unread)
			require.Equal(t, test.orphans, report.Orphans)
			require.Equal(t, test.unclear, report.Unclear)
			require.Equal(t, cmp.Or(test.vm, "running"), report.Machines[0].VM)
		})
	}
}

// TestATokenThatDoesNotSeeAllGuests: a disk or an ISO that looks unused may be that of a machine which the token does not see, so the report does
// not list it, and has no command that deletes it.
func TestATokenThatDoesNotSeeAllGuests(t *testing.T) {
	t.Parallel()
	const remedy = "the token does not see all guests; give it VM.Audit on /vms, `em-infra role` prints how"
	for name, privileges := range map[string]string{
		"it sees a pool only":              `{"/vms":{}}`,
		"its privilege is not passed on":   `{"/vms":{"VM.Audit":0}}`,
		"it has nothing there at all":      `{}`,
		"it may change more than it reads": `{"/vms":{"VM.PowerMgmt":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := reportOf(t, map[string]string{"/access/permissions": privileges})
			require.Empty(t, report.Unread)
			require.Empty(t, report.Orphans)
			require.Equal(t, []string{"which disks belong to no machine: " + remedy, "which ISOs no machine boots: " + remedy}, report.Unclear)

			sources := status.Sources{Inventory: theStack, Deployment: withTemplate(), Host: clusterWith(t, map[string]string{
				"/access/permissions":              privileges,
				"/nodes/pve1/storage/tank/content": `[{"volid":"tank:vm-102-disk-0","content":"images","vmid":102,"size":1073741824}]`,
			})}
			sources.Inventory = &inventory.Inventory{Cluster: theStack.Cluster, Nodes: slices.Clone(theStack.Nodes)}
			sources.Inventory.Nodes[0].VMID = 102
			left, err := sources.Left(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, status.Left{
				Disks: []status.Orphan{{
					What: "disk tank:vm-102-disk-0 (1.0 GiB)", Host: "pve1",
					Do: "do not delete it before the list of all machines shows no VM 102: " + remedy,
				}},
				ISOs: []status.Orphan{{
					What: earlierISO + " (1.0 GiB)", Host: "pve1",
					Do: "leave it until all machines are known, since one may name it in its drive: " + remedy,
				}},
			}, left)
		})
	}
}

// TestAnISOThatWasJustDownloaded is no orphan: the run that has downloaded it makes its template next.
func TestAnISOThatWasJustDownloaded(t *testing.T) {
	t.Parallel()
	volume := pve.Volume{ID: earlierISO, Content: "iso", Created: today.Add(-59 * time.Minute).Unix()}
	found := status.Found{Volumes: map[string][]pve.Volume{"pve1": {volume}}, Time: today}
	require.Empty(t, status.Ours{}.Orphans(found))
	found.Time = today.Add(time.Minute)
	require.Len(t, status.Ours{}.Orphans(found), 1)
}

// TestTheMachineOfAVMID: another guest that has the VMID is not the machine, and is not reset; a machine that was moved is found where it is.
func TestTheMachineOfAVMID(t *testing.T) {
	t.Parallel()
	const off = `[{"node":"pve1","status":"offline"}, {"node":"pve2","status":"online"}]`
	for _, test := range []struct {
		name, guest, config, nodes string
		isUnmade                   bool
		vm, on, taken              string
	}{
		{name: "it is there", guest: `"name":"control-1","type":"qemu","node":"pve1","status":"running"`, config: `{}`, vm: "running"},
		{name: "renamed by hand", guest: `"name":"c1","type":"qemu","node":"pve1","status":"running"`, config: `{"description":"made by em-infra for stack home, cluster 0123456789ab"}`, vm: "running"},
		{name: "renamed and described by hand", guest: `"name":"c1","type":"qemu","node":"pve1","status":"running"`, config: `{"net0":"virtio=BC:24:11:00:00:01,bridge=vmbr0"}`, vm: "running"},
		{name: "renamed and described by hand, with another card", guest: `"name":"c1","type":"qemu","node":"pve1","status":"running"`, config: `{"net0":"virtio=BC:24:11:00:00:02,bridge=vmbr0"}`, vm: "running"},
		{name: "of a state that was lost", isUnmade: true, guest: `"name":"control-1","type":"qemu","node":"pve1","status":"running"`, config: `{}`, vm: "running"},
		{name: "another machine", isUnmade: true, guest: `"name":"web","type":"qemu","node":"pve2","status":"running"`, config: `{"net0":"virtio=BC:24:11:00:00:02,bridge=vmbr0"}`, vm: "absent", taken: "VM 101 (web) on pve2"},
		{name: "a machine of another stack", guest: `"name":"web","type":"qemu","node":"pve1","status":"running"`, config: `{"description":"made by em-infra for stack away, cluster 0123456789ab"}`, vm: "absent", taken: "VM 101 (web) on pve1"},
		{name: "one of its name, of another stack", guest: `"name":"control-1","type":"qemu","node":"pve1","status":"running"`, config: `{"description":"made by em-infra for stack away, cluster 0123456789ab"}`, vm: "absent", taken: "VM 101 (control-1) on pve1"},
		{name: "one of its card, of another cluster", guest: `"name":"c1","type":"qemu","node":"pve1","status":"running"`, config: `{"description":"made by em-infra for stack home, cluster ba9876543210","net0":"virtio=BC:24:11:00:00:01,bridge=vmbr0"}`, vm: "absent", taken: "VM 101 (c1) on pve1"},
		{name: "a container", guest: `"name":"control-1","type":"lxc","node":"pve1","status":"running"`, config: `{}`, vm: "absent", taken: "CT 101 (control-1) on pve1"},
		{name: "it is being made", guest: `"name":"VM 101","type":"qemu","node":"pve1","status":"stopped","lock":"clone"`, config: `{"lock":"clone"}`, vm: "stopped"},
		{name: "its configuration cannot be read", guest: `"name":"c1","type":"qemu","node":"pve1","status":"running"`, vm: "running"},
		{name: "moved by HA", guest: `"name":"control-1","type":"qemu","node":"pve2","status":"running"`, config: `{}`, vm: "running", on: "pve2"},
		{name: "its host has just gone off", guest: `"name":"control-1","type":"qemu","node":"pve1","status":"running"`, nodes: off, vm: "unknown"},
		{name: "its host went off long ago", guest: `"type":"qemu","node":"pve1","status":"unknown"`, nodes: off, vm: "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			answers := map[string]string{"/cluster/resources": `[{"vmid":101,` + test.guest + `}]`}
			for _, path := range []string{"/nodes/pve1/qemu", "/nodes/pve2/qemu", "/nodes/pve1/lxc"} {
				answers[path+"/101/config"] = test.config
			}
			if test.nodes != "" {
				answers["/nodes"] = test.nodes
			}
			sources := sourcesOf(t, answers)
			if test.isUnmade {
				sources.Deployment = apitype.DeploymentV3{}
			}
			machine := sources.Report(t.Context(), time.Now()).Machines[0]
			require.Equal(t, []string{test.vm, test.on, test.taken}, []string{machine.VM, machine.On, machine.Taken})
		})
	}
}

// TestWhatADestroyLeavesWhileAHostIsOff: a guest of that host may name the ISO.
func TestWhatADestroyLeavesWhileAHostIsOff(t *testing.T) {
	t.Parallel()
	sources := status.Sources{Inventory: theStack, Deployment: withTemplate(), Host: clusterWith(t, map[string]string{
		"/nodes": `[{"node":"pve1","status":"online"}, {"node":"pve3","status":"offline"}]`, "/nodes/pve3/qemu/300/config": "",
	})}
	left, err := sources.Left(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, status.Left{ISOs: []status.Orphan{{
		What: earlierISO + " (1.0 GiB)", Host: "pve1",
		Do: "leave it until all machines are known, since one may name it in its drive: the configuration of VM 300 is not known (its host pve3 is off)",
	}}}, left)

	sources.Host = clusterWith(t, map[string]string{"/nodes/pve3/qemu/300/config": ""})
	_, err = sources.Left(t.Context(), nil)
	require.EqualError(t, err, "configuration of VM 300 on pve3: Internal Server Error")
}

// inState is a state with virtual machine 101.
func inState() apitype.DeploymentV3 {
	return apitype.DeploymentV3{Resources: []apitype.ResourceV3{{
		URN: urn(token.VirtualMachine, "control-1-vm"), Type: token.VirtualMachine, Outputs: map[string]any{"vmId": 101.0},
	}}}
}

// withTemplate is a state with a template that boots the earlier ISO.
func withTemplate() apitype.DeploymentV3 {
	template := urn(token.TalosTemplate, "pve1")
	return apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		{URN: template, Type: token.TalosTemplate, Inputs: map[string]any{"host": "pve1"}, Outputs: map[string]any{"iso": earlierISO}},
		{URN: urn(token.Command, "iso"), Type: token.Command, Parent: template},
	}}
}

func urn(kind tokens.Type, name string) resource.URN {
	return resource.NewURN("home", "em-infra", "", kind, name)
}

// TestTheGuestAgentOfAnotherGuest is not shown as that of the machine whose VMID it has.
func TestTheGuestAgentOfAnotherGuest(t *testing.T) {
	t.Parallel()
	inv := *theStack
	inv.Cluster.Talos.Schematic.Extensions = []string{guestagent.Extension}
	for description, isOurs := range map[string]bool{"": true, "made by em-infra for stack away, cluster 0123456789ab": false} {
		sources := sourcesOf(t, map[string]string{"/nodes/pve1/qemu/101/config": `{"name":"control-1","description":"` + description + `"}`})
		sources.Inventory = &inv
		machine := sources.Report(t.Context(), time.Now()).Machines[0]
		require.Equal(t, isOurs, machine.GuestAgent != nil, description)
	}
}
