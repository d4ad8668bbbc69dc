package risk_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

// row is a rule of the table with what it says.
type row struct {
	rule, name    string
	events        []event
	text, refusal string
}

func rows() []row {
	three := slices.Concat(same("cp-1", "control-plane", 101), same("cp-2", "control-plane", 102))
	inTemplate := event{kind: token.VirtualMachine, name: "lab-template-vmhost-vm", parent: urn(token.TalosTemplate, "lab-template-vmhost"), old: machine("talos-base", 9000, nil), new: machine("talos-base", 9000, nil)}
	with := func(e event, op apitype.OpType, changed ...string) event { e.op, e.changed = op, changed; return e }
	memory := map[string]any{"memory": map[string]any{"dedicated": 16384.0}}
	toolsURN, piholeURN := urn(token.StandaloneMachine, "site-tools"), urn(token.StandaloneContainer, "site-pihole")
	image := map[string]any{"create": "em-infra image template vmhost 9100 debian tank local:import/debian.qcow2", "delete": "em-infra image release vmhost 9100"}
	cloned := map[string]any{"clone": map[string]any{"vmId": 9100.0}}
	return []row{
		{
			"a node rejoins", "worker with a changed configuration", gone("w-1", "worker", 111),
			" CREATE   w-1  VM 111 on vmhost, 192.168.20.21; it was deleted on the host: it is created again and joins again\n          what was on its disks is lost\n", "",
		},
		{
			"part of a node that rejoins", "one of three control planes", slices.Concat(three, gone("cp-3", "control-plane", 103), bootstrapped),
			" CREATE   cp-3  VM 103 on vmhost, 192.168.20.13; it was deleted on the host: it is created again and joins again\n" +
				"          what was on its disks is lost\n          its dead member of etcd is removed, and it joins as a new one; the other 2 have all data\n", "",
		},
		{
			"a node's machine is made", "worker", node("w-1", "worker", 111, apitype.OpCreate, nil),
			" CREATE   w-1  VM 111 on vmhost, 192.168.20.21\n", "",
		},
		{
			"a node's machine is changed", "in place", node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"disks": []any{map[string]any{"size": 80.0}}}, "disks[0].size", "tags[1]"),
			" CHANGE   w-1  disk 64 → 80 GiB; tags\n          Talos uses the room from the node's next boot on: `em-infra reboot w-1` brings it about\n", "",
		},
		{
			"a node's machine is changed", "worker reboots", node("w-1", "worker", 111, apitype.OpUpdate, memory, "memory.dedicated", "ipv4Addresses"),
			" REBOOT   w-1  memory 8192 → 16384 MiB\n          drained, reboots, about 1 min\n", "",
		},
		{
			"a node's machine is changed", "a worker that is off", switchedOff(node("w-1", "worker", 111, apitype.OpUpdate, memory, "memory.dedicated", "started")),
			" REBOOT   w-1  memory 8192 → 16384 MiB; switched on false → true\n" +
				"          it is off: it starts, and reboots once more when it has booted, about 2 min\n", "",
		},
		{
			"a node's machine is changed", "a worker whose creation failed half way, and nothing differs that the state knows of",
			func() []event {
				events := node("w-1", "worker", 111, apitype.OpUpdate, nil)
				events[1].failed = []string{"start failed: QEMU exited with code 1"}
				return events
			}(),
			" CHANGE   w-1  its creation or its last change failed half way: it is tried again\n", "",
		},
		{
			"a node's machine is changed", "the only control plane reboots", node("cp-1", "control-plane", 101, apitype.OpUpdate, memory, "memory.dedicated"),
			" REBOOT   cp-1  memory 8192 → 16384 MiB\n          drained, reboots; the Kubernetes API is away for about 1 min: this is the only control plane\n", "",
		},
		{
			"a node's machine is changed", "one of three control planes reboots", slices.Concat(three, node("cp-3", "control-plane", 103, apitype.OpUpdate, memory, "memory.dedicated")),
			" REBOOT   cp-3  memory 8192 → 16384 MiB\n          drained, reboots; etcd and the Kubernetes API go on with the other 2, about 1 min\n", "",
		},
		{
			"a node's machine is changed", "another gateway",
			func() []event {
				seed := func(gateway string) map[string]any {
					return map[string]any{"ipConfigs": []any{map[string]any{"ipv4": map[string]any{"address": "192.168.20.21/24", "gateway": gateway}}}}
				}
				events := node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"initialization": seed("192.168.20.254")}, "initialization.ipConfigs[0].ipv4.gateway")
				events[1].old["initialization"] = seed("192.168.20.1")
				return events
			}(),
			" REBOOT   w-1  gateway 192.168.20.1 → 192.168.20.254\n          drained, reboots, about 1 min\n", "",
		},
		{
			"a node's machine is changed", "the CPU of its host, as a gpu-worker has it by default",
			func() []event {
				events := node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"cpu": map[string]any{"type": "host"}}, "cpu.type")
				events[1].old["cpu"] = map[string]any{"type": "x86-64-v2-AES"}
				return events
			}(),
			" REBOOT   w-1  CPU type x86-64-v2-AES → host\n          drained, reboots, about 1 min\n", "",
		},
		{
			"a node's machine is changed", "property that no row names", node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"bios": "seabios"}, "bios"),
			" REBOOT   w-1  bios\n          drained, reboots, about 1 min\n", "",
		},
		{
			"a node's machine is changed", "another host", node("cp-1", "control-plane", 101, apitype.OpUpdate, map[string]any{"nodeName": "other"}, "nodeName"),
			" CHANGE   cp-1  host vmhost → other\n          it moves there as it runs\n", "",
		},
		{
			"a node's machine is changed", "another storage for the only control plane",
			func() []event {
				events := node("cp-1", "control-plane", 101, apitype.OpUpdate, map[string]any{"disks": []any{map[string]any{"size": 64.0, "datastoreId": "tank"}}}, "disks[0].datastoreId")
				events[1].old["disks"] = []any{map[string]any{"size": 64.0, "datastoreId": "local-lvm"}}
				return events
			}(),
			" REBOOT   cp-1  storage local-lvm → tank\n          drained, reboots; the Kubernetes API is away for about 1 min: this is the only control plane\n", "",
		},
		{
			"a node's machine is changed", "another host for one with a GPU",
			func() []event {
				events := node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"nodeName": "other"}, "nodeName")
				events[1].old["hostpcis"] = []any{map[string]any{"mapping": "rtx3090"}}
				return events
			}(),
			" CANNOT   w-1  host vmhost → other cannot change: Proxmox VE moves no machine with a GPU\n", "refused: set host back to vmhost for w-1",
		},
		{
			"a node's machine is changed", "serials that nobody sees", node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"disks": []any{map[string]any{"size": 64.0}, map[string]any{"size": 20.0}}}, "disks[1].serial"),
			" CHANGE   w-1  serial of a disk\n", "",
		},
		{
			"a node's machine is changed", "another controller, and a disk that grows", node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"scsiHardware": "virtio-scsi-pci", "disks": []any{map[string]any{"size": 80.0}}}, "disks[0].iothread", "disks[0].size", "scsiHardware"),
			" REBOOT   w-1  thread of a disk; disk 64 → 80 GiB; SCSI controller\n          drained, reboots, about 1 min\n", "",
		},
		{
			"a node's machine is changed", "disk that would shrink", node("cp-1", "control-plane", 101, apitype.OpUpdate, map[string]any{"disks": []any{map[string]any{"size": 32.0}}}, "disks[0].size"),
			" CANNOT   cp-1  disk 64 → 32 GiB cannot shrink: Proxmox VE only grows disks\n", "refused: set diskGiB back to 64 for cp-1",
		},
		{
			"a node's machine is changed", "one data disk more",
			node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"disks": []any{map[string]any{"size": 64.0}, map[string]any{"size": 20.0}}}, "disks[1]"),
			" CHANGE   w-1  data disk\n", "",
		},
		{
			"a node's machine is changed", "one data disk less",
			func() []event {
				events := node("w-1", "worker", 111, apitype.OpUpdate, nil, "disks[1]")
				events[1].old["disks"] = []any{map[string]any{"size": 64.0}, map[string]any{"size": 20.0}}
				return events
			}(),
			" CANNOT   w-1  data disk cannot be taken away: the provider deletes no disk of a machine that is there\n",
			"refused: put its dataDisks back as they were for w-1",
		},
		{
			"a node's machine is changed", "data disk unplugged by hand",
			func() []event {
				disks := []any{map[string]any{"interface": "scsi0", "size": 64.0}, map[string]any{"interface": "scsi1", "size": 20.0, "datastoreId": "tank"}}
				events := node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"disks": disks}, "disks[1].datastoreId", "disks[1].interface", "disks[1].iothread", "disks[1].size")
				events[1].old["disks"] = []any{disks[0], map[string]any{"interface": nil, "size": nil, "datastoreId": nil}}
				return events
			}(),
			" CANNOT   w-1  disk scsi1 was unplugged by hand: the provider would put an empty one in its place\n",
			"refused: plug disk scsi1 of VM 111 in again, which Proxmox VE shows as an unused disk, for w-1",
		},
		{
			"a node's machine is replaced", "worker with a data disk",
			func() []event {
				events := node("w-1", "worker", 111, apitype.OpReplace, map[string]any{"vmId": 112.0}, "__meta", "vmId", "networkInterfaceNames")
				events[1].old["disks"] = []any{map[string]any{"size": 64.0}, map[string]any{"size": 20.0}}
				return events
			}(),
			" REPLACE  w-1  vmid 111 → 112; the VM is deleted and created again\n          what is on its data disks (1) is lost\n          drained and reset first\n", "",
		},
		{
			"a node's machine is replaced", "the only control plane", node("cp-1", "control-plane", 101, apitype.OpReplace, map[string]any{"vmId": 102.0}, "vmId"),
			" REPLACE  cp-1  vmid 101 → 102; the VM is deleted and created again\n          its etcd data is deleted\n          this is the only control plane: the cluster is lost\n",
			"refused: say --allow-replace cp-1 to go on, or set vmid back to 101 for cp-1",
		},
		{
			"a node's machine is replaced", "worker at another address",
			append(another(node("w-1", "worker", 111, apitype.OpReplace, nil), "addresses", []any{"192.168.20.29"}), member("w-1", apitype.OpReplace)),
			" REPLACE  w-1  address 192.168.20.21 → 192.168.20.29; the VM is deleted and created again\n          drained and reset first\n", "",
		},
		{
			"a node's machine is replaced", "worker under another name", node("w-1", "worker", 111, apitype.OpReplace, map[string]any{"name": "w-2"}),
			" REPLACE  w-2  name w-1 → w-2; the VM is deleted and created again\n          drained and reset first\n", "",
		},
		{
			"a node's machine is replaced", "worker that becomes a control plane", another(node("w-1", "worker", 111, apitype.OpReplace, nil), "role", "control-plane"),
			" REPLACE  w-1  role worker → control-plane; the VM is deleted and created again\n          drained and reset first\n", "",
		},
		{
			"a node's machine is replaced", "control plane that becomes a worker",
			append(another(node("cp-1", "control-plane", 101, apitype.OpReplace, nil), "role", "worker"), member("cp-1", apitype.OpReplace)),
			" CANNOT   cp-1  role control-plane → worker; the VM is deleted and created again\n          this is the only control plane: the data of etcd would be lost with it\n",
			"refused: set role back to control-plane for cp-1",
		},
		{
			"a node's machine is replaced", "the only control plane, with another VMID and address",
			append(another(node("cp-1", "control-plane", 101, apitype.OpReplace, map[string]any{"vmId": 109.0}, "vmId"), "addresses", []any{"192.168.20.19"}), member("cp-1", apitype.OpReplace)),
			" REPLACE  cp-1  vmid 101 → 109; address 192.168.20.11 → 192.168.20.19; the VM is deleted and created again\n          this is the only control plane: a snapshot of etcd is taken, and etcd is restored from it on the new machine\n          the Kubernetes API is away meanwhile, and what is written after the snapshot is lost\n",
			"refused: say --allow-replace cp-1 to go on, or set vmid back to 101 for cp-1, or set address back to 192.168.20.11 for cp-1",
		},
		{
			"a node's machine is replaced", "one of three control planes, at another address",
			slices.Concat(three, another(node("cp-3", "control-plane", 103, apitype.OpReplace, nil), "addresses", []any{"192.168.20.19"}), []event{member("cp-3", apitype.OpReplace)}),
			" REPLACE  cp-3  address 192.168.20.13 → 192.168.20.19; the VM is deleted and created again\n          drained, its member leaves etcd, and the new machine joins; control planes that go on meanwhile: 2\n",
			"refused: say --allow-replace cp-3 to go on, or set address back to 192.168.20.13 for cp-3",
		},
		{
			"a node's machine is deleted", "worker", node("w-1", "worker", 111, apitype.OpDelete, nil),
			" DELETE   w-1  VM 111 on vmhost is deleted\n          drained and reset first\n", "",
		},
		{
			"a node's machine is deleted", "one of three control planes", slices.Concat(three, node("cp-3", "control-plane", 103, apitype.OpDelete, nil)),
			" DELETE   cp-3  VM 103 on vmhost is deleted\n          drained, and its member leaves etcd first; control planes that stay: 2\n",
			"refused: say --allow-delete cp-3 to go on, or put cp-3 back into nodes.yaml",
		},
		{
			"a system is made", "a machine with a static address, and a container by DHCP", []event{
				{op: apitype.OpCreate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN, new: tools(nil)},
				{op: apitype.OpCreate, kind: token.Container, name: "site-pihole-ct", parent: piholeURN, new: pihole(nil)},
			},
			" CREATE   pihole  CT 211 on vmhost\n CREATE   tools   VM 210 on vmhost, 192.168.20.30\n", "",
		},
		{
			"a system is made", "under another name", []event{
				{op: apitype.OpCreate, kind: token.Container, name: "site-dns-ct", parent: urn(token.StandaloneContainer, "site-dns"), new: pihole(map[string]any{"initialization": map[string]any{"hostname": "dns"}})},
				{op: apitype.OpDelete, kind: token.Container, name: "site-pihole-ct", parent: piholeURN, old: pihole(nil)},
			},
			" CANNOT   dns     VMID 211 is that of pihole, which is deleted in the same run: a new system is made before an old one is deleted\n          to begin anew under the other name, remove pihole, run up, and then add dns\n DELETE   pihole  CT 211 on vmhost is deleted\n          what is on its disks is lost\n",
			"refused: set name back to pihole for dns, or put pihole back into systems.yaml",
		},
		{
			"a system is made", "from an ISO, and one that is installed", []event{
				{op: apitype.OpCreate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN, new: appliance(iso, nil)},
				{op: apitype.OpCreate, kind: token.VirtualMachine, name: "site-nas-vm", parent: urn(token.StandaloneMachine, "site-nas"), new: appliance("none", map[string]any{"name": "nas", "vmId": 221.0})},
				{op: apitype.OpCreate, kind: token.Command, name: "site-iso-opnsense-vmhost", new: map[string]any{"create": "em-infra image ensure vmhost " + iso}},
			},
			" CREATE   nas                       VM 221 on vmhost\n          its disk is blank and its drive is empty, so it boots nothing: set ejected: false, run up, and install it\n" +
				" CREATE   site-iso-opnsense-vmhost  local:iso/opnsense-abab.iso, unless the host has it\n" +
				" CREATE   tools                     VM 210 on vmhost\n          it boots the ISO in its drive: install it on its console in Proxmox VE, then set ejected: true\n", "",
		},
		{
			"a system is changed", "a machine reboots for its memory", []event{{
				op: apitype.OpUpdate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN,
				old: tools(nil), new: tools(map[string]any{"memory": map[string]any{"dedicated": 4096.0}}), changed: []string{"memory.dedicated"},
			}},
			" REBOOT   tools  memory 2048 → 4096 MiB\n          it is away while it reboots, about 1 min\n", "",
		},
		{
			"a system is changed", "a container in place", []event{{
				op: apitype.OpUpdate, kind: token.Container, name: "site-pihole-ct", parent: piholeURN,
				old: pihole(nil), new: pihole(nil), changed: []string{"tags[0]", "startOnBoot", "features.nesting"},
			}},
			" CHANGE   pihole  nesting, from its next start on; start at boot; tags\n", "",
		},
		{
			"a system is changed", "a container keeps its nesting", []event{{
				op: apitype.OpUpdate, kind: token.Container, name: "site-pihole-ct", parent: piholeURN,
				old: pihole(map[string]any{"features": map[string]any{"nesting": true}}), new: pihole(nil), changed: []string{"features"},
			}},
			" CHANGE   pihole  nesting, which the provider does not switch off: `pct set 211 --delete features` on vmhost, then restart it\n", "",
		},
		{
			"a system is changed", "a container reboots for its memory", []event{{
				op: apitype.OpUpdate, kind: token.Container, name: "site-pihole-ct", parent: piholeURN,
				old: pihole(nil), new: pihole(map[string]any{"memory": map[string]any{"dedicated": 1024.0}}), changed: []string{"memory.dedicated"},
			}},
			" REBOOT   pihole  memory 512 → 1024 MiB\n          it is away while it reboots, about 1 min\n", "",
		},
		{
			"a system is changed", "a disk cannot shrink", []event{{
				op: apitype.OpUpdate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN,
				old: tools(nil), new: tools(map[string]any{"disks": []any{map[string]any{"size": 8.0}}}), changed: []string{"disks[0].size"},
			}},
			" CANNOT   tools  disk 16 → 8 GiB cannot shrink: Proxmox VE only grows disks\n", "refused: set diskGiB back to 16 for tools",
		},
		{
			"a system is changed", "its ISO is ejected", []event{
				{
					op: apitype.OpUpdate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN,
					old: appliance(iso, nil), new: appliance("none", nil), changed: []string{"cdrom.fileId"},
				},
				{op: apitype.OpDelete, kind: token.Command, name: "site-iso-opnsense-vmhost", old: map[string]any{"create": "em-infra image ensure vmhost " + iso}},
			},
			" CHANGE   site-iso-opnsense-vmhost  local:iso/opnsense-abab.iso is not needed any more, and stays on vmhost\n" +
				"          to remove it, once no machine and no snapshot has it in its drive, as root on vmhost: `pvesm free local:iso/opnsense-abab.iso`\n" +
				" CHANGE   tools                     CD-ROM local:iso/opnsense-abab.iso → none\n", "",
		},
		{
			"a system is changed", "it cannot move with an ISO in its drive, not even if it is ejected in the same run", []event{{
				op: apitype.OpUpdate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN,
				old: appliance(iso, nil), new: appliance("none", map[string]any{"nodeName": "other"}), changed: []string{"nodeName", "cdrom.fileId"},
			}},
			" CANNOT   tools  CD-ROM local:iso/opnsense-abab.iso → none; host vmhost → other; a machine does not move with an ISO in its drive, local:iso/opnsense-abab.iso\n",
			"refused: set host back to vmhost for tools and ejected: true, run up, and then move it",
		},
		{
			"a system is changed", "a machine with an image cannot move with an ISO that somebody has put into its drive", []event{{
				op: apitype.OpUpdate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN,
				old: appliance(iso, cloned), new: appliance(iso, map[string]any{"clone": cloned["clone"], "nodeName": "other"}), changed: []string{"nodeName"},
			}},
			" CANNOT   tools  host vmhost → other; a machine does not move with an ISO in its drive, local:iso/opnsense-abab.iso\n",
			"refused: set host back to vmhost for tools, empty its drive as root on vmhost: `qm set 210 --ide0 none,media=cdrom`, and then move it",
		},
		{
			"a system is changed", "a machine whose image was changed to an ISO cannot move with it", []event{
				{
					op: apitype.OpUpdate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN,
					old: appliance(iso, cloned), new: appliance(iso, map[string]any{"clone": cloned["clone"], "nodeName": "other"}), changed: []string{"nodeName"},
				},
				download(apitype.OpCreate, "other", "", iso),
			},
			" CREATE   site-iso-opnsense-other  local:iso/opnsense-abab.iso, unless the host has it\n" +
				" CANNOT   tools                    host vmhost → other; a machine does not move with an ISO in its drive, local:iso/opnsense-abab.iso\n",
			"refused: set host back to vmhost for tools and ejected: true, run up, and then move it",
		},
		{
			"a system is changed", "an appliance with an empty drive moves", []event{{
				op: apitype.OpUpdate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN,
				old: appliance("none", nil), new: appliance("none", map[string]any{"nodeName": "other"}), changed: []string{"nodeName"},
			}},
			" CHANGE   tools  host vmhost → other\n          it moves there as it runs\n", "",
		},
		{
			"a system is changed", "the cores of one with an ISO in its drive", []event{{
				op: apitype.OpUpdate, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN,
				old: appliance(iso, nil), new: appliance(iso, map[string]any{"cpu": map[string]any{"cores": 2.0}}), changed: []string{"cpu.cores"},
			}},
			" REBOOT   tools  cores 1 → 2\n          it is away while it reboots, about 1 min\n", "",
		},
		{
			"a system is replaced", "a container with another VMID", []event{{
				op: apitype.OpReplace, kind: token.Container, name: "site-pihole-ct", parent: piholeURN,
				old: pihole(nil), new: pihole(map[string]any{"vmId": 212.0}), changed: []string{"vmId"},
			}},
			" REPLACE  pihole  vmid 211 → 212; it is deleted and made again\n          what is on its disks is lost\n", "refused: say --allow-replace pihole to go on, or set vmid back to 211 for pihole",
		},
		{
			"a system is replaced", "a container that comes into a pool", []event{{
				op: apitype.OpReplace, kind: token.Container, name: "site-pihole-ct", parent: piholeURN,
				old: pihole(nil), new: pihole(map[string]any{"poolId": "home"}), changed: []string{"poolId"},
			}},
			" REPLACE  pihole  pool none → home; it is deleted and made again\n          what is on its disks is lost\n", "refused: say --allow-replace pihole to go on, or remove pool for pihole",
		},
		{
			"a system is replaced", "a container that leaves its pool", []event{{
				op: apitype.OpReplace, kind: token.Container, name: "site-pihole-ct", parent: piholeURN,
				old: pihole(map[string]any{"poolId": "home"}), new: pihole(nil), changed: []string{"poolId"},
			}},
			" REPLACE  pihole  pool home → none; it is deleted and made again\n          what is on its disks is lost\n", "refused: say --allow-replace pihole to go on, or set pool back to home for pihole",
		},
		{
			"a system is replaced", "appliances, one of them ejected, and a machine with an image whose image was changed to an ISO", []event{
				{op: apitype.OpReplace, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN, old: appliance(iso, nil), new: appliance(iso, map[string]any{"vmId": 212.0})},
				{
					op: apitype.OpReplace, kind: token.VirtualMachine, name: "site-nas-vm", parent: urn(token.StandaloneMachine, "site-nas"),
					old: appliance("none", map[string]any{"name": "nas"}), new: appliance("none", map[string]any{"name": "nas", "vmId": 213.0}),
				},
				{
					op: apitype.OpReplace, kind: token.VirtualMachine, name: "site-web-vm", parent: urn(token.StandaloneMachine, "site-web"),
					old: appliance(iso, map[string]any{"name": "web", "clone": cloned["clone"]}), new: appliance(iso, map[string]any{"name": "web", "vmId": 214.0, "clone": cloned["clone"]}),
				},
			},
			" REPLACE  nas    vmid 210 → 213; it is deleted and made again\n          what is on its disks is lost\n          its disk is blank and its drive is empty, so it boots nothing: set ejected: false, run up, and install it\n" +
				" REPLACE  tools  vmid 210 → 212; it is deleted and made again\n          what is on its disks is lost\n          it boots the ISO in its drive: install it on its console in Proxmox VE, then set ejected: true\n" +
				" REPLACE  web    vmid 210 → 214; it is deleted and made again\n          what is on its disks is lost\n",
			"refused: say --allow-replace nas --allow-replace tools --allow-replace web to go on, or set vmid back to 210 for nas, or set vmid back to 210 for tools, or set vmid back to 210 for web",
		},
		{
			"a system is deleted", "a machine", []event{{op: apitype.OpDelete, kind: token.VirtualMachine, name: "site-tools-vm", parent: toolsURN, old: tools(nil)}},
			" DELETE   tools  VM 210 on vmhost is deleted\n          what is on its disks is lost\n", "refused: say --allow-delete tools to go on, or put tools back into systems.yaml",
		},
		{
			"the root of a container", "grows", slices.Concat([]event{{op: apitype.OpSame, kind: token.Container, name: "site-pihole-ct", parent: piholeURN, old: pihole(nil), new: pihole(nil)}}, []event{root(8, 16)}),
			" CHANGE   pihole  disk 8 → 16 GiB\n", "",
		},
		{
			"the root of a container", "of one that was deleted by hand", []event{
				{op: apitype.OpCreate, kind: token.Container, name: "site-pihole-ct", parent: piholeURN, new: pihole(nil)}, root(0, 8),
			},
			" CREATE   pihole  CT 211 on vmhost\n", "",
		},
		{
			"the root of a container", "cannot shrink", []event{root(8, 4)},
			" CANNOT   site-pihole  disk 8 → 4 GiB cannot shrink: Proxmox VE only grows disks\n", "refused: set diskGiB back to 8 for site-pihole",
		},
		{
			"what systems are made from", "an image and a template of containers", []event{
				{op: apitype.OpReplace, kind: token.Command, name: "site-image-9100", old: image, new: image},
				{op: apitype.OpCreate, kind: token.Command, name: "site-template-debian-vmhost", new: map[string]any{"create": "em-infra image ensure vmhost local:vztmpl/debian.tar.zst"}},
			},
			" REPLACE  site-image-9100              template of an image\n          machines that were cloned from it do not notice\n" +
				" CREATE   site-template-debian-vmhost  local:vztmpl/debian.tar.zst, unless the host has it\n", "",
		},
		{
			"what systems are made from", "another ISO under its name", []event{download(apitype.OpReplace, "vmhost", "local:iso/old.iso", iso)},
			" CREATE   site-iso-opnsense-vmhost  local:iso/opnsense-abab.iso, unless the host has it; local:iso/old.iso is not needed any more, and stays on vmhost\n" +
				"          to remove it, once no machine and no snapshot has it in its drive, as root on vmhost: `pvesm free local:iso/old.iso`\n", "",
		},
		{
			"what systems are made from", "the same ISO is looked for again", []event{download(apitype.OpReplace, "vmhost", iso, iso)},
			" CREATE   site-iso-opnsense-vmhost  local:iso/opnsense-abab.iso, unless the host has it\n", "",
		},
		{
			"what systems are made from", "an ISO that another host still needs, which can have it from the same storage", []event{
				download(apitype.OpDelete, "vmhost", "nas:iso/a.iso", ""), download(apitype.OpSame, "other", "nas:iso/a.iso", "nas:iso/a.iso"),
			},
			" CHANGE   site-iso-opnsense-vmhost  nas:iso/a.iso is still needed by site-iso-opnsense-other, and stays\n", "",
		},
		{
			"what systems are made from", "another ISO on two hosts, one after the other", []event{
				download(apitype.OpReplace, "vmhost", "nas:iso/a.iso", "nas:iso/b.iso"), download(apitype.OpSame, "other", "nas:iso/a.iso", "nas:iso/a.iso"),
			},
			" CREATE   site-iso-opnsense-vmhost  nas:iso/b.iso, unless the host has it; nas:iso/a.iso is still needed by site-iso-opnsense-other, and stays\n", "",
		},
		{
			"what systems are made from", "a template of containers that nothing needs", []event{download(apitype.OpDelete, "vmhost", "local:vztmpl/debian.tar.zst", "")},
			" CHANGE   site-iso-opnsense-vmhost  local:vztmpl/debian.tar.zst is not needed any more, and stays on vmhost\n" +
				"          to remove it, once nothing else uses it, as root on vmhost: `pvesm free local:vztmpl/debian.tar.zst`\n", "",
		},
		{
			"a template is replaced or deleted", "new version",
			[]event{with(inTemplate, apitype.OpReplace, "name")},
			" REPLACE  lab-template-vmhost-vm  template\n          nodes that were cloned from it do not notice\n", "",
		},
		{
			"a machine configuration was changed by hand", "on a node", slices.Concat(same("w-1", "worker", 111), []event{{
				op: apitype.OpSame, kind: token.Configuration, name: "lab-w-1-configuration", parent: urn(token.TalosNode, "lab-w-1"),
				byHand: []string{"machine.sysctls.a", "machine.sysctls.b", "machine.sysctls.c", "machine.sysctls.d"},
			}}),
			" CHANGE   w-1  its machine configuration was changed by hand (machine.sysctls.a, machine.sysctls.b, machine.sysctls.c and 1 more) and is put back; Talos reboots where it must\n", "",
		},
		{
			"a machine configuration was changed by hand", "on a node whose machine is replaced", slices.Concat(node("w-1", "worker", 111, apitype.OpReplace, map[string]any{"vmId": 112.0}, "vmId"), []event{
				{op: apitype.OpReplace, kind: token.Configuration, name: "lab-w-1-configuration", parent: urn(token.TalosNode, "lab-w-1"), byHand: []string{"machine.sysctls.a"}},
			}),
			" REPLACE  w-1  vmid 111 → 112; the VM is deleted and created again\n          drained and reset first\n", "",
		},
		{
			"a machine configuration is changed", "of a node", slices.Concat(same("w-1", "worker", 111), []event{
				{op: apitype.OpUpdate, kind: token.Configuration, name: "lab-w-1-configuration", parent: urn(token.TalosNode, "lab-w-1"), changed: []string{"machineConfigurationInput"}},
			}),
			" CHANGE   w-1  its machine configuration, applied in place; where Talos reboots for it, drained first\n", "",
		},
		{
			"machine secrets are changed", "replaced",
			[]event{{op: apitype.OpReplace, kind: token.Secrets, name: "lab-secrets"}},
			" REPLACE  lab-secrets  machine secrets\n          every certificate and key of the cluster becomes another: no node trusts what is there now, and the cluster is lost\n",
			"refused: say --allow-change secrets to go on",
		},
		{
			"etcd is bootstrapped anew", "replaced",
			[]event{{op: apitype.OpReplace, kind: token.Bootstrap, name: "lab-bootstrap"}},
			" REPLACE  lab-bootstrap  etcd bootstrap\n          etcd would begin anew beside the one that holds the cluster's state\n",
			"refused: say --allow-change secrets to go on",
		},
		{
			"Kubernetes is upgraded", "to the next minor", []event{kubernetes("v1.35.4", "v1.36.1")},
			" UPGRADE  Kubernetes  v1.35.4 → v1.36.1 (API servers one by one, kubelets last; no node reboots)\n", "",
		},
		{
			"a node's Talos is upgraded", "one of three control planes", slices.Concat(three, upgraded("cp-3", "control-plane", 103, schematicA+":v1.12.4", schematicA+":v1.12.11")),
			" UPGRADE  cp-3  Talos v1.12.4 → v1.12.11 (drain, reboot, about 3 min); 2 of 3 control planes stay\n", "",
		},
		{
			"a node's Talos is upgraded", "the only control plane", upgraded("cp-1", "control-plane", 101, schematicA+":v1.12.4", schematicA+":v1.12.11"),
			" UPGRADE  cp-1  Talos v1.12.4 → v1.12.11 (drain, reboot, about 3 min)\n          the Kubernetes API is away while it reboots: this is the only control plane\n", "",
		},
		{
			"a node's Talos is upgraded", "another extension", upgraded("w-1", "worker", 111, schematicA+":v1.12.11", schematicB+":v1.12.11"),
			" UPGRADE  w-1  Talos v1.12.11, schematic 376567988ad3 → ce4c980550dd (drain, reboot, about 3 min)\n", "",
		},
		{
			"a node's Talos is upgraded", "both, beside its configuration", append(upgraded("w-1", "worker", 111, schematicA+":v1.12.11", schematicB+":v1.13.9"),
				event{op: apitype.OpUpdate, kind: token.Configuration, name: "lab-w-1-configuration", parent: urn(token.TalosNode, "lab-w-1"), changed: []string{"machineConfigurationInput"}}),
			" UPGRADE  w-1  Talos v1.12.11 → v1.13.9, schematic 376567988ad3 → ce4c980550dd (drain, reboot, about 3 min); its machine configuration, applied in place; where Talos reboots for it, drained first\n", "",
		},
		{
			"a node's Talos is upgraded", "from a state that does not know the image", upgraded("w-1", "worker", 111, "", schematicA+":v1.12.11"),
			" UPGRADE  w-1  to Talos v1.12.11 of schematic 376567988ad3, unless it runs that already (drain, reboot, about 3 min)\n", "",
		},
		{
			"an ISO is made sure of", "of another schematic",
			[]event{{
				op: apitype.OpReplace, kind: token.Command, name: "lab-template-vmhost-iso", parent: urn(token.TalosTemplate, "lab-template-vmhost"),
				old: map[string]any{"triggers": []any{"vmhost", "local:iso/old.iso"}}, new: map[string]any{"triggers": []any{"vmhost", "local:iso/new.iso"}}, changed: []string{"triggers[1]"},
			}},
			" CREATE   lab-template-vmhost-iso  local:iso/new.iso, unless the host has it\n", "",
		},
		{
			"the network of a host", "created",
			[]event{{op: apitype.OpCreate, kind: token.Command, name: "site-network-vmhost", new: map[string]any{
				"delete":      "em-infra host network release",
				"environment": map[string]any{"EM_INFRA_HOST_NETWORK": `{"node":"vmhost","owner":"site","interfaces":[{"name":"vmbr1"},{"name":"vmbr1.30"}]}`},
			}}},
			" CREATE   network of vmhost  interfaces vmbr1, vmbr1.30\n          all changes are staged and applied with one reload of the host's network; what the API is reached by is refused\n", "",
		},
		{
			"the network of a host", "deleted",
			[]event{{op: apitype.OpDelete, kind: token.Command, name: "site-network-vmhost", old: map[string]any{"delete": "em-infra host network release"}}},
			" DELETE   site-network-vmhost  the interfaces that this stack has made\n          all changes are staged and applied with one reload of the host's network; what the API is reached by is refused\n", "",
		},
		{
			"the definition of a storage", "made",
			[]event{{op: apitype.OpCreate, kind: token.Command, name: "site-storage-nas", new: map[string]any{
				"delete":      "em-infra host storage release",
				"environment": map[string]any{"EM_INFRA_HOST_STORAGE": `{"name":"nas","type":"nfs","content":["images","iso"]}`},
			}}},
			" CREATE   storage nas  nfs for images, iso\n          its data are not touched\n", "",
		},
		{
			"the definition of a storage", "removed",
			[]event{{op: apitype.OpDelete, kind: token.Command, name: "site-storage-nas", old: map[string]any{"delete": "em-infra host storage release"}}},
			" DELETE   site-storage-nas  the definition of a storage\n          its definition goes if this stack has made it, and its data stay; refused while machines use it\n", "",
		},
		{
			"the settings of a host", "set",
			[]event{{op: apitype.OpCreate, kind: token.Command, name: "site-settings-vmhost", new: map[string]any{
				"delete": "em-infra host settings release",
				"environment": map[string]any{
					"EM_INFRA_HOST_SETTINGS": `{"node":"vmhost","timeZone":"Europe/Berlin","names":[{"address":"192.168.20.5","names":["nas"]}],"repositories":[{"handle":"enterprise"}]}`,
				},
			}}},
			" CREATE   settings of vmhost  time zone Europe/Berlin; 192.168.20.5 is nas; repository enterprise off\n", "",
		},
		{
			"the settings of a host", "given up",
			[]event{{op: apitype.OpDelete, kind: token.Command, name: "site-settings-vmhost", old: map[string]any{
				"delete": "em-infra host settings release", "environment": map[string]any{"EM_INFRA_HOST_SETTINGS": `{"node":"vmhost"}`},
			}}},
			" DELETE   settings of vmhost  the names that this stack has added to /etc/hosts\n          time zone and repositories stay as they are\n", "",
		},
		{
			"the options of the cluster", "given up",
			[]event{{op: apitype.OpDelete, kind: token.Command, name: "site-options", old: map[string]any{
				"environment": map[string]any{"EM_INFRA_HOST_OPTIONS": `[{"name":"keyboard","value":"de"}]`},
			}}},
			" DELETE   options of the cluster  keyboard: de\n          they stay as they are\n", "",
		},
		{
			"a metric server or a backup job", "made",
			[]event{{op: apitype.OpCreate, kind: token.Command, name: "site-backup-nightly", new: map[string]any{
				"delete":      "em-infra host definition release",
				"environment": map[string]any{"EM_INFRA_HOST_DEFINITION": `{"kind":"backup job","id":"nightly","settings":[{"name":"schedule","value":"02:30"},{"name":"pool"}]}`},
			}}},
			" CREATE   backup job nightly  schedule: 02:30\n", "",
		},
		{
			"a metric server or a backup job", "removed",
			[]event{{op: apitype.OpDelete, kind: token.Command, name: "site-metrics-graphs", old: map[string]any{"delete": "em-infra host definition release"}}},
			" DELETE   site-metrics-graphs  a definition\n          it goes if this stack has made it; what it has sent or backed up stays\n", "",
		},
		{
			"the access control", "changed",
			[]event{{op: apitype.OpUpdate, kind: token.Command, name: "site-access", new: map[string]any{
				"delete":      "em-infra host access release",
				"environment": map[string]any{"EM_INFRA_HOST_ACCESS": `{"roles":[{"name":"Backup"}],"users":[{"id":"backup@pve"},{"id":"guest@pve"}]}`},
			}, old: map[string]any{
				"environment": map[string]any{"EM_INFRA_HOST_ACCESS": `{"roles":[{"name":"Backup"},{"name":"Viewer"}],"groups":[{"name":"admins"}],"users":[{"id":"backup@pve"},{"id":"old@pve"}]}`},
			}}},
			" CHANGE   access  roles Backup; users backup@pve, guest@pve\n          it holds at once; a change that would take a privilege from the token of this run is refused\n          deleted, if this stack has made them: roles Viewer; groups admins; users old@pve\n", "",
		},
		{
			"the access control", "deleted",
			[]event{{op: apitype.OpDelete, kind: token.Command, name: "site-access", old: map[string]any{"delete": "em-infra host access release"}}},
			" DELETE   access  roles, groups, users and permissions\n          what this stack has made is deleted, and what was there before it stays\n", "",
		},
		{
			"a token", "made",
			[]event{{op: apitype.OpCreate, kind: token.Command, name: "site-token-backup", new: map[string]any{
				"delete": "em-infra host token release", "environment": map[string]any{"EM_INFRA_HOST_TOKEN": `{"id":"backup@pve!nightly"}`},
			}}},
			" CREATE   token backup@pve!nightly  an API token\n          its secret is in the output proxmoxTokens\n", "",
		},
		{
			"a token", "changed",
			[]event{{op: apitype.OpUpdate, kind: token.Command, name: "site-token-backup", new: map[string]any{
				"delete": "em-infra host token release", "environment": map[string]any{"EM_INFRA_HOST_TOKEN": `{"id":"backup@pve!nightly"}`},
			}}},
			" CHANGE   token backup@pve!nightly  an API token\n          its secret stays, unless the token was deleted on the host\n", "",
		},
		{
			"a token", "deleted",
			[]event{{op: apitype.OpDelete, kind: token.Command, name: "site-token-backup", old: map[string]any{"delete": "em-infra host token release"}}},
			" DELETE   site-token-backup  an API token\n          programs that use it are refused from then on\n", "",
		},
		{
			"the device of a GPU", "another card, which the machine gets when it is started", otherCard(apitype.OpSame, nil),
			" CHANGE   gpu-1  PCI device 0000:01:00.0 → 0000:02:00.0; deviceId 10de:2204 → 10de:2684\n" +
				"          the node has the former device until its VM is stopped and started, which a reboot of Talos does not do: run `qm reboot 121` on vmhost after the up, when the node may be away for a minute\n", "",
		},
		{
			"the device of a GPU", "another card for a machine that is made anew", otherCard(apitype.OpCreate, nil),
			" CREATE   gpu-1  VM 121 on vmhost, 192.168.20.31\n", "",
		},
		{
			"the device of a GPU", "another card for a machine that reboots", otherCard(apitype.OpUpdate, memory, "memory.dedicated"),
			" REBOOT   gpu-1  PCI device 0000:01:00.0 → 0000:02:00.0; deviceId 10de:2204 → 10de:2684; memory 8192 → 16384 MiB\n          drained, reboots, about 1 min\n", "",
		},
		{
			"part of a node", "configuration of one that is replaced", slices.Concat(node("w-1", "worker", 111, apitype.OpReplace, map[string]any{"vmId": 112.0}, "vmId"), []event{
				{op: apitype.OpReplace, kind: token.Configuration, name: "lab-w-1-configuration", parent: urn(token.TalosNode, "lab-w-1")},
			}),
			" REPLACE  w-1  vmid 111 → 112; the VM is deleted and created again\n          drained and reset first\n", "",
		},
		{
			"a component, a provider or a command", "all three",
			[]event{
				{op: apitype.OpUpdate, kind: token.TalosCluster, name: "lab", changed: []string{"machines"}},
				{op: apitype.OpUpdate, kind: "pulumi:providers:proxmoxve", name: "proxmox", changed: []string{"apiToken"}},
				{op: apitype.OpCreate, kind: token.Command, name: "lab-w-1-ready"},
			},
			"only what the engine notes for itself would change: components, providers, checks\n", "",
		},
		{
			"anything else", "made and changed",
			[]event{
				{op: apitype.OpCreate, kind: "talos:cluster/kubeconfig:Kubeconfig", name: "lab-kubeconfig"},
				{op: apitype.OpUpdate, kind: "x:y/z:Thing", name: "thing", changed: []string{"a", "b"}},
			},
			" CREATE   lab-kubeconfig  kubeconfig\n CHANGE   thing           Thing: a, b\n", "",
		},
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, test := range rows() {
		t.Run(test.rule+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			a := assess(test.events...)
			require.Equal(t, test.text, written(t, a))
			require.Equal(t, test.refusal, a.Refusal(nil))
		})
	}
}

