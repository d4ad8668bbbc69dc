package operator_test

import (
	"bytes"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/terminal/ptytest"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/cause"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// Long values, except names with 63 characters.
const (
	longName      = "k3s-production-control-plane-12"
	longHost      = "proxmox-rack-2"
	longSchematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
	lockError     = "can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout"
	longError     = `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 192.168.120.121:50000: connect: connection refused"`
)

func longReport() status.Report {
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	image := status.Image{Schematic: longSchematic, Installer: "registry.example.org:5000/nocloud-installer:v1.12.5"}
	return status.Report{
		Time: now, Networked: true,
		Machines: []status.Machine{
			{Name: longName, Role: inventory.RoleControlPlane, Host: longHost, VMID: 999999999, Address: netip.MustParseAddr("192.168.120.121"), VM: "running", Image: image,
				Node:       &nodeops.Observation{Talos: "v1.12.4", Stage: "maintenance", Unmet: []string{"services: kubelet, etcd, apid not healthy", "nodeReady: node is not ready"}},
				Kubernetes: &status.KubernetesNode{Kubelet: "v1.35.4", Cordoned: true, GPUs: 8}},
			{Name: "k3s-production-gpu-worker-3", Role: inventory.RoleGPUWorker, Host: longHost, VMID: 103, Address: netip.MustParseAddr("192.168.120.122"), VM: "running",
				Node: &nodeops.Observation{Unmet: []string{nodeops.ErrForeign.Error()}}},
			{Name: "k3s-production-worker-4", Role: inventory.RoleWorker, Host: longHost, VMID: 104, VM: "stopped", Node: &nodeops.Observation{Unmet: []string{longError}}},
		},
		Members:      []nodeops.EtcdMember{{Name: longName, Problem: "its etcd member knows no leader"}, {Name: "k3s-production-control-plane-2", Learner: true}},
		Certificates: []status.Certificate{{Name: "talosconfig", Ends: now.AddDate(0, 0, 3)}, {Name: "kubeconfig", Ends: now.AddDate(0, 0, 364)}},
		Credentials: []status.Credential{
			{Kind: status.KindProxmoxToken, Name: "operator-of-the-cluster@authentik!em-infra-2026", Ends: &now, Rotation: "rotate proxmox-token", Due: true},
			{Kind: status.KindAgeRecipient, Name: "age1mlctyyjug8tcnuefthugadpauuc3yv6j0udwhprcd5va02vu6amqp43328"},
			{Kind: status.KindRecoveryKit, Name: "2026-11-20T22-15-00-kit.tar.age", Made: &now, Rotation: "kit create"},
		},
		State: status.State{
			Resources: 1234, LastUpdate: &status.Update{Kind: "update", Result: "in-progress", Ended: now},
			Pending: []string{"creating " + longName + "-configuration"},
			Locks:   []recovery.Lock{{PID: 4711719, Hostname: "workstation.example.org", Stale: true}, {PID: 4711720, Hostname: "workstation.example.org"}},
		},
		LostISOs: []pve.ISO{{Host: longHost, Volume: "local:iso/talos-v1.12.4-nocloud-376567988ad37013-amd64.iso"}},
		Orphans:  []status.Orphan{{What: "disk tank:vm-120-disk-0 (1.5 GiB): there is no VM 120", Host: longHost, Remove: "pvesm free tank:vm-120-disk-0"}},
		Unread:   []string{"Kubernetes API at https://192.168.120.110:6443: " + longError},
	}
}

func longDrift() drift.Report {
	return drift.Report{
		Host: []drift.Difference{
			{Subject: longName + "-vm", Property: "initialization.ipConfigs[0].ipv4.address", Want: "192.168.120.121/24", Have: "192.168.120.221/24"},
			{Subject: "k3s-production-worker-4-vm", Property: "existence", Want: "there", Have: "absent"},
		},
		Nodes: []drift.Difference{{
			Subject: longName, Property: "configuration machine.kubelet.nodeIP.validSubnets", Want: "192.168.120.0/24 and fd00:120::/64", Have: "10.0.0.0/8",
		}},
		Unread: []string{longName + ": " + longError},
	}
}

// results returns everything that is written as text for users, with long values.
func results() map[string]func(out io.Writer) error {
	assessment := risk.Assessment{
		Findings: []risk.Finding{
			{Kind: risk.Replace, Subject: longName, What: []string{"disk 64 → 32 GiB cannot shrink: the VM and its etcd data would be deleted", "memory 8192 → 16384 MiB"},
				Means: []string{"this is the only control plane: the cluster is lost; an empty one is created with the same keys, and the addons are installed again"}},
			{Kind: risk.Create, Subject: "k3s-production-worker-4", What: []string{"VM 104 on " + longHost + ", 192.168.120.124"}},
		},
		Notes: []string{"VM 999999999 (" + longName + ") never ran: it is deleted and made anew, with everything that a failed clone has left of its disks"},
	}
	checks := operator.Checks{
		{Result: operator.CheckFailure, Sentence: "storage tank has 41 GiB free on " + longHost + ", and the inventory asks for 448 GiB of it", Remedy: "free space, or set diskStorage or diskGiB of nodes to what there is room for"},
		{Result: operator.CheckWarning, Sentence: "PCI 0000:01:00.0 has no node", Remedy: "gpus: [{bdf: 0000:01:00.0, deviceId: 10de:2684, subsystemId: 1043:889a, iommuGroup: 14}]"},
	}
	failures := []operator.Failure{
		{Phase: phase.Bootstrap, Name: longName + "-configuration", Text: longError},
		{Phase: phase.Bootstrap, Name: "k3s-production-gpu-worker-3-configuration", Text: longError},
		{Phase: phase.Bootstrap, Name: "k3s-production-worker-4-configuration", Text: longError},
		{Phase: phase.Provision, Name: longName + "-vm", Text: "something that nobody has seen until this very day, and that is told as it was said, in a sentence of its own"},
	}
	images := operator.OtherImages{Other: []status.OtherImage{{Node: longName, Address: netip.MustParseAddr("192.168.120.121"), Talos: "v1.12.4", Wanted: longReport().Machines[0].Image}}, Unread: []string{longName + ": " + longError}}
	step := operator.RehearsedStep{Name: "scale down", Note: "1234 created, 12 updated, 12 replaced, 123 deleted; 123/123 nodes Ready", Differences: []string{longName + " is new in the inventory, and nothing was created for it"}, Error: longError}
	return map[string]func(out io.Writer) error{
		"status":                   longReport().WriteText,
		"drift":                    longDrift().WriteText,
		"nothing to tell of drift": drift.Report{}.WriteText,
		"preview":                  assessment.WriteText,
		"images":                   func(out io.Writer) error { images.WriteText(out); return nil },
		"preflight":                func(out io.Writer) error { checks.WriteText(out); return nil },
		"rehearsal":                func(out io.Writer) error { step.WriteText(out); return nil },
		"causes": func(out io.Writer) error {
			for _, one := range cause.Of(failures, nil) {
				one.WriteText(out)
			}
			return nil
		},
		"explanations": func(out io.Writer) error {
			for _, explanation := range operator.Explain(longError + "\n" + lockError) {
				explanation.WriteText(out)
			}
			operator.GuessAt("the disk of the machine is locked by a backup that never ends").WriteText(out)
			return nil
		},
	}
}

// TestNoLineWraps writes every result to a terminal of 80 columns. Only a single word may be longer.
func TestNoLineWraps(t *testing.T) {
	t.Parallel()
	for name, render := range results() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, colored := range []bool{false, true} {
				var screen bytes.Buffer
				require.NoError(t, render(terminal.NewFolded(&screen, terminal.Columns, colored)))
				require.NotEmpty(t, screen.String())
				ptytest.RequireFits(t, screen.String(), terminal.Columns)
				if !colored {
					require.NotContains(t, screen.String(), "\x1b")
				}
			}
		})
	}
}

// TestTablesFitAPipe: tables in `less` or in a CI log have 80 columns, too.
func TestTablesFitAPipe(t *testing.T) {
	t.Parallel()
	for name, print := range map[string]func(io.Writer) error{"status": longReport().WriteText, "drift": longDrift().WriteText} {
		var pipe bytes.Buffer
		require.NoError(t, print(&pipe))
		table, _, _ := strings.Cut(pipe.String(), "\n\n")
		table, _, _ = strings.Cut(table, "\nnot read")
		ptytest.RequireFits(t, table, terminal.Columns)
		require.Contains(t, pipe.String(), longError, "a sentence is not folded there: "+name)
		require.NotContains(t, pipe.String(), "\x1b")
	}
}
