package preflight_test

import (
	"errors"
	"net/netip"
	"time"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// nas returns a machine that is not ours.
func nas(status string) pve.Guest {
	return pve.Guest{VMID: 205, Name: "nas", Node: "pve1", Type: "qemu", Status: status, MemoryBytes: 8 * gib}
}

// siteMaker is a stack that makes the storage tank and the bridge vmbr0 on both hosts.
func siteMaker() preflight.Maker {
	network := hosts.Network{Bridges: []hosts.Bridge{{Name: "vmbr0"}}}
	return preflight.Maker{Place: "--stack site", Inventory: &hosts.Inventory{File: hosts.File{
		Hosts:    []hosts.Host{{Name: "pve1", Network: network}, {Name: "pve2", Network: network}},
		Storages: []hosts.Storage{{Name: "tank", Content: []hosts.Content{hosts.ContentImages}}},
	}}}
}

// pihole is a nameserver that another stack makes.
func pihole(where preflight.Where) preflight.Server {
	return preflight.Server{Name: "pihole", Type: pve.TypeContainer, VMID: 211, Stack: "site-systems", Place: "--stack site-systems", Where: where}
}

const gpuLine = "gpus: [{bdf: 0000:01:00.0, deviceId: 10de:2204, subsystemId: 1462:3881, iommuGroup: 14}]"

var errDown = errors.New("596 Connection timed out")

// findings are changes of a valid snapshot, each with all its findings.
var findings = []struct {
	name  string
	alter func(*preflight.Snapshot)
	want  []preflight.Check
}{
	{
		"no answer", func(s *preflight.Snapshot) {
			s.Version.Err = remedy.Errorf("start the host", "proxmox VE does not answer at https://pve1:8006 (connection refused)")
		},
		[]preflight.Check{{Name: "version", Result: preflight.Fail, Sentence: "proxmox VE does not answer at https://pve1:8006 (connection refused)", Remedy: "start the host"}},
	},
	{
		"an error of others", func(s *preflight.Snapshot) { s.Version.Err = errors.New("dial tcp: connection refused") },
		[]preflight.Check{{Name: "version", Result: preflight.Fail, Sentence: "dial tcp: connection refused"}},
	},
	{
		"old release", func(s *preflight.Snapshot) { s.Version.Value = "7.4-17" },
		[]preflight.Check{
			{Name: "version", Result: preflight.Fail, Sentence: "Proxmox VE 7.4-17 at https://pve1:8006 is too old", Remedy: "upgrade the host to Proxmox VE 8.4 or 9"},
			{
				Name: "privileges", Result: preflight.Fail, Sentence: "token ops@pve!k8s lacks VM.Monitor on /vms/101, /vms/102, /vms/103",
				Remedy: "as root on the host, what `em-infra role` prints; it gives VM.Monitor to ops@pve",
			},
		},
	},
	{
		"unknown release", func(s *preflight.Snapshot) { s.Version.Value = "10.0.1" },
		[]preflight.Check{{Name: "version", Result: preflight.Warn, Sentence: "Proxmox VE 10.0.1 at https://pve1:8006 is newer than this program knows", Remedy: "rehearse first, and look for a newer em-infra"}},
	},
	{
		"no use of the bridge (F13)", func(s *preflight.Snapshot) {
			s.Privileges["/sdn/zones/localnetwork/vmbr0/20"] = preflight.Reading[[]string]{}
		},
		[]preflight.Check{{
			Name: "privileges", Result: preflight.Fail, Sentence: "token ops@pve!k8s lacks SDN.Use on /sdn/zones/localnetwork/vmbr0/20",
			Remedy: "as root on the host: `pveum acl modify /sdn/zones/localnetwork/vmbr0/20 --users ops@pve --roles EmInfraOperator`; what the role itself lacks, `em-infra role` tells",
		}},
	},
	{
		"role of release 8 on release 9 (F12)", func(s *preflight.Snapshot) { s.Privileges["/vms/101"] = allowed(8) },
		[]preflight.Check{{
			Name: "privileges", Result: preflight.Fail, Sentence: "token ops@pve!k8s lacks VM.GuestAgent.Audit on /vms/101",
			Remedy: "as root on the host: `pveum acl modify /vms/101 --users ops@pve --roles EmInfraOperator`; what the role itself lacks, `em-infra role` tells",
		}},
	},
	{
		"unreadable privileges", func(s *preflight.Snapshot) { s.Privileges["/"] = preflight.Reading[[]string]{Err: errDown} },
		[]preflight.Check{{
			Name: "privileges", Result: preflight.Fail, Sentence: "what the token may do on / cannot be read (596 Connection timed out)",
			Remedy: "see that the host answers and that the token has the role that `em-infra role` prints",
		}},
	},
	{
		"host of another cluster", func(s *preflight.Snapshot) {
			s.Nodes.Value = []pve.Node{{Name: "pve1", Status: "online"}, {Name: "pve3", Status: "online"}}
		},
		[]preflight.Check{{Name: "host", Result: preflight.Fail, Sentence: "host pve2 is not in this Proxmox VE cluster, which has pve1, pve3", Remedy: "correct host in the inventory"}},
	},
	{
		"host down", func(s *preflight.Snapshot) {
			s.Nodes.Value = []pve.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "offline"}}
		},
		[]preflight.Check{{Name: "host", Result: preflight.Fail, Sentence: "host pve2 is offline", Remedy: "start the host, or see its network"}},
	},
	{
		"clock a little ahead", func(s *preflight.Snapshot) {
			change(s, "pve1", func(h *preflight.Host) { h.Ahead.Value = 8 * time.Second })
		},
		[]preflight.Check{{Name: "clock", Result: preflight.Warn, Sentence: "the clock of pve1 is 8s ahead of this machine's", Remedy: "see `chronyc tracking` on the host, and `timedatectl` here"}},
	},
	{
		"clock far behind", func(s *preflight.Snapshot) {
			change(s, "pve2", func(h *preflight.Host) { h.Ahead.Value = -2 * time.Hour })
		},
		[]preflight.Check{{Name: "clock", Result: preflight.Fail, Sentence: "the clock of pve2 is 2h0m0s behind this machine's: certificates would not be valid", Remedy: "see `chronyc tracking` on the host, and `timedatectl` here"}},
	},
	{
		"no such storage", func(s *preflight.Snapshot) {
			change(s, "pve2", func(h *preflight.Host) { h.Storages.Value = h.Storages.Value[:1] })
		},
		[]preflight.Check{{Name: "storage", Result: preflight.Fail, Sentence: "storage tank is not on pve2, which has local", Remedy: "correct the storage in the inventory, or add it in Proxmox VE"}},
	},
	{
		"a storage and a bridge that a stack of hosts makes", func(s *preflight.Snapshot) {
			s.Makers = preflight.Makers{siteMaker()}
			change(s, "pve2", func(h *preflight.Host) { h.Storages.Value, h.Bridges.Value = h.Storages.Value[:1], nil })
		},
		[]preflight.Check{
			{Name: "storage", Result: preflight.Fail, Sentence: "storage tank is not on pve2, which has local", Remedy: "run `em-infra up --stack site`, whose hosts.yaml has the storage tank for images", MadeBy: "--stack site"},
			{Name: "bridge", Result: preflight.Fail, Sentence: "bridge vmbr0 is not on pve2, which has none that the token may use", Remedy: "run `em-infra up --stack site`, whose hosts.yaml has the bridge vmbr0 of pve2", MadeBy: "--stack site"},
		},
	},
	{
		"a nameserver of another stack that is not there", func(s *preflight.Snapshot) { s.Servers = []preflight.Server{pihole(preflight.Here)} },
		[]preflight.Check{{
			Name: "nameserver", Result: preflight.Fail, Sentence: "nameserver pihole (container 211 of stack site-systems) is not there",
			Remedy: "run `em-infra up --stack site-systems`, which makes it", MadeBy: "--stack site-systems",
		}},
	},
	{
		"a nameserver whose VMID another guest has", func(s *preflight.Snapshot) {
			s.Servers = []preflight.Server{pihole(preflight.Here)}
			add(s, pve.Guest{VMID: 211, Name: "pihole", Node: "pve1", Type: "qemu", Status: "running"}, pve.GuestConfig{})
		},
		[]preflight.Check{{
			Name: "nameserver", Result: preflight.Fail, Sentence: "nameserver pihole (container 211 of stack site-systems) is not there",
			Remedy: "run `em-infra up --stack site-systems`, which makes it", MadeBy: "--stack site-systems",
		}},
	},
	{
		"a nameserver that is off", func(s *preflight.Snapshot) {
			server := pihole(preflight.Here)
			server.Name, server.Type = "dns", pve.TypeVM
			s.Servers = []preflight.Server{server}
			add(s, pve.Guest{VMID: 211, Name: "dns", Node: "pve1", Type: "qemu", Status: "stopped"}, pve.GuestConfig{})
		},
		[]preflight.Check{{
			Name: "nameserver", Result: preflight.Fail, Sentence: "nameserver dns (VM 211 of stack site-systems) is stopped",
			Remedy: "run `em-infra up --stack site-systems`, which starts it", MadeBy: "--stack site-systems",
		}},
	},
	{
		"a nameserver that is off beside another one", func(s *preflight.Snapshot) {
			s.Servers, s.ServerAddresses = []preflight.Server{pihole(preflight.Here)}, []netip.Addr{netip.MustParseAddr("192.168.20.1")}
			add(s, pve.Guest{VMID: 211, Name: "pihole", Node: "pve1", Type: "lxc", Status: "stopped"}, pve.GuestConfig{})
		},
		[]preflight.Check{{
			Name: "nameserver", Result: preflight.Warn, Sentence: "nameserver pihole (container 211 of stack site-systems) is stopped; the nodes still have 192.168.20.1",
			Remedy: "run `em-infra up --stack site-systems`, which starts it",
		}},
	},
	{
		"a nameserver that is off, for a run that creates nothing", func(s *preflight.Snapshot) {
			s.Servers, s.SparesServers = []preflight.Server{pihole(preflight.Here)}, true
			add(s, pve.Guest{VMID: 211, Name: "pihole", Node: "pve1", Type: "lxc", Status: "stopped"}, pve.GuestConfig{})
		},
		[]preflight.Check{{
			Name: "nameserver", Result: preflight.Warn, Sentence: "nameserver pihole (container 211 of stack site-systems) is stopped",
			Remedy: "run `em-infra up --stack site-systems`, which starts it", MadeBy: "--stack site-systems",
		}},
	},
	{
		"a nameserver in a rehearsal of one stack", func(s *preflight.Snapshot) { s.Servers = []preflight.Server{pihole(preflight.Unrehearsed)} },
		[]preflight.Check{{
			Name: "nameserver", Result: preflight.Warn, Sentence: "nameserver pihole of stack site-systems is not in this lab, which this stack has for itself",
			Remedy: "nothing, or rehearse both stacks on one lab with `em-infra site up --lab`",
		}},
	},
	{
		"a bridge that a stack of hosts will change", func(s *preflight.Snapshot) {
			maker := siteMaker()
			maker.Inventory.File.Hosts[1].Network.Bridges[0].VLANAware = true
			s.Makers = preflight.Makers{maker}
			change(s, "pve2", func(h *preflight.Host) { h.Bridges.Value[0].VLANAware, h.Bridges.Value[0].Ports = false, "" })
		},
		[]preflight.Check{
			{Name: "bridge", Result: preflight.Fail, Sentence: "bridge vmbr0 on pve2 is not VLAN-aware and has no port, so it cannot carry VLAN 20", Remedy: "run `em-infra up --stack site`, whose hosts.yaml has the bridge vmbr0 of pve2", MadeBy: "--stack site"},
		},
	},
	{
		"a storage that the stack of hosts makes elsewhere", func(s *preflight.Snapshot) {
			maker := siteMaker()
			maker.Inventory.File.Storages[0].Hosts = []string{"pve1"}
			s.Makers = preflight.Makers{maker}
			change(s, "pve2", func(h *preflight.Host) { h.Storages.Value = h.Storages.Value[:1] })
		},
		[]preflight.Check{{Name: "storage", Result: preflight.Fail, Sentence: "storage tank is not on pve2, which has local", Remedy: "correct the storage in the inventory, or add it in Proxmox VE"}},
	},
	{
		"storage that takes no ISO", func(s *preflight.Snapshot) { storage(s, func(st *pve.Storage) { st.Content = "vztmpl,backup" }, 0) },
		[]preflight.Check{{Name: "storage", Result: preflight.Fail, Sentence: "storage local on pve1 does not take iso, only vztmpl,backup", Remedy: "as root on the host: `pvesm set local --content vztmpl,backup,iso`"}},
	},
	{
		"storage away", func(s *preflight.Snapshot) { storage(s, func(st *pve.Storage) { st.Active = false }, 1) },
		[]preflight.Check{{Name: "storage", Result: preflight.Fail, Sentence: "storage tank is not active on pve1", Remedy: "see `pvesm status` on pve1"}},
	},
	{
		"storage full", func(s *preflight.Snapshot) { storage(s, func(st *pve.Storage) { st.AvailableBytes = 41 * gib }, 1) },
		[]preflight.Check{{Name: "storage", Result: preflight.Fail, Sentence: "storage tank on pve1 has 41 GiB free, the inventory asks for 321 GiB", Remedy: "free space, or set diskStorage or diskGiB"}},
	},
	{
		"shared storage full", func(s *preflight.Snapshot) {
			for _, name := range []string{"pve1", "pve2"} {
				change(s, name, func(h *preflight.Host) {
					h.Storages.Value = []pve.Storage{h.Storages.Value[0], {Name: "tank", Content: "images", Active: true, Shared: true, AvailableBytes: 400 * gib}}
				})
			}
		},
		[]preflight.Check{{Name: "storage", Result: preflight.Fail, Sentence: "storage tank has 400 GiB free, the inventory asks for 490 GiB", Remedy: "free space, or set diskStorage or diskGiB"}},
	},
	{
		"no such bridge", func(s *preflight.Snapshot) { change(s, "pve2", func(h *preflight.Host) { h.Bridges.Value = nil }) },
		[]preflight.Check{{Name: "bridge", Result: preflight.Fail, Sentence: "bridge vmbr0 is not on pve2, which has none that the token may use", Remedy: "correct bridge in the inventory, or make the bridge in Proxmox VE"}},
	},
	{
		"bridge without VLANs", func(s *preflight.Snapshot) {
			change(s, "pve1", func(h *preflight.Host) {
				h.Bridges.Value = []pve.Bridge{{Name: "vmbr0", Type: "bridge", Ports: "eno1"}}
			})
		},
		[]preflight.Check{{
			Name: "bridge", Result: preflight.Warn, Sentence: "bridge vmbr0 on pve1 is not VLAN-aware: Proxmox VE makes a bridge of its own for VLAN 20",
			Remedy: "as root on pve1: set bridge-vlan-aware yes for vmbr0 in /etc/network/interfaces, then ifreload -a",
		}},
	},
	{
		"bridge without VLANs or ports", func(s *preflight.Snapshot) {
			change(s, "pve1", func(h *preflight.Host) { h.Bridges.Value = []pve.Bridge{{Name: "vmbr0", Type: "bridge"}} })
		},
		[]preflight.Check{{
			Name: "bridge", Result: preflight.Fail, Sentence: "bridge vmbr0 on pve1 is not VLAN-aware and has no port, so it cannot carry VLAN 20",
			Remedy: "as root on pve1: set bridge-vlan-aware yes for vmbr0 in /etc/network/interfaces, then ifreload -a",
		}},
	},
	{
		"bridge with a small MTU", func(s *preflight.Snapshot) {
			change(s, "pve2", func(h *preflight.Host) {
				h.Bridges.Value = []pve.Bridge{{Name: "vmbr0", Type: "bridge", VLANAware: true, Ports: "eno1", MTU: "1400"}}
			})
		},
		[]preflight.Check{{
			Name: "bridge", Result: preflight.Fail, Sentence: "bridge vmbr0 on pve2 has an MTU of 1400, the inventory asks for 1500",
			Remedy: "set mtu to 1400, or raise it on the bridge and its ports",
		}},
	},
	{
		"clones that a run before has begun", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 101, Node: "pve1", Type: "qemu", Status: "stopped", Lock: "clone"}, nil)
			add(s, pve.Guest{VMID: 9001, Name: "VM 9001", Node: "pve2", Type: "qemu", Status: "stopped", Lock: "create"}, nil)
		},
		[]preflight.Check{
			{
				Name: "vmid", Result: preflight.Warn, Sentence: "VM 101 on pve1 is being made; it is taken for cp1, which a run before may have begun",
				Remedy: "if no run of this stack was cut off, see its task in Proxmox VE, and choose another VMID",
			},
			{
				Name: "template", Result: preflight.Warn, Sentence: "VM 9001 on pve2 is being made; it is taken for the template, which a run before may have begun",
				Remedy: "if no run of this stack was cut off, see its task in Proxmox VE, and choose another VMID",
			},
		},
	},
	{
		"the rest of a clone that was cut off, unlocked", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 101, Name: "VM 101", Node: "pve1", Type: "qemu", Status: "stopped"}, pve.GuestConfig{"description": "qmclone temporary file\n", "digest": "d1"})
		},
		[]preflight.Check{{
			Name: "vmid", Result: preflight.Warn, Sentence: "VM 101 on pve1 is being made; it is taken for cp1, which a run before may have begun",
			Remedy: "if no run of this stack was cut off, see its task in Proxmox VE, and choose another VMID",
		}},
	},
	{
		"VMID taken by a machine without a name", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 101, Name: "VM 101", Node: "pve1", Type: "qemu", Status: "stopped"}, pve.GuestConfig{"memory": "512", "digest": "d1"})
		},
		[]preflight.Check{{Name: "vmid", Result: preflight.Fail, Sentence: "VMID 101 of cp1 is taken by VM 101 (VM 101 on pve1)", Remedy: "give cp1 another vmid in nodes.yaml"}},
	},
	{
		"node renamed by hand", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 101, Name: "mine", Node: "pve1", Type: "qemu", Status: "running"}, pve.GuestConfig{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20"})
		},
		[]preflight.Check{{
			Name: "vmid", Result: preflight.Warn, Sentence: "VM 101 on pve1 was renamed to mine by hand: it has the MAC address of cp1, and a run names it so again",
			Remedy: "nothing, or rename it back yourself",
		}},
	},
	{
		"a node under another name", func(s *preflight.Snapshot) {
			s.FormerNames = map[string]string{"w1": "home-old"}
			for i := range s.Guests.Value {
				if s.Guests.Value[i].Name == "w1" {
					s.Guests.Value[i].Name = "old"
				}
			}
		},
		[]preflight.Check{},
	},
	{
		"VMID taken (F20)", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 101, Name: "dns", Node: "pve2", Type: "lxc", Status: "running"}, nil)
		},
		[]preflight.Check{{Name: "vmid", Result: preflight.Fail, Sentence: "VMID 101 of cp1 is taken by container 101 (dns on pve2)", Remedy: "give cp1 another vmid in nodes.yaml"}},
	},
	{
		"node moved by hand (F23)", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 101, Name: "cp1", Node: "pve2", Type: "qemu", Status: "running"}, nil)
		},
		[]preflight.Check{{Name: "vmid", Result: preflight.Warn, Sentence: "VM 101 (cp1) stands on pve2, not on pve1: a run would move it", Remedy: "set host: pve2 for it in nodes.yaml and run up, or leave it to the run"}},
	},
	{
		"node that its ISO keeps where it is (F23)", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 101, Name: "cp1", Node: "pve2", Type: "qemu", Status: "running"}, pve.GuestConfig{
				"ide0": "local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso,media=cdrom", "ide2": "tank:vm-101-cloudinit,media=cdrom",
			})
		},
		[]preflight.Check{{
			Name: "vmid", Result: preflight.Fail,
			Sentence: "VM 101 (cp1) stands on pve2, not on pve1, and cannot be moved: the ISO in its drive is on storage local, which is not shared",
			Remedy:   "set host: pve2 for it in nodes.yaml, or take the ISO out of its drive, as root on pve2: `qm set 101 --ide0 none,media=cdrom`",
		}},
	},
	{
		"node that its GPU keeps where it is (F23)", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 102, Name: "w1", Node: "pve1", Type: "qemu", Status: "running"}, pve.GuestConfig{"hostpci0": "mapping=rtx3090,pcie=1"})
		},
		[]preflight.Check{{
			Name: "vmid", Result: preflight.Fail,
			Sentence: "VM 102 (w1) stands on pve1, not on pve2, and cannot be moved: it has a device of its host (hostpci0)",
			Remedy:   "set host: pve1 for it in nodes.yaml, or take it out, run up, and put it in again",
		}},
	},
	{
		"address taken", func(s *preflight.Snapshot) {
			add(s, nas("running"), pve.GuestConfig{"ipconfig0": "ip=192.168.20.10/24,gw=192.168.20.1"})
		},
		[]preflight.Check{{Name: "address", Result: preflight.Fail, Sentence: "192.168.20.10 of kubernetes.endpoint.vip is the address of VM 205 (nas on pve1) too", Remedy: "choose another address in the inventory, or for the other one"}},
	},
	{
		"address of a container that is off", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 300, Name: "dns", Node: "pve2", Type: "lxc", Status: "stopped"}, pve.GuestConfig{"net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:FF:00:01,ip=192.168.20.21/24"})
		},
		[]preflight.Check{{Name: "address", Result: preflight.Warn, Sentence: "192.168.20.21 of w1 is the address of container 300 (dns on pve2) too, which is off", Remedy: "choose another address in the inventory, or for the other one"}},
	},
	{
		"a node that changes its VMID", func(s *preflight.Snapshot) { addFormer(s, "running", false); s.Knows[400] = true },
		preflight.Report{},
	},
	{
		"a GPU worker that changes its VMID", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 400, Name: "gpu1", Node: "pve1", Type: "qemu", Status: "running"}, pve.GuestConfig{"hostpci0": "0000:01:00.0,pcie=1"})
			s.Knows[400] = true
		},
		preflight.Report{},
	},
	{
		"a node that changes its VMID, and runs unknown to the state", func(s *preflight.Snapshot) { addFormer(s, "running", true) },
		[]preflight.Check{{
			Name: "address", Result: preflight.Fail, Sentence: "w1 has another vmid than VM 400 (w1 on pve2), which is its machine, runs, and is not in the state",
			Remedy: "set vmid: 400 for w1 in nodes.yaml, then up takes it over",
		}},
	},
	{
		"a node that changes its VMID, and is off and unknown to the state", func(s *preflight.Snapshot) { addFormer(s, "stopped", true) },
		[]preflight.Check{{
			Name: "address", Result: preflight.Warn, Sentence: "w1 has another vmid than VM 400 (w1 on pve2), which is its machine and is not in the state",
			Remedy: "set vmid: 400 for w1 in nodes.yaml, then up takes it over, or delete it",
		}},
	},
	{
		"a machine of others with the name of a node", func(s *preflight.Snapshot) { addFormer(s, "running", false) },
		[]preflight.Check{
			{Name: "address", Result: preflight.Fail, Sentence: "192.168.20.21 of w1 is the address of VM 400 (w1 on pve2) too, which the state does not know, and whose description does not say that this stack has made it", Remedy: "put the state that knows it back with `em-infra state restore`; or choose another address in the inventory, or for the other one"},
		},
	},
	{
		"MAC taken", func(s *preflight.Snapshot) {
			add(s, nas("running"), pve.GuestConfig{"net1": "e1000=bc:24:11:00:00:03,bridge=vmbr0"})
		},
		[]preflight.Check{{Name: "mac", Result: preflight.Fail, Sentence: "MAC BC:24:11:00:00:03 of gpu1 is that of VM 205 (nas on pve1) too", Remedy: "set another mac in nodes.yaml, or remove it to have one derived"}},
	},
	{
		"unreadable guest", func(s *preflight.Snapshot) {
			add(s, nas("running"), nil)
			s.Configs[205] = preflight.Reading[pve.GuestConfig]{Err: pve.ErrForbidden}
		},
		[]preflight.Check{{Name: "address", Result: preflight.Warn, Sentence: "the addresses of VM 205 are not known: their configurations cannot be read", Remedy: "give the token VM.Audit on /vms; `em-infra role` prints how"}},
	},
	{
		"unreadable list of guests", func(s *preflight.Snapshot) { s.Guests.Err = errDown },
		[]preflight.Check{{Name: "vmid", Result: preflight.Fail, Sentence: "the list of VMs cannot be read (596 Connection timed out)", Remedy: "see that the host answers and that the token has the role that `em-infra role` prints"}},
	},
	{
		"template's VMID taken", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 9001, Name: "win", Node: "pve2", Type: "qemu"}, nil)
		},
		[]preflight.Check{{Name: "template", Result: preflight.Fail, Sentence: "VMID 9001 of the template on pve2 is taken by VM 9001 (win on pve2)", Remedy: "set another proxmox.template.vmid, or perHost for a further host"}},
	},
	{
		"another's template", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 9000, Name: "debian", Node: "pve1", Type: "qemu", Template: true}, pve.GuestConfig{"ide2": "local:iso/debian-13.iso,media=cdrom"})
		},
		[]preflight.Check{{Name: "template", Result: preflight.Fail, Sentence: "template 9000 (debian on pve1) is not one of ours: no Talos ISO is in its drive", Remedy: "set another proxmox.template.vmid, or delete that template"}},
	},
	{
		"memory nearly full", func(s *preflight.Snapshot) {
			add(s, pve.Guest{VMID: 205, Name: "nas", Node: "pve1", Type: "qemu", Status: "running", MemoryBytes: 20 * gib}, nil)
		},
		[]preflight.Check{{Name: "memory", Result: preflight.Warn, Sentence: "memory of pve1 would be 94 % committed (60.0 of 64.0 GiB)", Remedy: "set memoryMiB lower, put nodes on another host, or stop other VMs"}},
	},
	{
		"too little memory", func(s *preflight.Snapshot) {
			change(s, "pve1", func(h *preflight.Host) { h.Capacity.Value.MemoryBytes = 32 * gib })
		},
		[]preflight.Check{{Name: "memory", Result: preflight.Fail, Sentence: "memory of pve1 would be 125 % committed (40.0 of 32.0 GiB)", Remedy: "set memoryMiB lower, put nodes on another host, or stop other VMs"}},
	},
	{
		"too few threads", func(s *preflight.Snapshot) {
			change(s, "pve1", func(h *preflight.Host) { h.Capacity.Value.Threads = 6 })
		},
		[]preflight.Check{{Name: "cores", Result: preflight.Fail, Sentence: "gpu1 has 8 cores, and pve1 only 6 threads: it would not start", Remedy: "set cores to 6 or less"}},
	},
	{
		"factory away", func(s *preflight.Snapshot) { s.Factory.Versions.Err = errDown },
		[]preflight.Check{{Name: "factory", Result: preflight.Fail, Sentence: "the Image Factory at https://factory.talos.dev does not answer (596 Connection timed out)", Remedy: "see that this machine reaches it, or set em-infra:imageFactoryUrl"}},
	},
	{
		"factory that is being mended", func(s *preflight.Snapshot) {
			s.Factory.Versions.Err = errors.New("HTTP 503: Service Unavailable\n")
		},
		[]preflight.Check{{Name: "factory", Result: preflight.Fail, Sentence: "the Image Factory at https://factory.talos.dev does not answer (HTTP 503: Service Unavailable)", Remedy: "see that this machine reaches it, or set em-infra:imageFactoryUrl"}},
	},
	{
		"version that the factory has not", func(s *preflight.Snapshot) { s.Factory.Versions.Value = []string{"v1.12.3"} },
		[]preflight.Check{{Name: "factory", Result: preflight.Fail, Sentence: "the Image Factory at https://factory.talos.dev has no Talos v1.12.4", Remedy: "choose a version that https://factory.talos.dev/versions lists"}},
	},
	{
		"extension that the factory has not", func(s *preflight.Snapshot) { s.Factory.Extensions.Value = nil },
		[]preflight.Check{{Name: "factory", Result: preflight.Fail, Sentence: "the Image Factory at https://factory.talos.dev has no extension siderolabs/qemu-guest-agent for Talos v1.12.4", Remedy: "correct talos.schematic.extensions or talos.version"}},
	},
	{
		"factory away from the host", func(s *preflight.Snapshot) {
			change(s, "pve2", func(h *preflight.Host) { h.FactoryErr = errors.New("Temporary failure in name resolution") })
		},
		[]preflight.Check{{Name: "factory", Result: preflight.Fail, Sentence: "pve2 does not reach the Image Factory at https://factory.talos.dev (Temporary failure in name resolution)", Remedy: "see the host's DNS and gateway in its network settings"}},
	},
}

func storage(s *preflight.Snapshot, alter func(*pve.Storage), at int) {
	change(s, "pve1", func(h *preflight.Host) {
		h.Storages.Value = append([]pve.Storage(nil), h.Storages.Value...)
		alter(&h.Storages.Value[at])
	})
}