func TestNothingToSay(t *testing.T) {
	t.Parallel()
	require.Equal(t, "nothing would change\n", written(t, assess(same("cp-1", "control-plane", 101)...)))
}

func TestEachRuleHasATest(t *testing.T) {
	t.Parallel()
	var tested []string
	for _, test := range rows() {
		tested = append(tested, test.rule)
	}
	require.Equal(t, risk.RuleNames(), slices.Compact(tested))
}

func TestControlPlanesLeaveOneByOne(t *testing.T) {
	t.Parallel()
	a := assess(slices.Concat(
		same("cp-1", "control-plane", 101),
		node("cp-2", "control-plane", 102, apitype.OpReplace, map[string]any{"vmId": 112.0}, "vmId"),
		node("cp-3", "control-plane", 103, apitype.OpDelete, nil),
	)...)
	require.Equal(t, ` REPLACE  cp-2  vmid 102 → 112; the VM is deleted and created again
          drained, its member leaves etcd, and the new machine joins; control planes that go on meanwhile: 1
 DELETE   cp-3  VM 103 on vmhost is deleted
          drained, and its member leaves etcd first; control planes that stay: 2
`, written(t, a))
	require.Equal(t, "refused: say --allow-replace cp-2 --allow-delete cp-3 to go on,"+
		" or set vmid back to 102 for cp-2, or put cp-3 back into nodes.yaml", a.Refusal(nil))
	replace, remove := risk.Permission{Flag: risk.FlagReplace, Subject: "cp-2"}, risk.Permission{Flag: risk.FlagDelete, Subject: "cp-3"}
	require.Equal(t, []risk.Permission{remove}, a.Missing([]risk.Permission{replace}))
	require.Equal(t, []risk.Permission{replace, remove}, a.Missing([]risk.Permission{{Flag: risk.FlagReplace, Subject: "cp-3"}, {Flag: risk.FlagDelete, Subject: "cp-2"}}))
	require.Empty(t, a.Refusal([]risk.Permission{replace, remove}))
	require.Equal(t, []string{"cp-2", "cp-3"}, a.LostControlPlanes())
	require.Empty(t, assess(node("w-1", "worker", 111, apitype.OpDelete, nil)...).LostControlPlanes())
}

