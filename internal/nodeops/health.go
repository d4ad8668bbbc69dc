package nodeops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Health looks at the nodes of one cluster through their own Talos APIs, and at their Kubernetes Nodes.
type Health struct {
	// Talosconfig of the cluster's administrator, secret.
	Talosconfig []byte
	// Nodes of the cluster, among them some that may not exist yet.
	Nodes []rolling.Node
	// Runs reports whether a node's machine is switched on, by who knows better than the node's silence: its host. Default: nil,
	// nobody knows, and a node that is silent counts as one that runs.
	Runs func(context.Context, rolling.Node) (bool, error)
	// DrainTimeout is how long PodDisruptionBudgets may hold pods back from a node that is to reboot. Default: 0, one try.
	DrainTimeout time.Duration
	// DeleteHeldBack deletes the pods that are still held back then; without it the node is not touched.
	DeleteHeldBack bool
	// Say is told what is done to pods. Default: nil, nobody.
	Say func(format string, args ...any)
	// Patience is how long the others may take to say who the members of etcd are, when a machine comes back. Default: 3
	// minutes.
	Patience time.Duration
}

var _ rolling.Cluster = Health{}

// Spare implements [rolling.Cluster]. The cluster can do without a node when the other members of its etcd are there, vote
// and know a leader, when the static pods of the other control planes run, and when no other Node is not Ready. A cluster
// whose etcd nowhere runs has nothing to lose: it was not bootstrapped yet, or all of it is off. A node that is off is down
// already, so changing it takes nothing away, and a machine that has not become a node yet is not waited for.
func (h Health) Spare(ctx context.Context, change rolling.Change, busy []rolling.Node) (rolling.Terms, error) {
	off, err := h.isOff(ctx, change.Node)
	if err != nil {
		return rolling.Terms{}, fmt.Errorf("%s: %w", change.Node.Name, err)
	}
	members, err := h.etcdMembers(ctx, change.Node)
	switch {
	case off && err != nil, err == nil && len(members) == 0:
		return rolling.Terms{}, nil
	case err != nil:
		return rolling.Terms{}, err
	case len(change.Configuration) == 0 && h.isOutsider(ctx, members, change.Node, off):
		return rolling.Terms{}, nil
	}
	if err := h.quorumWithout(ctx, members, change.Node); err != nil && !off {
		return rolling.Terms{}, err
	}
	if err := h.othersServe(ctx, members, change.Node); err != nil && !off {
		return rolling.Terms{}, err
	}
	networked, err := h.othersReady(ctx, change.Node, busy)
	if err != nil && !off {
		return rolling.Terms{}, err
	}
	former := h.bootThatEnds(ctx, change)
	return rolling.Terms{
		Drain: (change.Reboots || former != "") && networked && !off && IsAlive(ctx, h.Talosconfig, change.Node.Address.String()),
		Back:  func(ctx context.Context) error { return h.works(ctx, change.Node, former, networked) },
	}, nil
}

// IsOff implements [rolling.Cluster].
func (h Health) IsOff(ctx context.Context, node rolling.Node) bool {
	off, err := h.isOff(ctx, node)
	return err == nil && off
}

// Drain implements [rolling.Cluster].
func (h Health) Drain(ctx context.Context, node rolling.Node) error {
	api, err := h.kubernetes(ctx, node)
	if err != nil {
		return fmt.Errorf("%s cannot be drained, because no control plane answers (%w): run up again when one does", node.Name, err)
	}
	defer api.Close()
	return api.Drain(ctx, Drain{Node: node.Name, Timeout: h.DrainTimeout, DeleteHeldBack: h.DeleteHeldBack, Returns: true, Say: h.say})
}

// Uncordon implements [rolling.Cluster].
func (h Health) Uncordon(ctx context.Context, busy []rolling.Node) error {
	api, err := h.kubernetes(ctx, rolling.Node{})
	if err != nil {
		return err
	}
	defer api.Close()
	var except []string
	for _, node := range busy {
		except = append(except, node.Name)
	}
	uncordoned, err := api.Uncordon(ctx, except...)
	for _, name := range uncordoned {
		h.say("%s takes pods again", name)
	}
	return err
}

