package lives_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/luthermonson/go-proxmox"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// byHand does a manual change. A change that is impossible now is skipped.
func (f *life) byHand(m history.Move) {
	f.t.Helper()
	node, found := f.site.Find(m.Node)
	if !found || f.gone {
		f.say("  means nothing here")
		return
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	if err := f.hand(ctx, m, node); err != nil {
		f.say("  cannot be done: %v", err)
		return
	}
	tallied.count("hands that did something")
	f.pending++
}

func (f *life) hand(ctx context.Context, m history.Move, node site.Node) error {
	f.t.Helper()
	switch m.What {
	case "delete-node":
		api, err := f.kubernetes()
		if err != nil {
			return err
		}
		err = api.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})
		if err == nil {
			delete(f.cordons, node.Name)
		}
		return err
	case "cordon":
		return f.cordon(ctx, node.Name)
	case "patch":
		return f.patch(ctx, node, m.Number)
	}
	machine, err := f.machine(ctx, node.VMID)
	if err != nil {
		return err
	}
	switch m.What {
	case "start":
		return ended(ctx)(machine.Start(ctx))
	case "stop":
		if node.Role == site.ControlPlane && f.deleted {
			return fmt.Errorf("etcd would lose its quorum")
		}
		return ended(ctx)(machine.Stop(ctx))
	case "delete":
		return f.deleteMachine(ctx, machine, node)
	case "rename":
		return set(ctx, machine, "name", "by-hand")
	case "memory":
		return set(ctx, machine, "memory", m.Number)
	case "tags":
		return set(ctx, machine, "tags", "by-hand")
	case "onboot":
		return set(ctx, machine, "onboot", 0)
	case "unplug":
		f.disturbed = true // only a person can put that right
		return set(ctx, machine, "delete", "scsi1")
	case "migrate":
		return ended(ctx)(machine.Migrate(ctx, &proxmox.VirtualMachineMigrateOptions{Target: site.Host(m.Number), Online: true}))
	}
	return fmt.Errorf("there is no move %s", m.What)
}

// deleteMachine deletes a machine, unless etcd would lose its quorum for good.
func (f *life) deleteMachine(ctx context.Context, machine *proxmox.VirtualMachine, node site.Node) error {
	f.t.Helper()
	if node.Role == site.ControlPlane {
		if f.deleted || !f.othersVote(node) {
			return fmt.Errorf("etcd would lose its quorum")
		}
		f.deleted = true
	}
	if machine.Status == "running" {
		if err := ended(ctx)(machine.Stop(ctx)); err != nil {
			return err
		}
	}
	if err := ended(ctx)(machine.Delete(ctx)); err != nil {
		return err
	}
	f.keeper.GiveUp(node.VMID)
	f.keeper.GiveUpMember(node.Name)
	f.cordons.MachineDeleted(node.Name)
	return nil
}

// othersVote reports whether all other control planes of three run.
func (f *life) othersVote(node site.Node) bool {
	running := map[int]bool{}
	for _, m := range f.see().Machines {
		running[m.VMID] = m.Running
	}
	votes := 0
	for _, name := range f.site.Names(site.ControlPlane) {
		other, _ := f.site.Find(name)
		if other.VMID != node.VMID && running[other.VMID] {
			votes++
		}
	}
	return votes >= 2 && len(f.see().Members) == 3
}

func (f *life) cordon(ctx context.Context, name string) error {
	api, err := f.kubernetes()
	if err != nil {
		return err
	}
	_, err = api.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	if err == nil {
		f.cordons.Add(name, f.see())
	}
	return err
}

// patch sets a sysctl in the machine configuration of a node, as talosctl does.
func (f *life) patch(ctx context.Context, node site.Node, number int) error {
	f.t.Helper()
	address := f.addressOf(node)
	api, err := client.New(ctx, client.WithConfigFromFile(filepath.Join(f.stack.Dir(), "talosconfig")), client.WithEndpoints(address))
	if err != nil {
		return err
	}
	defer api.Close()
	ctx = client.WithNode(ctx, address)
	active, err := safe.StateGetByID[*config.MachineConfig](ctx, api.COSI, config.ActiveID)
	if err != nil {
		return err
	}
	patches, err := configpatcher.LoadPatches([]string{fmt.Sprintf(`machine: {sysctls: {%s: "%d"}}`, site.Sysctls[1], number)})
	require.NoError(f.t, err)
	patched, err := configpatcher.Apply(configpatcher.WithConfig(active.Provider()), patches)
	require.NoError(f.t, err)
	text, err := patched.Bytes()
	require.NoError(f.t, err)
	_, err = api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{Data: text, Mode: machineapi.ApplyConfigurationRequest_AUTO})
	return err
}

// addressOf returns a node's address in the lab, which moves the network to loopback.
func (f *life) addressOf(node site.Node) string {
	f.t.Helper()
	moved, err := f.description().NetworkOf(netip.MustParsePrefix("192.168.20.0/24"))
	require.NoError(f.t, err)
	network := moved.Addr().As4()
	return fmt.Sprintf("%d.%d.%d.%s", network[0], network[1], network[2], node.Address[strings.LastIndexByte(node.Address, '.')+1:])
}

func (f *life) description() lab.Description {
	f.t.Helper()
	description, err := lab.ReadDescription(f.lane.labDir())
	require.NoError(f.t, err)
	return description
}

// api returns a client of the lab's Proxmox VE.
func (f *life) api() *proxmox.Client {
	f.t.Helper()
	description := f.description()
	id, secret, _ := strings.Cut(description.Token, "=")
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a lab on loopback
	return proxmox.NewClient(description.ProxmoxEndpoint()+"/api2/json", proxmox.WithHTTPClient(insecure), proxmox.WithAPIToken(id, secret))
}

func (f *life) hostAnswers() bool {
	ctx, cancel := context.WithTimeout(f.t.Context(), 5*time.Second)
	defer cancel()
	_, err := f.api().Version(ctx)
	return err == nil
}

// machine returns a VM, wherever it stands.
func (f *life) machine(ctx context.Context, vmid int) (*proxmox.VirtualMachine, error) {
	f.t.Helper()
	for _, m := range f.see().Machines {
		if m.VMID == vmid {
			node, err := f.api().Node(ctx, m.Host)
			if err != nil {
				return nil, err
			}
			return node.VirtualMachine(ctx, vmid)
		}
	}
	return nil, fmt.Errorf("there is no VM %d", vmid)
}

// plugIn has a machine use again what it keeps as an unused disk.
func (f *life) plugIn(ctx context.Context, slot string, vmid int) error {
	f.t.Helper()
	machine, err := f.machine(ctx, vmid)
	if err != nil {
		return err
	}
	var config map[string]any
	if err := f.api().Get(ctx, fmt.Sprintf("/nodes/%s/qemu/%d/config", machine.Node, vmid), &config); err != nil {
		return err
	}
	return set(ctx, machine, slot, config["unused0"])
}

// ended waits for a task.
func ended(ctx context.Context) func(*proxmox.Task, error) error {
	return func(task *proxmox.Task, err error) error {
		if err != nil {
			return err
		}
		return task.Wait(ctx, 50*time.Millisecond, time.Minute)
	}
}

func set(ctx context.Context, machine *proxmox.VirtualMachine, name string, value any) error {
	return ended(ctx)(machine.Config(ctx, proxmox.VirtualMachineOption{Name: name, Value: value}))
}