// A machine that was renamed by hand is the node that the inventory had, in the plan and in the flag that it needs.
func TestARenamedMachineIsItsNode(t *testing.T) {
	t.Parallel()
	renamed := node("cp-1", "control-plane", 101, apitype.OpDelete, nil)
	renamed[1].old["name"] = "by-hand"
	a := assess(append(renamed, same("cp-2", "control-plane", 102)...)...)
	require.Equal(t, "refused: say --allow-delete cp-1 to go on, or put cp-1 back into nodes.yaml", a.Refusal(nil))
}

// A control plane that is removed would keep the former version of Kubernetes, and may be the only one that runs.
func TestKubernetesIsNotUpgradedWhileAControlPlaneLeaves(t *testing.T) {
	t.Parallel()
	a := assess(append(slices.Concat(
		node("cp-1", "control-plane", 101, apitype.OpDelete, nil), same("cp-2", "control-plane", 102), same("cp-3", "control-plane", 103),
	), kubernetes("v1.35.4", "v1.35.5"))...)
	require.Equal(t, ` CANNOT   Kubernetes  v1.35.4 → v1.35.5 (API servers one by one, kubelets last; no node reboots)
          not in the run that removes a control plane (cp-1), which would keep v1.35.4
 DELETE   cp-1        VM 101 on vmhost is deleted
          drained, and its member leaves etcd first; control planes that stay: 2
`, written(t, a))
	require.Equal(t, "refused: set kubernetes.version back to v1.35.4, run up, and then upgrade Kubernetes, or put cp-1 back into nodes.yaml",
		a.Refusal([]risk.Permission{{Flag: risk.FlagDelete, Subject: "cp-1"}}))
}