func (h Health) say(format string, args ...any) {
	if h.Say != nil {
		h.Say(format, args...)
	}
}

// bootThatEnds is the node's boot if the configuration that is about to be applied makes it reboot; empty otherwise. Talos
// answers before it reboots, so a node that looks well afterwards may not have begun yet. The reboot of a machine by
// Proxmox VE has ended the boot when the update returns.
func (h Health) bootThatEnds(ctx context.Context, change rolling.Change) string {
	if len(change.Configuration) == 0 {
		return ""
	}
	var boot string
	err := h.ask(ctx, change.Node.Address.String(), func(ctx context.Context, api *client.Client) error {
		reboots, err := rebootsFor(ctx, api, change.Configuration)
		if err != nil || !reboots {
			return err
		}
		boot, err = bootID(ctx, api)
		return err
	})
	if err != nil {
		return "" // what it does not say here it says when it is changed
	}
	return boot
}

// works says what a changed node lacks of a working member: a boot after the former one, Talos' own readiness, a voting
// etcd member, static pods that run by the present configuration, and a Node that is Ready in this boot, where the cluster
// has a network that lets Nodes become so.
func (h Health) works(ctx context.Context, node rolling.Node, former string, networked bool) error {
	var (
		boot string
		pods staticPodVersions
	)
	err := h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) (err error) {
		if boot, err = bootID(ctx, api); err != nil {
			return err
		}
		if boot == former {
			return errors.New("it has not rebooted yet")
		}
		if err := machineReady(ctx, api); err != nil || !node.ControlPlane {
			return err
		}
		if err := votes(ctx, api); err != nil {
			return err
		}
		pods, err = readStaticPodVersions(ctx, api.COSI)
		return err
	})
	if err == nil && node.ControlPlane {
		err = h.staticPodsRun(ctx, node, pods)
	}
	if err != nil || !networked {
		return err
	}
	return h.nodeReady(ctx, node, boot)
}

// nodeReady says what keeps a node from being a Ready Node in this boot.
func (h Health) nodeReady(ctx context.Context, node rolling.Node, boot string) error {
	nodes, err := h.kubernetesNodes(ctx, node)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(nodes, func(n kubernetesNode) bool { return n.name == node.Name })
	switch {
	case i < 0:
		return errors.New("no Node has its name")
	case !nodes[i].ready:
		return errors.New("its Node is not Ready")
	case nodes[i].bootID != boot:
		return errors.New("its kubelet has not reported since the reboot")
	default:
		return nil
	}
}

// machineReady is Talos' own judgement, but for that of Kubernetes: a Node is never Ready where no network was installed.
func machineReady(ctx context.Context, api *client.Client) error {
	status, err := safe.StateGetByID[*runtime.MachineStatus](ctx, api.COSI, runtime.MachineStatusID)
	if err != nil {
		return err
	}
	spec := status.TypedSpec()
	if spec.Stage != runtime.MachineStageRunning {
		return fmt.Errorf("it is in stage %s", spec.Stage)
	}
	var unmet []string
	for _, condition := range spec.Status.UnmetConditions {
		if condition.Name != "nodeReady" { // talos v1.12.0, controllers/runtime/machine_status.go
			unmet = append(unmet, condition.Name+": "+condition.Reason)
		}
	}
	if len(unmet) > 0 {
		return errors.New(strings.Join(unmet, ", "))
	}
	return nil
}

// bootID tells one boot of a node from the next.
func bootID(ctx context.Context, api *client.Client) (string, error) {
	reader, err := api.Read(ctx, "/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	defer reader.Close()
	text, err := io.ReadAll(reader)
	return strings.TrimSpace(string(text)), err
}

// ask makes calls to one node's own API. The error is one clause about that node, without its name.
func (h Health) ask(ctx context.Context, address string, calls func(context.Context, *client.Client) error) error {
	return ask(ctx, h.Talosconfig, address, calls)
}
