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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Health checks the nodes of one cluster through their own Talos APIs, and their Kubernetes Nodes.
type Health struct {
	// Talosconfig of the cluster's administrator, secret.
	Talosconfig []byte
	// Nodes of the cluster. Some may not exist yet.
	Nodes []rolling.Node
	// Runs reports whether a node's machine is switched on, according to its host. Default: nil; a silent node then counts as
	// running.
	Runs func(context.Context, rolling.Node) (bool, error)
	// DrainTimeout is the longest time to wait for PodDisruptionBudgets before a reboot. Default: 0, one try.
	DrainTimeout time.Duration
	// DeleteHeldBack deletes the pods that remain after DrainTimeout. Without it the node is not touched.
	DeleteHeldBack bool
	// Say receives a message for each change to pods. Default: nil, no messages.
	Say func(format string, args ...any)
	// Patience is the longest time to wait for the list of etcd members when a machine joins again. Default: 3 minutes.
	Patience time.Duration
}

var _ rolling.Cluster = Health{}

// Spare implements [rolling.Cluster]. The cluster can spare a node when all other etcd members are present, vote and have a leader, the static pods
// of the other control planes run, and every other Node is Ready. If etcd runs on no node, and no node that is on has data of etcd, except perhaps
// the changed one, there is nothing to lose: the cluster was not bootstrapped yet, or is off as a whole. A change of a node that is off or that is
// added removes nothing from the cluster. There is no wait for a machine that has not become a node yet.
func (h Health) Spare(ctx context.Context, change rolling.Change, busy []rolling.Node) (rolling.Terms, error) {
	off, err := h.isOff(ctx, change.Node)
	if err != nil {
		return rolling.Terms{}, fmt.Errorf("%s: %w", change.Node.Name, err)
	}
	takesNothing := off || change.Adds // so the problems of others are no reason against it
	members, err := h.etcdMembers(ctx, change.Node)
	switch {
	case takesNothing && err != nil, err == nil && len(members) == 0:
		return rolling.Terms{}, nil
	case err != nil:
		return rolling.Terms{}, err
	case len(change.Configuration) == 0 && h.isOutsider(ctx, members, change.Node, off):
		return rolling.Terms{}, nil
	}
	if err := h.quorumWithout(ctx, members, change.Node); err != nil && !takesNothing {
		return rolling.Terms{}, err
	}
	if err := h.othersServe(ctx, members, change.Node); err != nil && !takesNothing {
		return rolling.Terms{}, err
	}
	networked, err := h.othersReady(ctx, change.Node, busy)
	if err != nil && !takesNothing {
		return rolling.Terms{}, err
	}
	former, err := h.bootThatEnds(ctx, change, off)
	if err != nil {
		return rolling.Terms{}, &rolling.SilentError{Unknown: "whether its configuration reboots it", Err: err}
	}
	if (change.Reboots || former != "") && !takesNothing {
		if err := h.keepsMajority(members, change.Node); err != nil {
			return rolling.Terms{}, err
		}
	}
	return rolling.Terms{
		Drain: (change.Reboots || former != "") && networked && !off && IsAlive(ctx, h.Talosconfig, change.Node.Address.String()),
		Back:  h.back(change.Node, former, networked),
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
func (h Health) Uncordon(ctx context.Context, busy func() []rolling.Node) error {
	api, err := h.kubernetes(ctx, rolling.Node{})
	if err != nil {
		return err
	}
	defer api.Close()
	uncordoned, err := api.Uncordon(ctx, func() []string { return rolling.Names(busy()) })
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

// Running returns the condition that Talos on the node has booted and runs.
func (h Health) Running(node rolling.Node) rolling.Condition {
	return func(ctx context.Context) error {
		seen, err := LookAt(ctx, h.Talosconfig, node.Address.String())
		if err == nil && seen.Stage != runtime.MachineStageRunning {
			err = fmt.Errorf("it is in stage %s", seen.Stage)
		}
		return err
	}
}

// bootThatEnds returns the ID of the node's boot if the configuration to be applied makes it reboot, otherwise "". Talos answers before it reboots,
// so a node that looks healthy afterwards may still have the reboot ahead. A reboot by Proxmox VE has ended the boot when the update returns.
// bootThatEnds returns an error if the node does not say whether it will reboot, because its pods would not be moved. For a node that refuses the
// configuration or our credentials, or waits for its first configuration, it returns "", and the change itself reports what is wrong.
func (h Health) bootThatEnds(ctx context.Context, change rolling.Change, off bool) (boot string, err error) {
	if len(change.Configuration) == 0 || off {
		return "", nil
	}
	err = h.ask(ctx, change.Node.Address.String(), func(ctx context.Context, api *client.Client) error {
		reboots, err := rebootsFor(ctx, api, change.Configuration)
		if status.Code(err) == codes.InvalidArgument {
			return nil
		}
		if err != nil || !reboots {
			return err
		}
		boot, err = BootID(ctx, api)
		return err
	})
	if errors.Is(err, ErrTalosconfig) || errors.Is(err, ErrForeign) || errors.Is(err, ErrUntimely) {
		return "", nil
	}
	return boot, err
}

// works returns what a changed node still lacks: a new boot, Talos' own readiness, a voting etcd member, static pods that run
// the current configuration, and a Node that is Ready in this boot. The Node is checked only if the cluster has a network.
func (h Health) works(ctx context.Context, node rolling.Node, former string, networked bool) error {
	var (
		boot string
		pods staticPodVersions
	)
	err := h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) (err error) {
		if boot, err = BootID(ctx, api); err != nil {
			return err
		}
		if boot == former {
			return errors.New("it has not rebooted yet")
		}
		if err := machineReady(ctx, api); err != nil || !node.ControlPlane {
			return err
		}
		if err := callEtcd(ctx, api, votes); err != nil {
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

// nodeReady returns why a node is not a Ready Node in this boot.
func (h Health) nodeReady(ctx context.Context, node rolling.Node, boot string) error {
	nodes, err := h.kubernetesNodes(ctx, node)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(nodes, func(n kubernetesNode) bool { return n.name == node.Name })
	switch {
	case i < 0:
		return errNoNode
	case !nodes[i].ready:
		return errors.New("its Node is not Ready")
	case nodes[i].bootID != boot:
		return errors.New("its kubelet has not reported since the reboot")
	default:
		return nil
	}
}

// machineReady returns the conditions that Talos itself reports as unmet, except nodeReady: without a network plugin no Node
// is ever Ready.
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

// BootID returns the ID of the node's current boot.
func BootID(ctx context.Context, api *client.Client) (string, error) {
	reader, err := api.Read(ctx, "/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	defer reader.Close()
	text, err := io.ReadAll(reader)
	return strings.TrimSpace(string(text)), err
}

// ask runs calls against one node's own API. The error is one clause about that node, without its name.
func (h Health) ask(ctx context.Context, address string, calls func(context.Context, *client.Client) error) error {
	return Ask(ctx, h.Talosconfig, address, calls)
}