// A control plane is replaced by the engine, whose order the lane does not know.
func TestAControlPlaneIsReplacedAlone(t *testing.T) {
	t.Parallel()
	replaced := func(name string, vmid int) []event {
		return node(name, "control-plane", vmid, apitype.OpReplace, map[string]any{"vmId": float64(vmid + 10)}, "vmId")
	}
	rebooted := node("cp-2", "control-plane", 102, apitype.OpUpdate, map[string]any{"memory": map[string]any{"dedicated": 16384.0}}, "memory.dedicated")
	for name, other := range map[string][]event{"replaced": replaced("cp-2", 102), "rebooted": rebooted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assess(slices.Concat(replaced("cp-1", 101), other, same("cp-3", "control-plane", 103))...)
			require.Contains(t, written(t, a), "it is replaced alone, before the rest of this run\n")
			if name == "replaced" {
				require.Equal(t, []string{"cp-1", "cp-2"}, a.Alone)
				require.Equal(t, "refused: say --allow-replace cp-1 --allow-replace cp-2 to go on, or set vmid back to 101 for cp-1, or set vmid back to 102 for cp-2", a.Refusal(nil))
				return
			}
			require.Equal(t, []string{"cp-1"}, a.Alone)
		})
	}
	worker := node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"memory": map[string]any{"dedicated": 16384.0}}, "memory.dedicated")
	made := assess(slices.Concat(replaced("cp-1", 101), node("cp-2", "control-plane", 102, apitype.OpCreate, nil), same("cp-3", "control-plane", 103))...)
	require.Equal(t, []string{"cp-1", "cp-2"}, made.Alone)
	require.Contains(t, written(t, made), "it is made before another control plane is replaced\n")
	require.Empty(t, assess(node("cp-2", "control-plane", 102, apitype.OpCreate, nil)...).Alone)
	require.Empty(t, assess(slices.Concat(replaced("cp-1", 101), worker, same("cp-3", "control-plane", 103))...).Alone, "a worker may change beside it")
}

// A run of one control plane must not take it for the only one, whose etcd would be restored on the new machine.
func TestARunOfOneNodeKnowsTheOthers(t *testing.T) {
	t.Parallel()
	replaced := func(name string, vmid int) []event {
		return node(name, "control-plane", vmid, apitype.OpReplace, map[string]any{"vmId": float64(vmid + 10)}, "vmId")
	}
	all := stepsOf(slices.Concat(replaced("cp-1", 101), []event{member("cp-1", apitype.OpReplace)}, replaced("cp-2", 102), same("cp-3", "control-plane", 103))...)
	var targets []string
	for _, step := range all {
		if strings.HasPrefix(step.URN.Name(), "lab-cp-1") {
			targets = append(targets, string(step.URN))
		}
	}
	a := risk.Assess(plan.Within(targets, all), risk.Seen{})
	require.Empty(t, a.Recovers)
	require.Empty(t, a.Alone)
	require.Contains(t, written(t, a), "drained, its member leaves etcd, and the new machine joins; control planes that go on meanwhile: 2\n")
	require.NotContains(t, written(t, a), "cp-2")
}

func TestNoPermissionMakesTheImpossiblePossible(t *testing.T) {
	t.Parallel()
	a := assess(node("cp-1", "control-plane", 101, apitype.OpUpdate, map[string]any{"disks": []any{map[string]any{"size": 32.0}}}, "disks[0].size")...)
	require.True(t, a.Impossible())
	require.Equal(t, "refused: set diskGiB back to 64 for cp-1", a.Refusal([]risk.Permission{{Flag: risk.FlagReplace, Subject: "cp-1"}}))
}

func TestOrderIsThatOfTheCluster(t *testing.T) {
	t.Parallel()
	memory := map[string]any{"memory": map[string]any{"dedicated": 16384.0}}
	events := slices.Concat(
		[]event{{op: apitype.OpCreate, kind: "talos:cluster/kubeconfig:Kubeconfig", name: "a-kubeconfig"}},
		node("a-worker", "worker", 111, apitype.OpUpdate, memory, "memory.dedicated"),
		node("z-control", "control-plane", 101, apitype.OpUpdate, memory, "memory.dedicated"),
	)
	forth := written(t, assess(events...))
	slices.Reverse(events)
	require.Equal(t, forth, written(t, assess(events...)), "whatever the order of the events")
	require.Equal(t, ` REBOOT   z-control     memory 8192 → 16384 MiB
          drained, reboots; the Kubernetes API is away for about 1 min: this is the only control plane
 REBOOT   a-worker      memory 8192 → 16384 MiB
          drained, reboots, about 1 min
 CREATE   a-kubeconfig  kubeconfig
2 nodes reboot, a few at a time and control planes one by one, each when the one before is healthy: up to 2 min, and as long as the drains take
`, forth)
}

func TestJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(assess(node("cp-1", "control-plane", 101, apitype.OpReplace, map[string]any{"vmId": 112.0}, "vmId")...))
	require.NoError(t, err)
	require.JSONEq(t, `{"findings": [{
		"kind": "REPLACE", "subject": "cp-1", "what": ["vmid 101 → 112", "the VM is deleted and created again"],
		"means": ["its etcd data is deleted", "this is the only control plane: the cluster is lost"],
		"needs": [{"flag": "allow-replace", "subject": "cp-1"}], "undo": ["set vmid back to 101"]}]}`, string(text))
}

// TestWhatTheProviderDoesNotRead holds that a step of which the engine sees nothing is judged by what was found besides.
func TestWhatTheProviderDoesNotRead(t *testing.T) {
	t.Parallel()
	machine := plan.Step{
		Op: apitype.OpSame, URN: resource.URN(urn(token.VirtualMachine, "lab-w-1-vm")), Parent: resource.URN(urn(token.TalosNode, "lab-w-1")),
		Old: map[string]any{"name": "w-1", "onBoot": true}, New: map[string]any{"name": "w-1", "onBoot": true},
	}
	node := plan.Step{Op: apitype.OpSame, URN: resource.URN(urn(token.TalosNode, "lab-w-1")), New: map[string]any{"role": "worker"}}
	machine.Differ(map[string]any{"onBoot": false})
	require.Equal(t, " CHANGE   w-1  start at boot false → true\n", written(t, risk.Assess([]plan.Step{node, machine}, risk.Seen{})))

	gone := plan.Step{Op: apitype.OpDelete, Old: map[string]any{"onBoot": true}}
	gone.Differ(map[string]any{"onBoot": false})
	require.Empty(t, gone.Changed, "what goes is not mended first")
}
